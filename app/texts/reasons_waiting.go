package texts

import (
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// reasonsWaiting has the words for the reasons why a change in the queue waits. Numbers
// that change each minute are for pages only: people read a comment long after it was
// written.
func reasonsWaiting() []reasonRow {
	return []reasonRow{
		{code: queue.ReasonInspecting, doc: "reasons#inspecting",
			title: "asking the {host} about the {noun}",
			full:  sentence("Asking the {host} about the {noun}.")},
		{code: queue.ReasonAnalyzing, doc: "reasons#analyzing",
			title: "working out what it touches",
			full:  analyzing},
		{code: queue.ReasonUnanalyzed, doc: "reasons#unanalyzed",
			title: "it could not be analyzed",
			full:  unanalyzed},
		{code: queue.ReasonUnread, doc: "reasons#unread",
			title: "a part of it could not be analyzed",
			full:  unread},
		{code: queue.ReasonWaitsResolve, doc: "reasons#resolving",
			title: "making its trial merge",
			full:  sentence("Its trial merge is being made.")},
		{code: queue.ReasonWaitsBuild, doc: "reasons#building",
			title: "builds under way",
			full: func(w voice, r queue.Reason) string {
				return "Waits for its builds under way" + amount(len(r.Names)) + "."
			}},
		{code: queue.ReasonWaitsSlot, doc: "reasons#slot",
			title: "waiting for a free runner",
			full: func(w voice, r queue.Reason) string {
				if w.plain && len(r.Names) > 1 {
					return "Waits for a free runner: its build is number " + w.code(r.Names[0]) + " of " + w.code(r.Names[1]) + " that could be started."
				}
				return "Waits for a free runner."
			}},
		{code: queue.ReasonWaitsTools, doc: "reasons#tools",
			title: "no host has the tools of its steps",
			full: func(w voice, _ queue.Reason) string {
				return "No host has the tools that its steps are verified with. It is built when one has, or when the steps go by those that there are, which happens by itself; " + w.command("submitqueue status") + " says what is wrong with which host."
			}},
		{code: queue.ReasonBenched, doc: "reasons#benched",
			title: "a host is benched",
			full: func(w voice, r queue.Reason) string {
				return "There are fewer runners than usual: " + orSome(w.codes(r.Names), "some hosts") + " failed what other hosts passed, so that nothing is built there until a probe passes."
			}},
		{code: queue.ReasonWaitsWindow, doc: "reasons#window",
			title: "too far back to be planned for",
			full: func(w voice, r queue.Reason) string {
				text := "It is too far back in the queue to be planned for"
				if len(r.Names) > 0 {
					text += ": the plan looks at the first " + w.code(r.Names[0]) + " changes that are not proven"
				}
				return text + "."
			}},
		{code: queue.ReasonWaitsShared, doc: "reasons#shared",
			title: "builds of others verify it",
			brief: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return ""
				}
				return "builds of " + w.refs(r.Names[:min(len(r.Names), 2)]) + " verify it"
			},
			full: func(w voice, r queue.Reason) string {
				return "Builds of " + orSome(w.refs(r.Names), "others") + " verify what its own would."
			}},
		{code: queue.ReasonWaitsUnlikely, doc: "reasons#unlikely",
			title: "its build is unlikely to be needed",
			full: func(w voice, r queue.Reason) string {
				text := "Its next build is unlikely to be needed"
				if w.plain && len(r.Names) > 1 {
					text += ": it is worth " + w.code(r.Names[0]) + ", and builds are started from " + w.code(r.Names[1]) + " on"
				}
				return text + ". It is started when more is known, or when the change has waited for longer."
			}},
		{code: queue.ReasonWaitsTime, doc: "reasons#early",
			title: "its build is not due yet",
			brief: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return ""
				}
				return "its build is not due before " + w.ref(r.Names[0]) + " is nearly decided"
			},
			full: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return "Its next build is postponed until those ahead of it are nearly decided; a result now might be wasted."
				}
				return "Its next build is postponed until " + w.refs(r.Names) + pick(len(r.Names), " is", " are") + " nearly decided; a result now might be wasted."
			}},
		{code: queue.ReasonWaitsCap, doc: "reasons#cap",
			title: "most of its builds are used up",
			full: func(w voice, r queue.Reason) string {
				text := "Most of the builds that one change may have are used up"
				if len(r.Names) > 1 {
					text += " (" + w.code(r.Names[0]) + ")"
				}
				return text + "; the others are kept for when nothing is ahead of it."
			}},
		{code: queue.ReasonWaitsHour, doc: "reasons#hour",
			title: "this hour's builds are used up",
			full: func(w voice, r queue.Reason) string {
				text := "The queue has started all the builds that it may in one hour"
				if len(r.Names) > 0 {
					text += " (" + w.code(r.Names[0]) + ")"
				}
				return text + "."
			}},
		{code: queue.ReasonWaitsKnown, doc: "reasons#known",
			title: "nothing is left to build for now",
			brief: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 || r.Names[0] == queue.KnownPassed {
					return ""
				}
				return "has not passed on its likeliest future"
			},
			full: known},
		{code: queue.ReasonWaitsQuota, doc: "reasons#quota",
			title: "its quota is used up",
			brief: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return ""
				}
				return "the quota " + w.code(r.Names[0]) + " is used up"
			},
			full: quota},
		{code: queue.ReasonWaitsAhead, doc: "reasons#ahead",
			title: "waiting for changes ahead",
			brief: func(w voice, r queue.Reason) string {
				switch n := len(r.Names); {
				case n > 2:
					return fmt.Sprintf("waits for %s and %d more ahead", w.ref(r.Names[0]), n-1)
				case n > 0:
					return "waits for " + w.refs(r.Names) + " ahead"
				}
				return ""
			},
			full: func(w voice, r queue.Reason) string {
				return "Waits for " + orSome(w.refs(r.Names), "changes") + " ahead of it, which may influence it."
			}},
		{code: queue.ReasonWaitsThrough, doc: "reasons#let-through",
			title: "the freeze lets others through",
			full: func(w voice, r queue.Reason) string {
				came := "it goes before this change, though it came later."
				if len(r.Names) > 1 {
					came = "they go before this change, though they came later."
				}
				return "The freeze lets " + orSome(w.refs(r.Names), "another change") + " through: " + came
			}},
		{code: queue.ReasonWaitsApart, doc: "reasons#apart",
			title: "waiting to be built without those ahead",
			full:  sentence("It could not be built together with those ahead of it, for a reason that may lie in one of them. It is built when they are decided.")},
		{code: queue.ReasonWaitsSplit, doc: "reasons#split",
			title: "a batch has failed, and is split",
			full: func(w voice, r queue.Reason) string {
				return "A batch that it was in, or that is ahead of it, has failed. To find out through whom, a part of that batch is tried first: " +
					orSome(w.refs(r.Names), "others") + ". Those that are not to blame join the next batch."
			}},
		{code: queue.ReasonWaitsTrain, doc: "reasons#train",
			title: "proven, about to land",
			full:  sentence("It is proven and lands with the next push.")},
		{code: queue.ReasonWaitsMain, doc: "reasons#main-unproven",
			title: "{main} is being built first",
			brief: func(_ voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return ""
				}
				return "waits for a repair of the red target branch"
			},
			full: func(w voice, r queue.Reason) string {
				if len(r.Names) > 0 {
					return "It has passed, but " + w.main() + " itself is red" + w.in(r.Names) + ". It waits for a change that repairs it, and lands after that one."
				}
				return w.mainFirst() + " has commits that the queue did not make; they are being built first."
			}},
		{code: queue.ReasonWaitsUpgrade, doc: "reasons#upgrade",
			title: "waiting for another version of the analyzer",
			full: func(w voice, r queue.Reason) string {
				return "It is proven. The rest of " + w.main() + " is being built under a newer version of the analyzer; landings wait for that until " + w.clockText(r.Until) + " at the latest."
			}},
		{code: queue.ReasonWaitsControl, doc: "reasons#control",
			title: "it has failed; {main} is run without it",
			full: func(w voice, r queue.Reason) string {
				return "It has failed" + w.in(r.Names) + ". The same is run on " + w.main() + " without it: only if that passes is the failure its own."
			}},
		{code: queue.ReasonPaused, doc: "reasons#paused",
			title: "landings are paused",
			full: func(w voice, r queue.Reason) string {
				if r.Until != 0 {
					return "Landings are frozen until " + w.clockText(r.Until) + w.by(r) + w.because(r.Detail) + " They go on by themselves then; builds go on meanwhile."
				}
				return "Landings are paused" + w.by(r) + w.because(r.Detail) + " " + "They go on after " + w.resume() + "; builds go on meanwhile."
			}},
		{code: queue.ReasonShut, doc: "reasons#branch-refuses",
			title: "the {host} refuses every push",
			full: func(w voice, r queue.Reason) string {
				return w.fill("Landings are paused: the {host} refuses every push to {main}") + w.because(r.Detail) +
					" From time to time one change is pushed all the same, and when it gets through, landings go on by themselves, as they do after " + w.resume() + ". Builds go on meanwhile."
			}},
		{code: queue.ReasonRenamed, doc: "reasons#renamed",
			title: "the target branch was renamed",
			full: func(w voice, r queue.Reason) string {
				return "The target branch was renamed" + w.renamedTo(r.Names) + ". Everything keeps its place; landings go on when whoever runs the queue serves the new name (" +
					w.command("--branch") + "), or when the branch has its old name again."
			}},
		{code: queue.ReasonForced, doc: "reasons#forced",
			title: "{main} was force-pushed",
			full: func(w voice, r queue.Reason) string {
				text := w.mainFirst() + " was force-pushed"
				if len(r.Names) > 1 {
					text += " from " + w.commit(queue.CommitID(r.Names[0])) + " to " + w.commit(queue.CommitID(r.Names[1]))
				}
				return text + ". Landings go on after " + w.resume() + "."
			}},
		{code: queue.ReasonLanding, doc: "reasons#landing",
			title: "being pushed",
			full:  sentence("It is being pushed to {main}.")},
		{code: queue.ReasonTrying, doc: "reasons#trying",
			title: "being tried",
			full:  sentence("It is built on {main} as it is, in slots that the queue does not need. It will not land, whatever the result is.")},
	}
}

// quota says that as many builds run as a change's quota allows.
func quota(w voice, r queue.Reason) string {
	if len(r.Names) < 3 {
		return "Waits for a build of its quota to end."
	}
	text := "Waits for its quota " + w.code(r.Names[0]) + ": of its changes' builds, " + w.code(r.Names[1]) + " may run at a time"
	if r.Names[2] == string(config.WhenContended) {
		text += " while others wait for a runner"
	}
	return text + "."
}

// known says what the builds of a change's likeliest future have shown.
func known(w voice, r queue.Reason) string {
	shown := ""
	if len(r.Names) > 0 {
		shown = r.Names[0]
	}
	switch shown {
	case queue.KnownPassed:
		return "It has passed together with the changes that will probably land before it. Nothing is left to build until those ahead of it are decided."
	case queue.KnownFailed:
		return "It has failed together with the changes that will probably land before it. That is no verdict: it is rejected only if it fails on " + w.main() + " itself, when those ahead of it are decided."
	case queue.KnownConflict:
		return "It does not merge with the changes that will probably land before it. That is no verdict: it is rejected only if it does not merge with " + w.main() + " itself."
	case queue.KnownEmpty:
		return "The changes that will probably land before it hold all of it already."
	}
	return "Nothing of it is left to build until those ahead of it are decided."
}
