package texts

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// reasonsEnded has the words for verdicts.
func reasonsEnded() []reasonRow {
	return []reasonRow{
		{code: queue.ReasonLanded, doc: "reasons#landed",
			title: "landed",
			full:  sentence("It has landed.")},
		{code: queue.ReasonFailed, doc: "reasons#failed",
			title: "a step failed",
			brief: func(w voice, r queue.Reason) string {
				if len(r.Names) == 0 {
					return ""
				}
				return w.failedIn(r)
			},
			full: failed},
		{code: queue.ReasonMergeConflict, doc: "reasons#merge-conflict",
			title: "it does not merge",
			brief: func(w voice, r queue.Reason) string {
				switch {
				case r.Detail != "":
					return "cannot be " + w.put(w.method) + ": " + w.long(r.Detail)
				case len(r.Names) > 0:
					return "does not merge: " + w.codes(r.Names)
				}
				return ""
			},
			full: func(w voice, r queue.Reason) string {
				if r.Detail != "" {
					return "It cannot be " + w.put(w.method) + w.because(r.Detail) + " Then " + w.again()
				}
				return "It does not merge with " + w.main() + w.in(r.Names) + ". " + w.reconcile() + ", then " + w.again()
			}},
		{code: queue.ReasonAlready, doc: "reasons#already",
			title: "the merge changes nothing",
			brief: mergedBrief,
			full: func(w voice, r queue.Reason) string {
				if isMerged(r) {
					return w.fill(mergedByOthers)
				}
				return w.fill("Merging it changes nothing: its commits are empty, or their content is on {main} already, or was there and has been reverted. To land reverted content again, revert the revert. Empty commits do not land alone.")
			}},
		{code: queue.ReasonCancelled, doc: "reasons#cancelled",
			title: "taken out by command",
			full: func(w voice, r queue.Reason) string {
				return "It was taken out of the queue" + w.by(r) + ". To put it back, " + w.again()
			}},
		{code: queue.ReasonPushed, doc: "reasons#head-moved",
			title: "new commits were pushed",
			full:  pushed},
		{code: queue.ReasonHeardLate, doc: "reasons#heard-late",
			title: "the command was heard too late",
			full: func(w voice, r queue.Reason) string {
				head := "the present commit"
				if len(r.Names) > 0 {
					head = w.commit(queue.CommitID(r.Names[0]))
				}
				return w.fill("The queue did not hear of this when it was said, and the {noun} has changed since. It is not known whether ") + head +
					" was its head then, and an approval is for one commit. To land it, " + w.again()
			}},
		{code: queue.ReasonClosed, doc: "reasons#closed",
			title: "the {noun} was closed", local: "the branch is gone",
			brief: mergedBrief,
			full: func(w voice, r queue.Reason) string {
				if isMerged(r) {
					return w.fill(mergedByOthers)
				}
				if w.o.Words.Local {
					return "The branch was deleted. To land it, push it again, then " + w.again()
				}
				return "The " + w.o.Words.Noun() + " was closed. To land it, reopen it and " + w.again()
			}},
		{code: queue.ReasonRetargeted, doc: "reasons#retargeted",
			title: "it now asks for another branch",
			full: func(w voice, r queue.Reason) string {
				return w.fill("The {noun} now asks for another branch") + w.bases(r.Names) + ". To land it here, change its base back, then " + w.again() + " If the other branch has a queue, that is asked in the same way."
			}},
		{code: queue.ReasonSuperseded, doc: "reasons#superseded",
			title: "a newer request took its place",
			full:  sentence("A newer request to land took its place.")},
		{code: queue.ReasonRestacked, doc: "reasons#restacked",
			title: "it was put on top of another commit",
			full:  sentence("Its commits were made anew on top of others, unchanged, as GitHub does in a stack. It goes on at its new head, in its place.")},
		{code: queue.ReasonParkedLimit, doc: "reasons#parked-limit",
			title: "parked for too long",
			full: func(w voice, r queue.Reason) string {
				cause := ""
				if len(r.Names) > 0 {
					if h := w.title(queue.ReasonCode(r.Names[0])); h != "" {
						cause = " (" + h + ")"
					}
				}
				return "It was parked for longer than the limit" + cause + ". This is no verdict on the change: when the cause is gone, " + w.again()
			}},
		{code: queue.ReasonUnruled, doc: "reasons#unruled",
			title: "the rule that entered it does not hold any more",
			full: func(w voice, r queue.Reason) string {
				if len(r.Names) < 2 {
					return "The rule that entered it does not hold any more."
				}
				return "Rule " + w.code(r.Names[0]) + " had entered it, and its label " + w.code(r.Names[1]) + " was taken off. To put it back, set the label, or " + w.again()
			}},
		{code: queue.ReasonTried, doc: "reasons#tried",
			title: "it passes on {main}",
			full:  sentence("It passes on {main}. Nothing was landed.")},
		{code: queue.ReasonExplained, doc: "reasons#explained",
			title: "what would become of it",
			full:  sentence("It is not in the queue; its outcome there is known.")},
	}
}

// isMerged reports whether a reason says that the pull request is merged: see
// queue.NameMerged.
func isMerged(r queue.Reason) bool { return len(r.Names) > 0 && r.Names[0] == queue.NameMerged }

const mergedByOthers = "It was merged without the queue, or together with another {noun} that has its commits. New commits need a {noun} of their own."

func mergedBrief(w voice, r queue.Reason) string {
	if isMerged(r) {
		return w.fill("the {noun} was merged")
	}
	return ""
}

// ofConfig reports whether a reason says that the configuration in a change cannot be used.
func ofConfig(r queue.Reason) bool { return len(r.Names) > 0 && r.Names[0] == config.Path }

func failed(w voice, r queue.Reason) string { return w.failedOn(r, "") }

// failedOn says what failed, and what to do; on is the text that follows the target branch.
func (w voice) failedOn(r queue.Reason, on string) string {
	if ofConfig(r) {
		return "Its " + w.code(config.Path) + " cannot be used. Push a fix (" + w.command("submitqueue validate") + " checks it), then " + w.again()
	}
	what := "A step"
	if len(r.Names) > 0 {
		what = w.codes(r.Names)
	}
	return what + " failed with this commit " + w.put(w.method) + on + ". Push a fix, then " + w.again() +
		" If you believe that it failed by chance, " + w.retry() + " runs it again."
}

func pushed(w voice, r queue.Reason) string {
	if len(r.Names) < 2 || r.Names[1] == "" && r.Names[0] == "" {
		return "New commits were pushed, and an approval is for one commit. To land the new one, " + w.again()
	}
	head := w.commit(queue.CommitID(r.Names[1]))
	if r.Detail == queue.DetailOurs {
		return "Its branch was moved to " + head + " for a landing that has not come about, and the forge does not let the queue put it back to " +
			w.commit(queue.CommitID(r.Names[0])) + ". Push that commit to the branch, then " + w.again()
	}
	if r.Names[0] == "" { // the head at which it was asked is not known
		return "New commits were pushed (" + head + ") since that was asked, and an approval is for one commit. To land the new one, " + w.again()
	}
	return "New commits were pushed (" + head + "), and an approval is for one commit (" +
		w.commit(queue.CommitID(r.Names[0])) + "). To land the new one, " + w.again()
}
