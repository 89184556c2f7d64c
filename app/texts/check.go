package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// maxCheckTitle is how many characters a check's title may have.
const maxCheckTitle = 100

// Check returns the check of a pull request: its state as forge.CheckState
// names it, a title in plain text, and a summary in Markdown.
//
// Forges count "neutral" as passed, so it is used only where the merge changes nothing;
// a parked change stays queued, and a refused one is cancelled.
func Check(v queue.View, o Options) (state, title, summary string) {
	w := newVoice(v, o)
	short := w
	short.plain = true
	_, title = short.headline(v)
	if line := failingLine(v.Change); line != "" {
		title += ": " + line
	}
	icon, headline := w.headline(v)
	blocks := append([]string{"### " + icon + " " + headline}, w.body(v)...)
	if page := w.changePage(string(v.Change.ID)); page != "" {
		blocks = append(blocks, w.link("Details", page))
	}
	if about := w.about(v); about != "" {
		blocks = append(blocks, about)
	}
	return checkState(v), OneLine(title, maxCheckTitle), strings.Join(blocks, "\n\n") + "\n"
}

func checkState(v queue.View) string {
	switch v.Change.Phase {
	case queue.Trying, queue.Tried:
		return tryCheck(v)
	case queue.Analyzing, queue.Parked:
		return "queued"
	case queue.Pending:
		if len(v.Builds) > 0 {
			return "in_progress"
		}
		return "queued"
	case queue.Landing:
		return "in_progress"
	case queue.Landed:
		return "success"
	case queue.Rejected:
		return "failure"
	case queue.NothingToLand:
		return "neutral"
	}
	return "cancelled"
}
