package web

import "github.com/submitqueue/submitqueue/queue"

// chip is a short state in a colour; the label alone says it too.
type chip struct {
	Tone  string // a class of the style sheet: good, bad, warn, busy, calm
	Label string
}

// chipOf returns the state of a change.
func chipOf(v queue.View) chip {
	switch v.Change.Phase {
	case queue.Analyzing:
		return chip{"busy", "analyzing"}
	case queue.Landing:
		return chip{"good", "landing"}
	case queue.Parked:
		if v.Change.Reason.Code == queue.ReasonRequirements {
			return chip{"calm", "waiting"}
		}
		return chip{"warn", "parked"}
	case queue.Landed:
		return chip{"good", "landed"}
	case queue.Rejected:
		return chip{"bad", "rejected"}
	case queue.Cancelled:
		return chip{"calm", "cancelled"}
	case queue.NothingToLand:
		return chip{"calm", "nothing to land"}
	case queue.Trying:
		return chip{"busy", "trying"}
	case queue.Tried:
		return chip{"calm", "tried"}
	}
	for _, w := range v.Waits {
		if w.Code == queue.ReasonPaused || w.Code == queue.ReasonShut {
			return chip{"warn", "paused"}
		}
	}
	for _, b := range v.Builds {
		if !b.Build.Cancel {
			return chip{"busy", "building"}
		}
	}
	return chip{"calm", "waiting"}
}

// chipsOfMain returns the states of the target branch, the gravest first.
func chipsOfMain(v queue.QueueView) []chip {
	var out []chip
	if v.Main.Paused != nil {
		out = append(out, chip{"warn", "paused"})
	}
	if n := len(v.Red); n > 0 {
		out = append(out, chip{"bad", count(n, "red target", "red targets")})
	}
	switch {
	case v.Main.Tip == "":
		out = append(out, chip{"calm", "not read yet"})
	case v.Main.Surveyed == "":
		out = append(out, chip{"calm", "not surveyed yet"})
	case v.Unproven > 0:
		out = append(out, chip{"warn", count(v.Unproven, "unproven check", "unproven checks")})
	case len(v.Red) == 0:
		out = append(out, chip{"good", "proven"})
	}
	return out
}
