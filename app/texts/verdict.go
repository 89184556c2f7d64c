package texts

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// forOthers says how many of the verified keys had passed in builds made for something else, or
// on heads.
func forOthers(w Words, v *queue.Verdict) string {
	heads := ", %d of them by the CI of " + w.Noun() + "s on their own heads"
	switch {
	case v.Heads == v.Keys:
		return ", by the CI of " + w.Noun() + "s on their own heads, and in no build of the queue"
	case v.Heads > 0 && v.Reused > 0:
		return fmt.Sprintf(heads+", %d in builds made for something else", v.Heads, v.Reused)
	case v.Heads > 0:
		return fmt.Sprintf(heads, v.Heads)
	case v.Reused == 0:
		return ", in builds of this change"
	case v.Reused == v.Keys:
		return ", in builds made for something else"
	}
	return fmt.Sprintf(", %d of them in builds made for something else", v.Reused)
}

// proof says which passes have proven a landed change.
func (w voice) proof(v *queue.Verdict) string {
	if v == nil {
		return "It was found on " + w.main() + "."
	}
	var lines []string
	switch {
	case v.Unproven:
		return w.fill("⚠️ **Not proven:** the {host} has merged this onto another commit of {main} than it was proven on, because somebody else had pushed there right before, or the queue had given the landing up. " +
			"{Main} itself is verified now, as after every push of others.")
	case v.Tested && v.Reused+v.Heads > 0:
		lines = append(lines, fmt.Sprintf("**Proof:** this very commit was tested; of its %s, %d had passed before, at exactly the same content, and did not run again.", counted(v.Keys, "check", "checks"), v.Reused+v.Heads))
	case v.Tested && v.Keys > 0:
		lines = append(lines, fmt.Sprintf("**Proof:** this very commit was tested; %s passed.", allOf(v.Keys)))
	case v.Tested:
		lines = append(lines, "**Proof:** this very commit was tested.")
	case v.Keys > 0:
		lines = append(lines, fmt.Sprintf("**Proof:** %s (a step on a target) had passed on other commits at exactly this content%s.", allOf(v.Keys), forOthers(w.o.Words, v)))
	default:
		lines = append(lines, "**Proof:** it adds nothing that a step would have to verify anew.")
	}
	if len(v.Between) > 0 {
		ids := make([]string, len(v.Between))
		for i, id := range v.Between {
			ids[i] = string(id)
		}
		lines = append(lines, "- "+w.refs(ids)+" landed after its build; nothing verified depends on "+pick(len(ids), "it", "them")+".")
	}
	if len(v.Together) > 0 {
		lines = append(lines, "- "+w.landedWith(v.Together))
	}
	if v.Attempts > 1 {
		lines = append(lines, fmt.Sprintf("- A step passed only on attempt %d: it may be flaky.", v.Attempts))
	}
	if len(v.Excused) > 0 {
		lines = append(lines, "- ⚠️ In quarantine, and did not count: "+w.codes(v.Excused)+" failed.")
	}
	if v.Overtook > 0 {
		lines = append(lines, fmt.Sprintf("- It overtook %s in conflict with it that had arrived earlier.", counted(v.Overtook, "change", "changes")))
	}
	if len(v.Bypassed) > 0 {
		ids := make([]string, len(v.Bypassed))
		for i, id := range v.Bypassed {
			ids[i] = string(id)
		}
		lines = append(lines, "- Still undecided ahead of it: "+w.refs(ids)+". It passes whether they land or not, so it did not wait for them.")
	}
	if v.MainRed > 0 {
		lines = append(lines, "- ⚠️ "+w.mainFirst()+" itself had "+counted(v.MainRed, "check", "checks")+" unproven or red at that moment; this change adds none.")
	}
	if len(lines) > 1 {
		lines[0] += "\n"
	}
	return strings.Join(lines, "\n")
}

func allOf(n int) string {
	if n == 1 {
		return "its one check"
	}
	return fmt.Sprintf("all %d checks", n)
}

// failures shows what failed, a block for each: where it ran, how often, and
// the last lines of its log.
func (w voice) failures(c queue.Change) []string {
	v := c.Verdict
	var out []string
	if len(v.Failures) == 0 {
		return out
	}
	lines := max(mostTail/len(v.Failures), leastTail)
	for i, f := range v.Failures {
		if i == mostAhead {
			out = append(out, fmt.Sprintf("And %d more.", len(v.Failures)-i))
			break
		}
		out = append(out, w.failure(c, f, lines))
	}
	return out
}

func (w voice) failure(c queue.Change, f queue.Evidence, lines int) string {
	text := ""
	switch {
	case f.Step == config.Path: // a step of the queue's own, which no configuration has
		text = "What is wrong with it"
	default:
		text = "**" + w.code(f.Step) + "** " + w.how(f) + w.partners(f)
		if f.Run != "" {
			text += ". It runs " + codeSpan(f.Run, mostCommand)
		}
		text += w.ranOn(c, f) + w.passedOnMain(f) + w.pages(f.Pages)
	}
	tail := f.Output()
	if strings.TrimSpace(tail) == "" {
		return text + "; it left no output."
	}
	return text + ":\n\n" + fenced(tail, lines, tailColumns)
}

// mostCommand is how much of a step's command is shown.
const mostCommand = 120

// how says how a step ended, on which targets, and how often.
func (w voice) how(f queue.Evidence) string {
	text := "failed"
	if f.Timeout {
		text = "ran out of time"
	}
	if !onWholeTree(f) {
		text += " on " + w.codes(f.Targets)
	}
	switch {
	case f.Runs > 0 && len(f.Targets) == 1:
		text += fmt.Sprintf(", which is new with this change, in %d of the %d runs that have to pass", f.Fails, f.Runs)
	case f.Runs > 0:
		text += fmt.Sprintf(", which are new with this change, in %d of the %d runs that have to pass", f.Fails, f.Runs)
	case f.Attempts > 1:
		text += fmt.Sprintf(" in each of %d builds", f.Attempts)
	}
	return text
}

// FailureTitle says in one line of plain text what failed and how.
func FailureTitle(f queue.Evidence) string {
	if f.Step == config.Path {
		return config.Path + " cannot be used"
	}
	return OneLine(f.Step, 60) + " " + OneLine(Words{}.plain(queue.Change{}).how(f), 180)
}

func onWholeTree(f queue.Evidence) bool {
	return len(f.Targets) == 0 || len(f.Targets) == 1 && f.Targets[0] == config.TargetTree
}

// ranOn says which build showed a failure, and on which commit. The queue made that
// commit for the build, so the text also names the changes in it.
func (w voice) ranOn(c queue.Change, f queue.Evidence) string {
	if f.Build == "" {
		return ""
	}
	text := ". The "
	if f.Attempts > 1 {
		text = ". The last "
	}
	text += "build was " + w.code(short(f.Build)) + w.logOf(f.Build)
	r := f.Ran
	if r.Commit == "" {
		return text
	}
	if r.Change == "" && r.Main == r.Commit {
		return text + " of " + w.commit(r.Commit) + ", which is " + w.main() + " itself"
	}
	text += " of the trial merge " + w.code(short(r.Commit)) + ", which is "
	switch {
	case r.Change == c.ID:
		text += "this commit"
	case r.Change == "":
		return text + w.main() + " itself"
	default:
		text += w.ref(string(r.Change)) + ", the same to this step,"
	}
	text += " merged onto " + w.main()
	if r.Main != "" {
		text += " at " + w.commit(r.Main)
	}
	if len(r.Chain) > 0 {
		ids := make([]string, len(r.Chain))
		for i, id := range r.Chain {
			ids[i] = string(id)
		}
		text += " with " + w.refs(ids)
	}
	return text
}

// logOf links to the log of a build.
func (w quote) logOf(id queue.BuildID) string {
	if w.o.BaseURL == "" {
		return ""
	}
	return " (" + w.link("log", strings.TrimSuffix(w.o.BaseURL, "/")+LogPath(string(id))) + ")"
}

// mostPages is how many pages of a failed step are linked.
const mostPages = 5

// pages links to where a step ran, at the CI.
func (w quote) pages(list []queue.Page) string {
	var out []string
	for _, p := range list {
		if safeLink(p.URL) != "" && len(out) < mostPages && !w.plain {
			out = append(out, w.link(w.code(p.Name), p.URL))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return ". See " + strings.Join(out, ", ")
}

// LogPath is where the server shows the log of a build.
func LogPath(build string) string { return "/log?build=" + url.QueryEscape(build) }

func short[T ~string](id T) string { return string(id[:min(len(id), 10)]) }
