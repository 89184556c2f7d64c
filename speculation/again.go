package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A change that could not be analyzed takes part all the same: it counts as
// touching everything, and people are told why. If the reason may pass (a
// time-out, a tool or an object that is missing, a program that main does not
// have yet), it is analyzed again while it waits.

// How long after its last analysis such a change is analyzed again.
const (
	againAfter = 10 * time.Minute
	againMoved = time.Minute // if main has moved since
)

// dueAgain reports whether a change is to be analyzed again now, and otherwise asks for
// a turn at that time.
func (c *settling) dueAgain(ch *queue.Change) bool {
	if !ch.Touches.Again {
		return false
	}
	f := c.s.Footprints[ch.ID]
	if f == nil {
		return false
	}
	at := c.againAt(f)
	c.wakeAt(at)
	return c.facts.Now >= at
}

func (c *settling) againAt(f *queue.Footprint) queue.Instant {
	if f.Main != c.s.Main.Tip {
		return f.At.Add(againMoved)
	}
	return f.At.Add(againAfter)
}

// repeated reports whether a task may be asked for again after it has had an action of
// the same name.
func (c *settling) repeated(t queue.Task) bool {
	switch t := t.(type) {
	case queue.Observe, queue.Watch, queue.Propose, queue.Weigh, queue.Tell, queue.Attest:
		return true
	case queue.Survey:
		return t.Former != "" || c.s.Main.Former != "" || // an answer may be of another version
			len(c.s.Main.Forgotten) > 0 || len(c.s.Main.Drift) > 0 // or from before something was forgotten, or a pass revoked
	case queue.Analyze:
		f := c.s.Footprints[t.Change]
		return f != nil && f.Main == t.Main
	}
	return false
}

// overslept ends the wait for an analysis that takes too long: the change counts as
// unknown meanwhile. Perhaps no worker was there to answer, so the analysis is tried
// once more at once.
func (c *settling) overslept(a *queue.Action) bool {
	t, ok := a.Task.(queue.Analyze)
	if !ok || c.upkeep.idle(t) {
		return false
	}
	cause := "the analysis did not end within " + c.upkeep.patience(t).String()
	c.upkeep.done(a.Key)
	c.analyzed(c.unknown(t, cause), true)
	if a.Attempt == 1 {
		c.upkeep.askAttempt(t, 2, 0, cause)
	}
	return true
}

// unknown is the answer that stands in for an analysis that gave none.
func (c *settling) unknown(t queue.Analyze, cause string) queue.Analyzed {
	f := queue.Footprint{Main: t.Main, All: true, Unknown: cause, Again: true}
	if old := c.s.Footprints[t.Change]; old != nil {
		f.Paths, f.Files, f.Dirs, f.Extent = old.Paths, old.Files, old.Dirs, old.Extent
	}
	return queue.Analyzed{Change: t.Change, Footprint: f}
}

// touches sums a footprint up, with how often its targets have failed lately.
func (c *settling) touches(f *queue.Footprint) queue.Touches {
	t := conflict.TouchesOf(f)
	if c.s.Main.Config == nil {
		return t
	}
	for _, s := range c.s.Main.Config.Steps {
		if s.Scope == config.ScopeRepository {
			continue
		}
		for _, target := range f.Affected {
			if d := c.s.Durations[derived.DurationID(s.Name, target)]; d != nil {
				t.FailRate = max(t.FailRate, d.Failed)
			}
		}
	}
	return t
}

// unknowns returns those of a change and the changes in conflict with it that could not
// be analyzed: the change itself first, then in the order of the conflicts, at most
// five.
func (c *settling) unknowns(id queue.ChangeID, conflicts []queue.Conflict) []queue.Unknown {
	var out []queue.Unknown
	add := func(id queue.ChangeID) {
		if f := c.s.Footprints[id]; f != nil && f.Unknown != "" && len(out) < 5 {
			out = append(out, queue.Unknown{Change: id, Why: f.Unknown})
		}
	}
	add(id)
	for _, k := range conflicts {
		if k.Kind == queue.ConflictUnknown {
			add(k.With)
		}
	}
	return out
}

// unanalyzed says why a pending change counts as touching everything, or a whole
// part of the tree, where it could not be analyzed.
func (c *settling) unanalyzed(ch *queue.Change) queue.Reason {
	f := c.s.Footprints[ch.ID]
	if f == nil || f.Unknown == "" && f.Unread == "" {
		return queue.Reason{}
	}
	r := queue.Reason{Code: queue.ReasonUnanalyzed, Detail: f.Unknown}
	if f.Unknown == "" {
		r = queue.Reason{Code: queue.ReasonUnread, Detail: f.Unread}
	}
	if f.Again && c.analyzing[ch.ID] == 0 {
		r.Until = c.againAt(f)
	}
	return r
}

// trouble is why a change is not in the order, with the cause that holds up its
// analysis.
func (c *settling) trouble(ch *queue.Change) queue.Reason {
	r := ch.Reason
	if ch.Phase == queue.Analyzing && c.analyzing[ch.ID] > 0 {
		key := c.facts.Asked(c.analysis(ch))
		if a := c.s.Actions[key]; a != nil {
			r.Detail = a.Error
		}
	}
	return r
}
