package texts

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// mostMainTail is how many lines of a culprit's log the check on the target branch shows.
const mostMainTail = 30

// MainCheck returns the check of the target branch's tip: its state as
// forge.CheckState names it, a title in plain text, and a summary in Markdown.
func MainCheck(v queue.QueueView, o Options) (state, title, summary string) {
	w, plain := voiceOf(o), o.plain()
	if len(v.Red) == 0 {
		return "success", "Proven", "Everything that is verified on " + w.code(v.Main.Branch) + " passes again.\n"
	}
	title = "Red: " + strings.Join(v.Red[:min(len(v.Red), 3)], ", ")
	if len(v.Red) > 3 {
		title += fmt.Sprintf(" and %d more", len(v.Red)-3)
	}
	blocks := []string{"These fail without any change of the queue: " + w.codes(v.Red) + "."}
	if len(v.Blame.Culprits) > 0 || len(v.Blame.Names) > 0 {
		blocks = append(blocks, w.blame(v.Blame))
	}
	if len(v.Blame.Culprits) > 0 {
		title = "Red since " + plain.commit(v.Blame.Culprits[0].Commit) + title[len("Red"):]
	}
	for _, d := range v.Main.Drift {
		blocks = append(blocks, w.drift(d)+".")
	}
	for _, x := range v.Blame.Culprits {
		if tail := strings.TrimSpace(x.Failed.Tail); tail != "" {
			blocks = append(blocks, fenced(x.Failed.Tail, mostMainTail, tailColumns))
		}
	}
	return "failure", OneLine(title, maxCheckTitle), strings.Join(blocks, "\n\n") + "\n"
}

// RevertTitle is the title of the pull request that takes a culprit back.
func RevertTitle(x queue.Culprit) string {
	subject := ClipLine(x.Subject, 150)
	if subject == "" {
		subject = string(x.Commit[:min(len(x.Commit), 12)])
	}
	return fmt.Sprintf("Revert %q", subject)
}

// Revert is the description of such a pull request, as Markdown.
func Revert(x queue.Culprit, o Options) string {
	w := voiceOf(o)
	blocks := []string{"This takes back " + w.commit(x.Commit) + ". " + w.culprit(x),
		"The queue has built this revert on " + w.main() + " as it was: the red tests pass with it."}
	if strings.TrimSpace(x.Failed.Tail) != "" {
		blocks = append(blocks, fenced(x.Failed.Tail, mostMainTail, tailColumns))
	}
	return strings.Join(blocks, "\n\n") + "\n"
}

// revertNote says, in a line of the history, what came of reverting a culprit.
func revertNote(v voice, n queue.Note) (what, more string) {
	more = v.commit(n.Commit)
	switch strings.TrimPrefix(n.What, "revert-") {
	case string(queue.RevertProven):
		return "A revert is proven", more
	case string(queue.RevertFails):
		return "A revert does not make " + v.main() + " green", more + v.in(n.Reason.Names)
	case string(queue.RevertConflict):
		return "A revert does not merge", more + v.in(n.Reason.Names)
	case string(queue.RevertEmpty):
		return "There is nothing to revert", more + " is not on " + v.main() + " any more"
	case string(queue.RevertUnknown):
		return "A revert could not be built", more
	}
	return "A revert is proposed", more + " is taken back by " + v.ref(fmt.Sprint(n.Number))
}
