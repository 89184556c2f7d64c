package texts

import "github.com/submitqueue/submitqueue/queue"

// reasonsParked has the words for trouble that is not the author's fault.
func reasonsParked() []reasonRow {
	return []reasonRow{
		{code: queue.ReasonInfra, doc: "reasons#infrastructure",
			title: "infrastructure errors",
			full: func(w voice, r queue.Reason) string {
				return "Its builds ended in infrastructure errors, several in a row" + w.last(r.Detail) + ". It is tried again by itself; " +
					w.retry() + " tries at once."
			}},
		{code: queue.ReasonNoRunner, doc: "reasons#no-runner",
			title: "no runner fits",
			full: func(w voice, r queue.Reason) string {
				return "No runner has what one of its steps asks for" + w.last(r.Detail) + ". It comes back when such a runner is there; an operator can see to it."
			}},
		{code: queue.ReasonNoCheck, doc: "reasons#no-check",
			title: "a check did not appear",
			full: func(w voice, r queue.Reason) string {
				return "Its builds wait for checks of the CI" + w.last(r.Detail) + ". It is tried again by itself; " + w.retry() + " tries at once."
			}},
		{code: queue.ReasonBuildCap, doc: "reasons#build-cap",
			title: "its builds are used up",
			full: func(w voice, r queue.Reason) string {
				return "The cap on builds for one change is reached" + atCount(r.Names) + ". " + w.retry() + " grants it another round."
			}},
		{code: queue.ReasonNoTool, doc: "reasons#no-tool",
			title: "a step cannot be run here",
			full: func(w voice, r queue.Reason) string {
				return w.unrun(r.Unrun) + " This says nothing of the change, which comes back when " + w.main() + " passes."
			}},
		{code: queue.ReasonRedMain, doc: "reasons#red-main",
			title: "{main} itself is red",
			full: func(w voice, r queue.Reason) string {
				return "It fails only where " + w.main() + " itself is red" + w.in(r.Names) + "." + w.drifts(r.Drift) + " It comes back when " + w.main() + " is green again."
			}},
		{code: queue.ReasonProtected, doc: "reasons#protection",
			title: "the {host} refused the push",
			full: func(w voice, r queue.Reason) string {
				again := ""
				if r.Until != 0 {
					again = " By itself it is tried again at " + w.clockText(r.Until) + ", behind the others."
				}
				return w.fill("The {host} refuses to take its commit") + w.because(r.Detail) + " Others land meanwhile. " +
					"Push what the rule lets pass, or have it lifted, or the permission granted; then " + w.retry() + " tries at once." + again
			}},
		{code: queue.ReasonStuck, doc: "reasons#action-failed",
			title: "something of ours keeps failing",
			full: func(w voice, r queue.Reason) string {
				return "Something that the queue does for it failed too often" + w.last(r.Detail) + ". It is tried again by itself; the operator's log says more."
			}},
		{code: queue.ReasonRequirements, doc: "reasons#requirements",
			title: "it does not meet what is asked of it",
			brief: voice.lacks,
			full:  voice.requirements},
		{code: queue.ReasonParent, doc: "reasons#stack-parent",
			title: "the {noun} below it is not in the queue",
			brief: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return ""
				}
				return "waits for " + w.numbered(r.Names[0]) + ", which it is on top of"
			},
			full: parent},
	}
}
