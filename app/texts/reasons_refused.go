package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// reasonsRefused has the words for commands that were not followed.
func reasonsRefused() []reasonRow {
	return []reasonRow{
		{code: queue.ReasonNoPermission, doc: "reasons#no-permission",
			title: "this needs another permission",
			full:  noPermission},
		{code: queue.ReasonUnknownLane, doc: "reasons#unknown-lane",
			title: "there is no such lane",
			full: func(w voice, r queue.Reason) string {
				if len(r.Names) > 1 {
					return "There is no lane " + w.code(r.Names[0]) + ". The lanes, the most urgent first: " + w.codes(r.Names[1:]) + "."
				}
				return "There is no such lane."
			}},
		{code: queue.ReasonNoMethod, doc: "reasons#no-method",
			title: "it cannot land in that way here",
			full: func(w voice, r queue.Reason) string {
				if len(r.Names) > 1 {
					return "Changes do not land by " + w.code(r.Names[0]) + " here. The configuration allows " + w.codes(r.Names[1:]) + "."
				}
				return "Changes do not land in that way here."
			}},
		{code: queue.ReasonNotOpen, doc: "reasons#not-open",
			title: "the {noun} is not open", local: "there is no such branch to land",
			full: byHost(
				func(w voice, r queue.Reason) string {
					if isMerged(r) {
						return w.fill("The {noun} has landed already. To undo it, land a revert; new commits need a {noun} of their own.")
					}
					return "The " + w.o.Words.Noun() + " is not open. Reopen it, then " + w.land() + "."
				},
				func(w voice, r queue.Reason) string {
					if isMerged(r) {
						return "It has landed already. To undo it, land a revert."
					}
					return "There is no such branch any more, or its request has ended. Push the branch, then " + w.land() + "."
				})},
		{code: queue.ReasonDraft, doc: "reasons#draft",
			title: "the {noun} is a draft",
			full: func(w voice, _ queue.Reason) string {
				return w.fill("The {noun} is a draft. Mark it ready for review, then ") + w.land() + "."
			}},
		{code: queue.ReasonWrongBase, doc: "reasons#wrong-base",
			title: "it asks for another branch",
			full: func(w voice, r queue.Reason) string {
				return w.fill("The {noun} asks for another branch") + w.bases(r.Names) + ". Change its base, then " + w.land() + "."
			}},
		{code: queue.ReasonStackCircle, doc: "reasons#stack-circle",
			title: "its base leads in a circle",
			full:  circle},
		{code: queue.ReasonStackDeep, doc: "reasons#stack-deep",
			title: "too many are below it",
			full:  deep},
		{code: queue.ReasonNeedsApprove, doc: "reasons#needs-approval",
			title: "an administrator must approve this commit",
			full: func(w voice, r queue.Reason) string {
				return "It changes protected paths" + w.in(r.Names) + ". Before anything of it runs, an administrator of the repository must approve this very commit, or " + w.land() + "."
			}},
		{code: queue.ReasonNoConfig, doc: "reasons#no-config",
			title: "{main} has no valid configuration",
			full: func(w voice, r queue.Reason) string {
				return w.mainFirst() + " has no configuration that can be used. Add a valid " + w.code(config.Path) + " there (" +
					w.command("submitqueue validate") + " checks it), then " + w.land() + "." + w.quoted(r.Detail)
			}},
		{code: queue.ReasonUnknown, doc: "reasons#unknown-command",
			title: "command not understood",
			full: func(w voice, r queue.Reason) string {
				text := "This was not understood"
				if len(r.Names) > 0 {
					text += ": " + w.code(r.Names[0])
				}
				text += "."
				if len(r.Names) > 1 && r.Names[1] != "" {
					text += " Did you mean " + w.code(r.Names[1]) + "?"
				}
				if !w.o.Words.Local {
					text += " Write it in a new comment: the queue does not read edits."
				}
				return text + " " + w.helpAt()
			}},
		{code: queue.ReasonNotQueued, doc: "reasons#not-queued",
			title: "it is not in the queue",
			full: byHost(
				func(w voice, _ queue.Reason) string {
					return "The " + w.o.Words.Noun() + " is not in the queue. " + w.landAgain() + " puts it there."
				},
				func(w voice, _ queue.Reason) string {
					return "It is not in the queue. " + w.landAgain() + " puts it there."
				})},
		{code: queue.ReasonTooLate, doc: "reasons#too-late",
			title: "it was already being pushed",
			full:  tooLate},
		{code: queue.ReasonNowQuota, doc: "reasons#now-quota",
			title: "too many emergencies in one day",
			full: byHost(
				func(w voice, r queue.Reason) string {
					text := "Daily emergency limit reached" + atCount(r.Names) + "."
					if r.Until != 0 {
						text += " There is room again at " + w.clockText(r.Until) + "."
					}
					return text + " " + w.command("/land") + " lands it in its turn."
				},
				sentence("Daily emergency limit reached."))},
		{code: queue.ReasonForgotten, doc: "reasons#forgotten",
			title: "as much as is remembered has been forgotten lately",
			full: byHost(
				func(w voice, _ queue.Reason) string {
					return "As much as is remembered has been forgotten lately. A whole step can be forgotten instead: " + w.command("/queue forget step=NAME") + "."
				},
				sentence("As much as is remembered has been forgotten lately. Forget a whole step instead: submitqueue ledger forget --step NAME."))},
		{code: queue.ReasonBadUntil, doc: "reasons#bad-until",
			title: "not a valid end time",
			full: byHost(
				func(w voice, r queue.Reason) string {
					text := "Not a valid end time"
					if len(r.Names) > 0 {
						text += ": " + w.code(r.Names[0])
					}
					return text + ". Name a moment of the next 90 days, in UTC: " + w.command("/queue freeze 2h") + ", " + w.command("/queue freeze 18:00") + " or " + w.command("/queue freeze 2026-12-24 18:00") + "."
				},
				sentence("Not a valid end time. Name a moment of the next 90 days, in UTC: 2h, 18:00 or 2026-12-24 18:00."))},
		{code: queue.ReasonInQueue, doc: "reasons#in-queue",
			title: "it is in the queue",
			full:  sentence("It is in the queue already, which builds it and says here what comes of it.")},
		{code: queue.ReasonForge, doc: "reasons#forge",
			title: "the {host} could not be asked",
			full: byHost(
				func(w voice, r queue.Reason) string {
					return "The forge could not be asked, so nothing was done" + w.last(r.Detail) + ". Please comment again in a while."
				},
				func(w voice, r queue.Reason) string {
					return "The repository could not be read, so nothing was done" + w.last(r.Detail) + ". Please try again in a while."
				})},
	}
}

func noPermission(w voice, r queue.Reason) string {
	level := "more"
	if len(r.Names) > 1 {
		if who := strings.Fields(r.Names[1]); len(who) > 1 || len(who) == 1 && config.RoleLevel(who[0]) == 0 {
			return listed(w, r, who)
		}
		level = w.code(r.Names[1])
	}
	what := "this"
	if len(r.Names) > 2 {
		what = "the lane " + w.code(r.Names[2])
	}
	return "Sorry" + w.name(r) + ", " + what + " needs the permission " + level + " on the repository. Somebody with that permission can give the command."
}

func tooLate(w voice, r queue.Reason) string {
	switch len(r.Names) {
	case 0:
		return "Too late: it was already being pushed."
	case 1:
		return "Too late: " + w.commit(queue.CommitID(r.Names[0])) + " was already being pushed. To undo it, land a revert."
	}
	newer := "The newer commits need a " + w.o.Words.Noun() + " and a " + w.command("/land") + " of their own."
	if w.o.Words.Local {
		newer = "For the newer commits, " + w.land() + " once more."
	}
	return "Too late for this landing: " + w.commit(queue.CommitID(r.Names[0])) + " was already being pushed when " +
		w.commit(queue.CommitID(r.Names[1])) + " came. " + newer
}
