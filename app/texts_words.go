package app

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Words are how a change is spoken of where it comes from. The zero Words are
// those of forges with pull requests and comments.
type Words struct {
	Local bool // a plain repository: branches, and commands on the command line
}

// Noun returns what is asked to land.
func (w Words) Noun() string {
	if w.Local {
		return "branch"
	}
	return "pull request"
}

// Host returns what answers for the repository.
func (w Words) host() string {
	if w.Local {
		return "repository"
	}
	return "forge"
}

// Land returns how to ask for landing, in plain text: it begins a sentence.
func (w Words) Land() string {
	if w.Local {
		return "Run submitqueue land BRANCH to put it here."
	}
	return "Comment /land on a pull request to put it here."
}

// Resume returns how to let landings go on, in plain text: a sentence.
func (w Words) Resume() string {
	if w.Local {
		return "They go on after submitqueue resume."
	}
	return "They go on after the comment /queue resume by a maintainer."
}

// Reason returns a reason of a change in words, as one line of plain text. It
// may quote hostile text: whoever shows it escapes it.
func (w Words) Reason(c queue.Change, r queue.Reason) string {
	return w.plain(c).reason(r)
}

// Short returns a reason in a few words, as plain text. It quotes only the names
// of steps, which are words.
func (w Words) Short(c queue.Change, r queue.Reason) string {
	v := w.plain(c)
	switch {
	case r.Code == queue.ReasonFailed && len(r.Names) > 0:
		return v.failedIn(r)
	case r.Code == queue.ReasonWaitsAhead && len(r.Names) > 2:
		return fmt.Sprintf("waits for %s and %d more ahead", v.ref(r.Names[0]), len(r.Names)-1)
	case r.Code == queue.ReasonWaitsMain && len(r.Names) > 0:
		return "waits for a repair of the red target branch"
	case r.Code == queue.ReasonWaitsAhead && len(r.Names) > 0:
		return "waits for " + v.refs(r.Names) + " ahead"
	case r.Code == queue.ReasonWaitsShared && len(r.Names) > 0:
		return "builds of " + v.refs(r.Names[:min(len(r.Names), 2)]) + " verify it"
	case r.Code == queue.ReasonWaitsTime && len(r.Names) > 0:
		return "its build is not due before " + v.ref(r.Names[0]) + " is nearly decided"
	case r.Code == queue.ReasonWaitsKnown && len(r.Names) > 0 && r.Names[0] != queue.KnownPassed:
		return "has not passed on its likeliest future"
	case r.Code == queue.ReasonWaitsQuota && len(r.Names) > 0:
		return "the quota " + v.code(r.Names[0]) + " is used up"
	case r.Code == queue.ReasonRequirements:
		return v.lacks(r)
	case r.Code == queue.ReasonParent && len(r.Names) > 0:
		return "waits for " + v.numbered(r.Names[0]) + ", which it is on top of"
	case r.Code == queue.ReasonMergeConflict && r.Detail != "":
		return "cannot be " + v.put(v.method) + ": " + v.long(r.Detail)
	case r.Code == queue.ReasonMergeConflict && len(r.Names) > 0:
		return "does not merge: " + v.codes(r.Names)
	}
	return v.short(r.Code)
}

func (w Words) plain(c queue.Change) voice {
	return voice{o: TextOptions{Words: w}, plain: true, branch: c.Branch, number: c.Number, method: c.Method}
}

// Forecast returns when a verdict is expected, as it stands behind "verdict: ", and ""
// where nobody knows.
func (w Words) Forecast(f queue.Forecast, now queue.Instant) string {
	if f.Late == 0 {
		return ""
	}
	if f.Late < now {
		return overdueText(f)
	}
	early, late := max(f.Early.Sub(now), 0), f.Late.Sub(now)
	to := durationText(late)
	if early < late/4 || early < 10*time.Second {
		return "within " + to
	}
	from := durationText(early)
	if from == to {
		return "in about " + to
	}
	if n, unit, ok := strings.Cut(from, " "); ok && strings.HasSuffix(to, " "+unit) {
		from = n
	}
	return "in " + from + " to " + to
}

// overdueText says that what was foreseen has not come.
func overdueText(f queue.Forecast) string {
	if f.Usual == 0 {
		return "later than foreseen"
	}
	return "longer than the usual " + durationText(f.Usual)
}

// durationText returns a duration to one digit or two: "20 s", "3 min", "2.5 h".
func durationText(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%d s", max((d+time.Second-1)/time.Second, 1))
	case d < 55*time.Second:
		return fmt.Sprintf("%d s", (d+5*time.Second-1)/(5*time.Second)*5)
	case d < 58*time.Minute:
		return fmt.Sprintf("%d min", max((d+30*time.Second)/time.Minute, 1))
	case d < 10*time.Hour:
		return strings.Replace(fmt.Sprintf("%.1f h", d.Hours()), ".0 h", " h", 1)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", (d+30*time.Minute)/time.Hour)
	}
	return fmt.Sprintf("%d days", (d+12*time.Hour)/(24*time.Hour))
}

// Failure returns where a failure showed, in words, as plain text.
func (w Words) Failure(c queue.Change, f queue.Evidence) string {
	v := w.plain(c)
	if f.Step == config.Path {
		return "its " + config.Path + " cannot be used"
	}
	text := oneLine(f.Step, 100) + " " + v.how(f)
	if f.Run != "" {
		text += ". It runs " + oneLine(f.Run, mostCommand)
	}
	return text + v.ranOn(c, f)
}

// Note returns a line of the history in words: what happened, and what there is
// to say of it. Both are plain text; the second may quote hostile text.
func (w Words) Note(c queue.Change, n queue.Note) (what, more string) {
	v := w.plain(c)
	detail := oneLine(n.Reason.Detail, 300)
	switch n.What {
	case "entered":
		return "Asked to land", ""
	case "now":
		return "Emergency: put before all others", strings.TrimPrefix(v.by(n.Reason)+": "+detail, " ")
	case "frozen":
		return "Landings frozen until " + n.Reason.Until.Time().Format("2 Jan 15:04 UTC"), strings.TrimPrefix(strings.TrimSuffix(v.by(n.Reason)+": "+detail, ": "), " ")
	case "forgot":
		if len(n.Reason.Names) > 1 {
			return "Passes forgotten: " + oneLine(n.Reason.Names[1], 200), "by " + v.code(n.Reason.Names[0]) + "; what rests on them is verified again"
		}
		return "Passes forgotten", ""
	case "delegated":
		if len(n.Reason.Names) > 1 {
			return "Delegated to " + v.code(n.Reason.Names[0]), "by " + v.code(n.Reason.Names[1])
		}
		return "Delegated", ""
	case "undelegated":
		return "Not delegated any more", v.codes(n.Reason.Names)
	case "try":
		return "Asked to try, and not to land", strings.TrimPrefix(v.by(n.Reason), " ")
	case "explained":
		return "Explained", "what would become of it, without being asked to land"
	case "tried":
		return "Tried", w.Short(c, n.Reason)
	case "moved":
		if len(n.Reason.Names) < 2 {
			return "Put into another lane", ""
		}
		return "Put into the lane " + v.code(n.Reason.Names[1]), strings.TrimPrefix(v.by(n.Reason), " ")
	case "analyzed":
		return "Analyzed", "what it touches is known"
	case "rollup":
		return "Joined with others", "built together, and to land in one merge: " + v.refs(n.Reason.Names)
	case "build-asked":
		return "Build asked for", w.Why(n.Worth, n.Reason.Detail)
	case "build-passed":
		return "Build passed", detail
	case "build-stopped":
		return "Build stopped", orElse(strings.TrimPrefix(detail, "cancelled"), "nobody needs its result any more")
	case "build-infrastructure":
		return "Build brought no result", detail
	case "step-failed", "step-timeout":
		return v.stepNote(n)
	case "parked":
		return "Parked", v.reason(n.Reason)
	case "returned":
		return "Back in the queue", ""
	case "landed":
		return "Landed", ""
	case "rejected":
		return "Rejected", w.Short(c, n.Reason)
	case "cancelled":
		return "Taken out of the queue", w.Short(c, n.Reason)
	case "nothing-to-land":
		return "Nothing to land", w.Short(c, n.Reason)
	case "paused":
		return "Landings paused", strings.TrimPrefix(v.by(n.Reason)+": "+detail, " ")
	case "resumed":
		return "Landings resumed", strings.TrimPrefix(v.by(n.Reason), " ")
	case "forced":
		return "The target branch was force-pushed", ""
	case "outside":
		return "The target branch got commits that the queue did not make", ""
	case "main-proven":
		return "The target branch is proven", ""
	case "main-red":
		return "The target branch is red", strings.TrimPrefix(v.in(n.Reason.Names), ": ")
	case "culprit":
		return "It was found who turned the target branch red", v.culpritNote(n)
	case "acquitted":
		return "It passes after all what had failed on it", v.culpritNote(n)
	case "revert-proven", "revert-fails", "revert-conflict", "revert-empty", "revert-unknown", "revert-proposed":
		return v.revertNote(n)
	case "hunt-over":
		return "The search for who turned the target branch red is over", huntEnd(n.Reason.Names)
	case "drift", "drift-over":
		return v.driftNote(n)
	case "host-benched", "host-back":
		return v.hostNote(n)
	case "upgrade-begun", "upgrade-unknown", "upgraded", "analyzer":
		return upgradeNote(n)
	case "away":
		return "The repository is out of reach", detail
	case "renamed":
		return "The target branch was renamed", strings.TrimPrefix(v.renamedTo(n.Reason.Names), ": ")
	case "back":
		return "The repository is within reach again", ""
	case "refused":
		return "The " + w.host() + " refused the push", detail
	case "lost-race":
		return "The target branch moved during the push", "it is tried again"
	case "command-refused":
		return "A command was not followed", v.reason(n.Reason)
	}
	text := strings.ReplaceAll(oneLine(n.What, 40), "-", " ")
	if text == "" {
		return "Something happened", detail
	}
	return strings.ToUpper(text[:1]) + text[1:], orElse(v.reason(n.Reason), detail)
}

// oldWhy returns the sentence of a build with its changes named as people know them.
func (w Words) oldWhy(sentence string) string {
	return regexp.MustCompile(`\b([1-9][0-9]{0,9})\.[0-9a-f]{8}\b`).ReplaceAllString(oneLine(sentence, 300), "#$1")
}

func (w voice) stepNote(n queue.Note) (what, more string) {
	how := " failed"
	if n.What == "step-timeout" {
		how = " ran out of time"
	}
	if len(n.Reason.Names) == 0 {
		return "A step" + how, ""
	}
	what = "Step " + w.code(n.Reason.Names[0]) + how
	if targets := n.Reason.Names[1:]; len(targets) > 0 {
		more = "on " + w.codes(targets)
	}
	return what, more
}

func orElse(s, otherwise string) string {
	if strings.TrimSpace(s) == "" {
		return otherwise
	}
	return strings.TrimSpace(s)
}

// landAgain returns the command that asks once more.
func (w voice) landAgain() string {
	if w.o.Words.Local {
		return w.command("submitqueue land " + w.branchArgument())
	}
	return w.command("/land")
}

// land begins "comment /land" or "run submitqueue land x".
func (w voice) land() string {
	if w.o.Words.Local {
		return "run " + w.landAgain()
	}
	return "comment " + w.landAgain()
}

// landBy is land for what is to land by a method.
func (w voice) landBy(m config.Method) string {
	if m == w.o.Method || w.o.Words.Local {
		return w.land()
	}
	return "comment " + w.command("/land method="+string(cmp.Or(m, config.MethodMerge)))
}

// retry returns the command that runs failures again.
func (w voice) retry() string {
	if w.o.Words.Local {
		return w.command("submitqueue land " + w.branchArgument() + " --retry")
	}
	return w.command("/land retry")
}

// resume is who says what to let landings go on, as it follows "after".
func (w voice) resume() string {
	if w.o.Words.Local {
		return w.command("submitqueue resume")
	}
	return w.command("/queue resume") + " by a maintainer"
}

// branchArgument is the branch as an argument of a shell command, where it is
// one as it stands: whoever copies a command must not run what a branch's name says.
func (w voice) branchArgument() string {
	if w.branch == "" || strings.HasPrefix(w.branch, "-") || len(w.branch) > 100 || strings.ContainsFunc(w.branch, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("-_./", r)
	}) {
		return "BRANCH"
	}
	return w.branch
}

func (w voice) numberArgument() string {
	if w.number == 0 {
		return "NUMBER"
	}
	return fmt.Sprint(w.number)
}
