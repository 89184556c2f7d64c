package texts

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// tryHeadline says where a try stands.
func (w voice) tryHeadline(c queue.Change) string {
	switch {
	case c.Would != nil && c.Phase == queue.Trying:
		return "Not in the queue: working out what it touches"
	case c.Would != nil:
		return "Not in the queue: what " + w.landAgain() + " would do"
	case c.Phase == queue.Trying:
		return "Being tried: built on " + w.main() + ", and not landed"
	case c.Reason.Code == queue.ReasonFailed && len(c.Reason.Names) > 0:
		return "Tried: " + w.failedIn(c.Reason)
	}
	return "Tried: " + orSome(w.title(c.Reason.Code), "without a result")
}

// tried says what came of a try, as Markdown blocks.
func (w voice) tried(c queue.Change) []string {
	if c.Would != nil {
		return w.would(c)
	}
	v := c.Verdict
	on := ""
	if c.On != "" {
		on = " at " + w.commit(c.On)
	}
	switch c.Reason.Code {
	case queue.ReasonTried:
		text := "**Result:** " + w.put(c.Method) + on + " it passes"
		if v != nil && v.Keys > 0 {
			text += fmt.Sprintf(": %s, of which %d had passed before, at exactly the same content", counted(v.Keys, "check", "checks"), v.Reused+v.Heads)
		}
		return []string{text + "." + w.eachTried(c), "Nothing was landed. To land it, " + w.landBy(c.Method) + "; no test that has passed is run again."}
	case queue.ReasonFailed, queue.ReasonMergeConflict:
		out := []string{"It was to be " + w.put(c.Method) + on + ". " + w.reason(c.Reason)}
		if c.Reason.Code == queue.ReasonFailed {
			out[0] = w.failedOn(c.Reason, on) + w.eachTried(c)
		}
		if line := failingLine(c); line != "" {
			out = append([]string{codeSpan(line, mostFailing)}, out...)
		}
		if v != nil {
			out = append(out, w.failures(c)...)
		}
		return out
	case queue.ReasonInfra, queue.ReasonNoRunner, queue.ReasonStuck:
		return []string{"It could not be built" + w.last(c.Reason.Detail) + ". This says nothing of the change: " + w.retry() + " tries again."}
	case queue.ReasonBuildCap:
		return []string{"The cap on builds for one change is reached" + atCount(c.Reason.Names) + ". " + w.retry() + " tries again."}
	case queue.ReasonNoTool:
		return []string{w.unrun(c.Reason.Unrun) + " This says nothing of the change: " + w.retry() + " tries again."}
	case queue.ReasonRedMain:
		return []string{"It fails only where " + w.main() + " itself is red" + w.in(c.Reason.Names) + "." + w.drifts(c.Reason.Drift)}
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

// gap joins a text to the one before it: a list begins on a new line.
func gap(text string) string {
	if strings.HasPrefix(text, "- ") {
		return "\n\n" + text
	}
	return " " + text
}

// would says what would happen to a pull request that is not in the queue if it entered.
func (w voice) would(c queue.Change) []string {
	x := c.Would
	var out []string
	if x.Unmet.Code != "" {
		out = append(out, "**It could not enter now.**"+gap(w.reason(x.Unmet)))
	} else if len(x.Clashes) > 0 {
		out = append(out, "**It would be rejected now:** it was to be "+w.put(c.Method)+", and does not merge there"+w.in(x.Clashes)+". "+w.reconcile()+".")
	} else if x.Already {
		out = append(out, "**It would land nothing now.** "+w.reason(queue.Reason{Code: queue.ReasonAlready}))
	} else {
		out = append(out, fmt.Sprintf("**It could enter now**, beside %s.", counted(x.Pending, "pending change", "pending changes")))
	}
	if len(x.Failed) > 0 {
		out = append(out, "But it **was rejected** at this very commit, for failures"+w.in(x.Failed)+". Where its content on "+w.main()+" is still the same, it would be rejected again at once. Push a fix; if you believe that it failed by chance, "+w.retry()+" runs it again.")
	}
	out = append(out, w.rulings(x.Auto)...)
	switch t := c.Touches; {
	case t.Unknown != "":
		out = append(out, "It could not be analyzed, so it would count as touching everything: "+w.long(t.Unknown)+".")
	case t.All:
		out = append(out, "It touches what everything depends on, so it would conflict with all others.")
	default:
		out = append(out, fmt.Sprintf("It affects %s.", counted(t.Targets, "target", "targets")))
		if t.Unread != "" {
			out = append(out, "A part of the repository that it touches could not be analyzed and counts as one target: "+w.long(t.Unread)+".")
		}
	}
	if len(x.Conflicts) == 0 {
		return append(out, "It would conflict with no pending change, and wait for none.")
	}
	lines := []string{"It would conflict with these, and wait for those of them that are ahead of it then:"}
	for _, k := range x.Conflicts {
		lines = append(lines, "- "+w.ref(string(k.With))+w.witness(queue.View{}, k))
	}
	if x.More > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", x.More))
	}
	return append(out, strings.Join(lines, "\n"))
}
