package texts

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Words are the terms for changes that fit the forge that they come from. The zero
// Words are those of forges with pull requests and comments.
type Words struct {
	Local  bool   // a plain repository: branches, and commands on the command line
	Branch string // the queue's target branch; "": a text for several queues, or for none
	Mark   string // stands before the number of a change, like GitLab's "!"; "": "#"
}

// Of returns the words of a queue, by its target branch and the mark that its forge
// writes before the number of a change.
func (w Words) Of(branch, mark string) Words {
	w.Branch, w.Mark = branch, mark
	return w
}

// Numbered returns the number of a change as its forge writes it.
func (w Words) Numbered(n int) string { return w.mark() + strconv.Itoa(n) }

func (w Words) mark() string { return cmp.Or(w.Mark, "#") }

// Noun returns the noun for the thing that people ask to land.
func (w Words) Noun() string {
	if w.Local {
		return "branch"
	}
	if w.Mark == "!" { // as GitLab writes them
		return "merge request"
	}
	return "pull request"
}

// host returns the noun for the server of the repository.
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
	return "Comment /land on a " + w.Noun() + " to put it here."
}

// Resume returns how to let landings go on, in plain text: a sentence.
func (w Words) Resume() string {
	if w.Local {
		return "They go on after submitqueue resume."
	}
	return "They go on after the comment /queue resume by a maintainer."
}

// Forecast returns when a verdict is expected, as text after "verdict: "; "" where that
// is not known.
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

// overdueText says that the verdict is later than forecast.
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
	text := OneLine(f.Step, 100) + " " + v.how(f)
	if f.Run != "" {
		text += ". It runs " + OneLine(f.Run, mostCommand)
	}
	return text + v.ranOn(c, f)
}

// oldWhy returns the sentence of a build with its changes named by their numbers.
func oldWhy(sentence string) string {
	return regexp.MustCompile(`\b([1-9][0-9]{0,9})\.[0-9a-f]{8}\b`).ReplaceAllString(OneLine(sentence, 300), "#$1")
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

// landBy is land for a change that is to land by a method.
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

// branchArgument is the branch as an argument of a shell command, where it needs no
// quoting. Else the command, when it is copied, could run code from a branch's name.
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
