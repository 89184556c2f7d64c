package app

import (
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// tryHeadline says where a try stands.
func (w voice) tryHeadline(c queue.Change) string {
	switch {
	case c.Phase == queue.Trying:
		return "Being tried: built on the target branch, and not landed"
	case c.Reason.Code == queue.ReasonFailed && len(c.Reason.Names) > 0:
		return "Tried: " + w.failedIn(c.Reason)
	}
	return "Tried: " + w.orSome(w.short(c.Reason.Code), "without a result")
}

// tried says what came of a try, as Markdown blocks.
func (w voice) tried(c queue.Change) []string {
	v := c.Verdict
	on := ""
	if c.On != "" {
		on = " at " + w.commit(c.On)
	}
	switch c.Reason.Code {
	case queue.ReasonTried:
		text := "**Result:** merged onto the target branch" + on + " it passes"
		if v != nil && v.Keys > 0 {
			text += fmt.Sprintf(": %s, of which %d had passed before, at exactly the same content", counted(v.Keys, "key", "keys"), v.Reused)
		}
		return []string{text + ".", "Nothing was landed. To land it, " + w.landAgain() + "; what has passed is not run again."}
	case queue.ReasonFailed, queue.ReasonMergeConflict:
		out := []string{"It was merged onto the target branch" + on + ". " + w.reason(c.Reason)}
		if v != nil {
			out = append(out, w.failures(c)...)
		}
		return out
	case queue.ReasonInfra, queue.ReasonNoRunner, queue.ReasonStuck:
		return []string{"It could not be built" + w.last(c.Reason.Detail) + ". This says nothing of the change: " + w.retry() + " tries again."}
	case queue.ReasonBuildCap:
		return []string{"The cap on builds for one change is reached" + w.atCount(c.Reason.Names) + ". " + w.retry() + " tries again."}
	case queue.ReasonRedMain:
		return []string{"It fails only where the target branch itself is red" + w.in(c.Reason.Names) + "."}
	}
	return []string{w.reason(c.Reason)}
}

// tryCheck is the state of the check run of a try.
func tryCheck(v queue.View) string {
	switch {
	case v.Change.Phase == queue.Trying && len(v.Builds) > 0:
		return "in_progress"
	case v.Change.Phase == queue.Trying:
		return "queued"
	}
	switch v.Change.Reason.Code {
	case queue.ReasonTried:
		return "success"
	case queue.ReasonFailed, queue.ReasonMergeConflict:
		return "failure"
	case queue.ReasonAlready:
		return "neutral"
	}
	return "cancelled"
}
