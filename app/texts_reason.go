package app

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// ReasonText returns a reason in words, as one line of plain text. It may quote
// hostile text: whoever shows it escapes it.
func ReasonText(r queue.Reason) string {
	return Words{}.Reason(queue.Change{}, r)
}

// short is a reason in a few words, as they follow "Parked: " or "3rd of 7: ".
// It quotes nothing.
func (w voice) short(c queue.ReasonCode) string {
	noun := w.o.Words.Noun()
	switch c {
	case queue.ReasonInspecting:
		return "asking the " + w.o.Words.host() + " about the " + noun
	case queue.ReasonAnalyzing:
		return "working out what it touches"
	case queue.ReasonUnanalyzed:
		return "it could not be analyzed"
	case queue.ReasonWaitsResolve:
		return "making its trial merge"
	case queue.ReasonWaitsBuild:
		return "builds under way"
	case queue.ReasonWaitsSlot:
		return "waiting for a free runner"
	case queue.ReasonWaitsTools:
		return "no host has the tools of its steps"
	case queue.ReasonBenched:
		return "a host is benched"
	case queue.ReasonWaitsWindow:
		return "too far back to be planned for"
	case queue.ReasonWaitsShared:
		return "builds of others verify it"
	case queue.ReasonWaitsUnlikely:
		return "its build is unlikely to be needed"
	case queue.ReasonWaitsTime:
		return "its build is not due yet"
	case queue.ReasonWaitsCap:
		return "half of its builds are used up"
	case queue.ReasonWaitsHour:
		return "this hour's builds are used up"
	case queue.ReasonWaitsKnown:
		return "nothing is left to build for now"
	case queue.ReasonWaitsQuota:
		return "its quota is used up"
	case queue.ReasonWaitsAhead:
		return "waiting for changes ahead"
	case queue.ReasonWaitsApart:
		return "waiting to be built without those ahead"
	case queue.ReasonWaitsTrain:
		return "proven, about to land"
	case queue.ReasonWaitsMain:
		return "the target branch is being built first"
	case queue.ReasonWaitsUpgrade:
		return "waiting for another version of the analyzer"
	case queue.ReasonWaitsControl:
		return "it has failed; the target branch is run without it"
	case queue.ReasonPaused:
		return "landings are paused"
	case queue.ReasonShut:
		return "the " + w.o.Words.host() + " refuses every push"
	case queue.ReasonRenamed:
		return "the target branch was renamed"
	case queue.ReasonLanding:
		return "being pushed"
	case queue.ReasonLanded:
		return "landed"
	case queue.ReasonFailed:
		return "a step failed"
	case queue.ReasonMergeConflict:
		return "it does not merge"
	case queue.ReasonAlready:
		return "the merge changes nothing"
	case queue.ReasonCancelled:
		return "taken out by command"
	case queue.ReasonPushed:
		return "new commits were pushed"
	case queue.ReasonClosed:
		if w.o.Words.Local {
			return "the branch is gone"
		}
		return "the pull request was closed"
	case queue.ReasonRetargeted:
		return "it now asks for another branch"
	case queue.ReasonSuperseded:
		return "a newer request took its place"
	case queue.ReasonParkedLimit:
		return "parked for too long"
	case queue.ReasonInfra:
		return "infrastructure errors"
	case queue.ReasonNoRunner:
		return "no runner fits"
	case queue.ReasonNoCheck:
		return "a check did not appear"
	case queue.ReasonBuildCap:
		return "its builds are used up"
	case queue.ReasonRedMain:
		return "the target branch itself is red"
	case queue.ReasonNoTool:
		return "a step cannot be run here"
	case queue.ReasonCulprit:
		return "it turned the target branch red"
	case queue.ReasonBlame:
		return "Who turned the target branch red"
	case queue.ReasonProtected:
		return "the " + w.o.Words.host() + " refused the push"
	case queue.ReasonStuck:
		return "something of ours keeps failing"
	case queue.ReasonRequirements:
		return "it does not meet what is asked of it"
	case queue.ReasonParent:
		return "what it is on top of is not in the queue"
	case queue.ReasonStackCircle:
		return "its base leads in a circle"
	case queue.ReasonStackDeep:
		return "too many are below it"
	case queue.ReasonNoPermission:
		return "this needs another permission"
	case queue.ReasonUnknownLane:
		return "there is no such lane"
	case queue.ReasonNoMethod:
		return "it cannot land in that way here"
	case queue.ReasonNotOpen:
		if w.o.Words.Local {
			return "there is no such branch to land"
		}
		return "the pull request is not open"
	case queue.ReasonDraft:
		return "the " + noun + " is a draft"
	case queue.ReasonWrongBase:
		return "it asks for another branch"
	case queue.ReasonNeedsApprove:
		return "an administrator must approve this commit"
	case queue.ReasonNoConfig:
		return "the target branch has no valid configuration"
	case queue.ReasonUnknown:
		return "command not understood"
	case queue.ReasonNotQueued:
		return "it is not in the queue"
	case queue.ReasonHelp:
		return "the commands"
	case queue.ReasonForced:
		return "the target branch was force-pushed"
	case queue.ReasonTooLate:
		return "it was already being pushed"
	case queue.ReasonDelegated:
		return "somebody may land it"
	case queue.ReasonUndelegated:
		return "nobody else may land it"
	case queue.ReasonNowQuota:
		return "too many emergencies in one day"
	case queue.ReasonForgotten:
		return "as much as is remembered has been forgotten lately"
	case queue.ReasonBadUntil:
		return "this is no end of a freeze"
	case queue.ReasonExplain:
		return "why it is where it is"
	case queue.ReasonExplained:
		return "what would become of it"
	case queue.ReasonTrying:
		return "being tried"
	case queue.ReasonTried:
		return "it passes on the target branch"
	case queue.ReasonInQueue:
		return "it is in the queue"
	case queue.ReasonForge:
		return "the " + w.o.Words.host() + " could not be asked"
	}
	return ""
}

// reason returns a reason in words: what is so, and what happens next or what
// a person can do. "" for a code that has no words, which a test rules out.
func (w voice) reason(r queue.Reason) string {
	switch r.Code {
	case queue.ReasonInspecting:
		return "Asking the " + w.o.Words.host() + " about the " + w.o.Words.Noun() + "."
	case queue.ReasonAnalyzing:
		return w.analyzing(r)
	case queue.ReasonUnanalyzed:
		return w.unanalyzed(r)
	case queue.ReasonWaitsResolve:
		return "Its trial merge is being made."
	case queue.ReasonWaitsBuild:
		return "Waits for its builds under way" + w.amount(len(r.Names)) + "."
	case queue.ReasonWaitsTools:
		return "No host has the tools that its steps are verified with. It is built when one has, or when the steps go by those that there are, which happens by itself; " + w.command("submitqueue status") + " says what is wrong with which host."
	case queue.ReasonBenched:
		return "There are fewer runners than usual: " + w.orSome(w.codes(r.Names), "some hosts") + " failed what other hosts passed, so that nothing is built there until a probe passes."
	case queue.ReasonWaitsQuota:
		return w.quota(r.Names)
	case queue.ReasonWaitsAhead:
		return "Waits for " + w.orSome(w.refs(r.Names), "changes") + " ahead of it, which may influence it."
	case queue.ReasonWaitsTrain:
		return "It is proven and lands with the next push."
	case queue.ReasonWaitsMain:
		if len(r.Names) > 0 {
			return "It has passed, but the target branch itself is red" + w.in(r.Names) + ". It waits for a change that repairs it, and lands after that one."
		}
		return "The target branch has commits that the queue did not make; they are being built first."
	case queue.ReasonWaitsUpgrade:
		return "It is proven. The rest of the target branch is being built under a newer version of the analyzer; landings wait for that until " + w.clockText(r.Until) + " at the latest."
	case queue.ReasonWaitsControl:
		return "It has failed" + w.in(r.Names) + ". The same is run on the target branch without it: only if that passes is the failure its own."
	case queue.ReasonPaused:
		if r.Until != 0 {
			return "Landings are frozen until " + w.clockText(r.Until) + w.by(r) + w.because(r.Detail) + " They go on by themselves then; builds go on meanwhile."
		}
		return "Landings are paused" + w.by(r) + w.because(r.Detail) + " " + "They go on after " + w.resume() + "; builds go on meanwhile."
	case queue.ReasonShut:
		return "Landings are paused: the " + w.o.Words.host() + " refuses every push to the target branch" + w.because(r.Detail) +
			" From time to time one change is pushed all the same, and when it gets through, landings go on by themselves; so they do after " + w.resume() + ". Builds go on meanwhile."
	case queue.ReasonRenamed:
		return "The target branch was renamed" + w.renamedTo(r.Names) + ". Everything keeps its place; landings go on when whoever runs the queue serves the new name (" +
			w.command("--branch") + "), or when the branch has its old name again."
	case queue.ReasonLanding:
		return "It is being pushed to the target branch."
	case queue.ReasonLanded:
		return "It has landed."
	}
	if r.Code == queue.ReasonCulprit || r.Code == queue.ReasonBlame {
		return w.blame(r)
	}
	if text := w.planned(r); text != "" {
		return text
	}
	if text := w.reasonEnd(r); text != "" {
		return text
	}
	if text := w.reasonParked(r); text != "" {
		return text
	}
	return w.reasonRefused(r)
}

// reasonEnd has the words for verdicts.
func (w voice) reasonEnd(r queue.Reason) string {
	again := w.land() + " again."
	switch r.Code {
	case queue.ReasonFailed:
		if len(r.Names) > 0 && r.Names[0] == config.Path {
			return "Its " + w.code(config.Path) + " cannot be used. Push a fix (" + w.command("submitqueue validate") + " checks it), then " + again
		}
		return "On the target branch with it, a step failed" + w.in(r.Names) + ". Push a fix, then " + again +
			" If you believe that it failed by chance, " + w.retry() + " runs it again."
	case queue.ReasonMergeConflict:
		if r.Detail != "" {
			return "It cannot be " + w.put(w.method) + w.because(r.Detail) + " Then " + again
		}
		return "It does not merge with the target branch" + w.in(r.Names) + ". " + w.reconcile() + ", then " + again
	case queue.ReasonAlready:
		return "Merging it changes nothing: its content is on the target branch already, or was there and has been reverted. To land it again, revert the revert."
	case queue.ReasonCancelled:
		return "It was taken out of the queue" + w.by(r) + ". To put it back, " + again
	case queue.ReasonPushed:
		if len(r.Names) > 1 && r.Names[0] != "" {
			return "New commits were pushed (" + w.commit(queue.CommitID(r.Names[1])) + "), and an approval is for one commit (" +
				w.commit(queue.CommitID(r.Names[0])) + "). To land the new one, " + again
		}
		if len(r.Names) > 1 && r.Names[1] != "" { // nobody has read at which one it was asked
			return "New commits were pushed (" + w.commit(queue.CommitID(r.Names[1])) + ") since that was asked, and an approval is for one commit. To land the new one, " + again
		}
		return "New commits were pushed, and an approval is for one commit. To land the new one, " + again
	case queue.ReasonClosed:
		if len(r.Names) > 0 && r.Names[0] == "merged" {
			return "It was merged outside the queue."
		}
		if w.o.Words.Local {
			return "The branch was deleted. To land it, push it again, then " + again
		}
		return "The pull request was closed. To land it, reopen it and " + again
	case queue.ReasonRetargeted:
		return "The " + w.o.Words.Noun() + " now asks for another branch" + w.bases(r.Names) + "."
	case queue.ReasonSuperseded:
		return "A newer request to land took its place."
	case queue.ReasonParkedLimit:
		cause := ""
		if len(r.Names) > 0 {
			if h := w.short(queue.ReasonCode(r.Names[0])); h != "" {
				cause = " (" + h + ")"
			}
		}
		return "It was parked for longer than the limit" + cause + ". This is no verdict on the change: when the cause is gone, " + again
	}
	return ""
}

// refused has the words for a change that the forge does not take.
func (w voice) refused(r queue.Reason) string {
	again := ""
	if r.Until != 0 {
		again = " By itself it is tried again at " + w.clockText(r.Until) + ", behind the others."
	}
	return "The " + w.o.Words.host() + " refuses to take its commit" + w.because(r.Detail) + " Others land meanwhile. " +
		"Push what the rule lets pass, or have it lifted, or the permission granted; then " + w.retry() + " tries at once." + again
}

// reasonParked has the words for what is not the author's fault.
func (w voice) reasonParked(r queue.Reason) string {
	switch r.Code {
	case queue.ReasonInfra:
		return "Its builds ended in infrastructure errors, several in a row" + w.last(r.Detail) + ". It is tried again by itself; " +
			w.retry() + " tries at once."
	case queue.ReasonNoRunner:
		return "No runner has what one of its steps asks for" + w.last(r.Detail) + ". It comes back when such a runner is there; an operator can see to it."
	case queue.ReasonNoCheck:
		return "Its builds wait for checks of the CI" + w.last(r.Detail) + ". It is tried again by itself; " + w.retry() + " tries at once."
	case queue.ReasonBuildCap:
		return "The cap on builds for one change is reached" + w.atCount(r.Names) + ". " + w.retry() + " grants it another round."
	case queue.ReasonNoTool:
		return w.unrun(r.Unrun) + " This says nothing of the change, which comes back when the target branch passes."
	case queue.ReasonRedMain:
		return "It fails only where the target branch itself is red" + w.in(r.Names) + "." + w.drifts(r.Drift) + " It comes back when the target branch is green again."
	case queue.ReasonProtected:
		return w.refused(r)
	case queue.ReasonStuck:
		return "Something that the queue does for it failed too often" + w.last(r.Detail) + ". It is tried again by itself; the operator's log says more."
	case queue.ReasonRequirements:
		return w.requirements(r)
	case queue.ReasonParent:
		return w.parent(r.Names)
	}
	return ""
}

// reasonRefused has the words for commands that were not followed.
func (w voice) reasonRefused(r queue.Reason) string {
	land := w.land() + "."
	if w.o.Words.Local {
		switch r.Code {
		case queue.ReasonNotOpen:
			return "There is no such branch any more, or its request has ended. Push the branch, then " + land
		case queue.ReasonNotQueued:
			return "It is not in the queue. " + w.landAgain() + " puts it there."
		case queue.ReasonForge:
			return "The repository could not be read, so nothing was done" + w.last(r.Detail) + ". Please try again in a while."
		case queue.ReasonDelegated:
			return "Somebody else may land it now."
		case queue.ReasonNowQuota:
			return "There have been as many emergencies as one day has room for."
		case queue.ReasonForgotten:
			return "As much as is remembered has been forgotten lately. Forget a whole step instead: submitqueue ledger forget --step NAME."
		case queue.ReasonBadUntil:
			return "This is no end of a freeze. Name a moment of the next 90 days, in UTC: 2h, 18:00 or 2026-12-24 18:00."
		case queue.ReasonHelp:
			return "The commands: submitqueue land, status, cancel, pause, resume."
		}
	}
	switch r.Code {
	case queue.ReasonNoPermission:
		level := "more"
		if len(r.Names) > 1 {
			if who := strings.Fields(r.Names[1]); len(who) > 1 || len(who) == 1 && config.RoleLevel(who[0]) == 0 {
				return w.listed(r, who)
			}
			level = w.code(r.Names[1])
		}
		what := "this"
		if len(r.Names) > 2 {
			what = "the lane " + w.code(r.Names[2])
		}
		return "Sorry" + w.name(r) + ", " + what + " needs the permission " + level + " on the repository. Somebody who has it can comment the same."
	case queue.ReasonUnknownLane:
		text := "There is no such lane"
		if len(r.Names) > 1 {
			text = "There is no lane " + w.code(r.Names[0]) + ". The lanes, the most urgent first: " + w.codes(r.Names[1:])
		}
		return text + "."
	case queue.ReasonNoMethod:
		text := "Changes do not land in that way here"
		if len(r.Names) > 1 {
			text = "Changes do not land by " + w.code(r.Names[0]) + " here. The configuration allows " + w.codes(r.Names[1:])
		}
		return text + "."
	case queue.ReasonNotOpen:
		return "The pull request is not open. Reopen it, then " + land
	case queue.ReasonDraft:
		return "The " + w.o.Words.Noun() + " is a draft. Mark it ready for review, then " + land
	case queue.ReasonWrongBase:
		return "The " + w.o.Words.Noun() + " asks for another branch" + w.bases(r.Names) + ". Change its base, then " + land
	case queue.ReasonStackCircle:
		return w.circle(r.Names)
	case queue.ReasonStackDeep:
		return w.deep()
	case queue.ReasonNeedsApprove:
		return "It changes protected paths" + w.in(r.Names) + ". Before anything of it runs, an administrator of the repository must approve this very commit, or " + land
	case queue.ReasonNoConfig:
		return "The target branch has no configuration that can be used. Add a valid " + w.code(config.Path) + " there (" +
			w.command("submitqueue validate") + " checks it), then " + land + w.quoted(r.Detail)
	case queue.ReasonUnknown:
		text := "This was not understood"
		if len(r.Names) > 0 {
			text += ": " + w.code(r.Names[0])
		}
		if len(r.Names) > 1 && r.Names[1] != "" {
			text += ". Did you mean " + w.code(r.Names[1]) + "?"
			return text + " " + w.helpAt()
		}
		return text + ". " + w.helpAt()
	case queue.ReasonNotQueued:
		return "The pull request is not in the queue. " + w.landAgain() + " puts it there."
	case queue.ReasonHelp:
		return "The commands: /land, /land priority=LANE, /land method=METHOD, /land cancel, /land retry, /land try, /land status, /land help, /queue pause REASON, /queue resume."
	case queue.ReasonForced:
		text := "The target branch was force-pushed"
		if len(r.Names) > 1 {
			text += " from " + w.commit(queue.CommitID(r.Names[0])) + " to " + w.commit(queue.CommitID(r.Names[1]))
		}
		return text + ". Landings go on after " + w.resume() + "."
	case queue.ReasonTooLate:
		return w.tooLate(r.Names)
	case queue.ReasonDelegated:
		return w.delegated(r.Names)
	case queue.ReasonUndelegated:
		if len(r.Names) == 0 {
			return "This was delegated to nobody."
		}
		return "It is not delegated to " + w.codes(r.Names) + " any more."
	case queue.ReasonNowQuota:
		text := "There have been as many emergencies as one day has room for" + w.atCount(r.Names) + "."
		if r.Until != 0 {
			text += " There is room again at " + w.clockText(r.Until) + "."
		}
		return text + " " + w.command("/land") + " lands it in its turn."
	case queue.ReasonForgotten:
		return "As much as is remembered has been forgotten lately. A whole step can be forgotten instead: " + w.command("/queue forget step=NAME") + "."
	case queue.ReasonBadUntil:
		text := "This is no end of a freeze"
		if len(r.Names) > 0 {
			text += ": " + w.code(r.Names[0])
		}
		return text + ". Name a moment of the next 90 days, in UTC: " + w.command("/queue freeze 2h") + ", " + w.command("/queue freeze 18:00") + " or " + w.command("/queue freeze 2026-12-24 18:00") + "."
	case queue.ReasonExplain:
		return "All that is known of it is shown."
	case queue.ReasonExplained:
		return "It is not in the queue; what would become of it there is known."
	case queue.ReasonTrying:
		return "It is built on the target branch as it is, in slots that the queue does not need. It does not land, whatever comes of it."
	case queue.ReasonTried:
		return "It passes on the target branch. Nothing was landed."
	case queue.ReasonInQueue:
		return "It is in the queue already, which builds it and says here what comes of it."
	case queue.ReasonForge:
		return "The forge could not be asked, so nothing was done" + w.last(r.Detail) + ". Please comment again in a while."
	}
	return ""
}

// quota says that as many builds run as a change's quota allows.
func (w voice) quota(names []string) string {
	if len(names) < 3 {
		return "Waits for a build of its quota to end."
	}
	text := "Waits for its quota " + w.code(names[0]) + ": of its changes' builds, " + w.code(names[1]) + " may run at a time"
	if names[2] == string(config.WhenContended) {
		text += " while others wait for a runner"
	}
	return text + "."
}

func (w voice) tooLate(names []string) string {
	switch len(names) {
	case 0:
		return "Too late: it was already being pushed."
	case 1:
		return "Too late: " + w.commit(queue.CommitID(names[0])) + " was already being pushed. To undo it, land a revert."
	}
	return "Too late for this landing: " + w.commit(queue.CommitID(names[0])) + " was already being pushed when " +
		w.commit(queue.CommitID(names[1])) + " came. " + w.newerToo()
}

// newerToo says how what came too late gets in.
func (w voice) newerToo() string {
	if w.o.Words.Local {
		return "For the newer commits, " + w.land() + " once more."
	}
	return "The newer commits need a pull request and a " + w.command("/land") + " of their own."
}

func (w voice) helpAt() string {
	if w.o.Words.Local {
		return w.command("submitqueue --help") + " lists the commands."
	}
	return w.command("/land help") + " lists the commands."
}

// command returns one of our own commands.
func (w voice) command(s string) string {
	if w.plain {
		return s
	}
	return "`" + s + "`"
}

func (w voice) orSome(s, some string) string {
	if s == "" {
		return some
	}
	return s
}

func (w voice) amount(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (%d)", n)
}

func (w voice) by(r queue.Reason) string {
	if len(r.Names) == 0 || r.Names[0] == "" {
		return ""
	}
	return " by " + w.code(r.Names[0])
}

func (w voice) name(r queue.Reason) string {
	if len(r.Names) == 0 || r.Names[0] == "" {
		return ""
	}
	return ", " + w.code(r.Names[0])
}

// because ends a sentence with the reason that a person gave.
func (w voice) because(detail string) string {
	if oneLine(detail, 1) == "" {
		return "."
	}
	return ": " + w.long(detail) + "."
}

func (w voice) in(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + w.codes(names)
}

func (w voice) bases(names []string) string {
	if len(names) < 2 {
		return ""
	}
	return ": " + w.code(names[0]) + ", and this queue lands on " + w.code(names[1])
}

// renamedTo names what a branch was called, and is called.
func (w voice) renamedTo(names []string) string {
	if len(names) < 2 {
		return ""
	}
	return ": from " + w.code(names[0]) + " to " + w.code(names[1])
}

func (w voice) atCount(names []string) string {
	if len(names) == 0 {
		return ""
	}
	n, err := strconv.Atoi(names[0])
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (%d)", n)
}

// last quotes an error in parentheses.
func (w voice) last(detail string) string {
	if oneLine(detail, 1) == "" {
		return ""
	}
	return " (the last: " + w.long(detail) + ")"
}

// quoted adds an error to plain text; in Markdown it has a block of its own.
func (w voice) quoted(detail string) string {
	if !w.plain || oneLine(detail, 1) == "" {
		return ""
	}
	return " What is wrong: " + w.long(detail)
}

func (w voice) long(s string) string {
	if w.plain {
		return oneLine(s, 300)
	}
	return codeSpan(s, 300)
}
