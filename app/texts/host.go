package texts

import (
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// Host says in plain text why a host is benched and when it is probed, in a sentence
// without its full stop; "" for a host that is not benched.
func (w Words) Host(h queue.HostView) string {
	b := h.Bench
	if b == nil {
		return ""
	}
	v := w.plain(queue.Change{})
	text := v.code(h.Name) + " is benched since " + v.clockText(b.Since) + ": other hosts passed what " + ofBuilds(b.Faults, b.Runs) + " failed there"
	if b.Step != "" {
		text += ", the last of them in step " + v.code(b.Step)
	}
	text += "; it gets no builds that another host can run until it passes a probe"
	if b.Probes > 0 {
		text += fmt.Sprintf(", of which it has failed %d", b.Probes)
	}
	switch {
	case b.Probe != nil:
		return text + "; one is under way"
	case h.Slots == 0:
		return text + "; it is away, and is probed when it is back"
	}
	return text + "; the next one is at " + v.clockText(b.Until)
}

func ofBuilds(faults, runs int) string {
	return fmt.Sprintf("%d of its latest %s", faults, counted(runs, "build", "builds"))
}

// OtherTools says in plain text of which step a host gets no builds, in a sentence
// without its full stop.
func (w Words) OtherTools(host string, o queue.OtherTools) string {
	v := w.plain(queue.Change{})
	text := v.code(host) + " gets no builds of step " + v.code(o.Step)
	switch {
	case o.Error != "":
		return text + ": its environment command failed there: " + OneLine(o.Error, 300)
	case o.Fingerprint == "":
		return text + ": it has not said yet what tools it has"
	}
	return text + ": its tools are others (" + v.code(o.Fingerprint) + ") than those that the queue goes by (" + v.code(o.Want) + ")"
}

// hostNote returns the words of a note on a host.
func hostNote(w voice, n queue.Note) (what, more string) {
	names := append(append([]string{}, n.Reason.Names...), "", "", "", "")
	host, step := w.code(names[0]), ""
	if names[1] != "" {
		step = w.code(names[1])
	}
	if n.What == "host-back" {
		more = host + " has passed a probe"
		if step != "" && names[2] != "" {
			more += ": step " + step + ", as " + w.code(names[2]) + " had"
		}
		return "A host is back from the bench", more
	}
	more = host + ": other hosts passed what failed there"
	if names[2] != "" && names[3] != "" {
		more = host + ": other hosts passed what " + w.code(names[2]) + " of its latest " + w.code(names[3]) + " builds failed there"
	}
	if step != "" {
		more += ", the last of them in step " + step
	}
	if n.Reason.Until != 0 {
		more += "; it is probed at " + w.clockText(n.Reason.Until)
	}
	return "A host is benched", more
}
