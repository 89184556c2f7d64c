package app

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// troubleAfter is how many attempts of an action may fail before people are told: a
// failure that goes away on its own is no trouble.
const troubleAfter = 2

// trouble tells what keeps failing; the actions that failed most often come first. For
// an action about one pull request, it tells the pull request's number.
func trouble(actions map[string]*queue.Action) []string {
	var failing []*queue.Action
	for _, a := range actions {
		if a.Error != "" && a.Attempt > troubleAfter {
			failing = append(failing, a)
		}
	}
	slices.SortFunc(failing, func(a, b *queue.Action) int {
		return cmp.Or(b.Attempt-a.Attempt, strings.Compare(a.Key, b.Key))
	})
	var out []string
	for _, a := range failing {
		again := ""
		if a.NotBefore != 0 {
			again = "; tried again at " + a.NotBefore.Time().UTC().Format("15:04:05 MST")
		}
		out = append(out, fmt.Sprintf("%s has failed %d times: %s%s", doing(a.Task), a.Attempt-1, texts.ClipLine(a.Error, 300), again))
	}
	return out
}

// doing says in words what a task is for.
func doing(t queue.Task) string {
	switch t := t.(type) {
	case queue.Observe:
		return "reading the branch"
	case queue.Survey:
		return "comparing the branch with what has passed"
	case queue.Watch:
		return "reading what the branch has of what is run again"
	case queue.Inspect:
		if t.Number == 0 {
			return fmt.Sprintf("reading what %s may do", t.User)
		}
		return fmt.Sprintf("reading #%d", t.Number)
	case queue.Attest:
		return fmt.Sprintf("reading what has passed on the head of %s", t.Change)
	case queue.Publish:
		return fmt.Sprintf("writing the comment and the check of #%d", t.Number)
	case queue.Trace:
		return "looking back along the branch for what turned it red"
	case queue.Weigh:
		return "looking for what came after what turned the branch red"
	case queue.Propose:
		return fmt.Sprintf("proposing the revert of %.12s", t.Commit)
	case queue.Tell:
		return "writing the check of the branch"
	case queue.React:
		return fmt.Sprintf("acknowledging a command on #%d", t.Number)
	case queue.Resolve, queue.Meet, queue.Analyze:
		return "merging and analyzing changes"
	case queue.Run:
		return "starting a build"
	case queue.ProbeHost:
		return "probing host " + texts.ClipLine(t.Host, 80)
	case queue.Stop:
		return "stopping a build"
	case queue.MoveHeads:
		return "moving source branches to what lands"
	case queue.SeeHeads:
		return "looking whether the forge has taken note of moved branches"
	case queue.ReturnHeads:
		return "putting source branches back"
	case queue.Land:
		return "pushing to the branch"
	}
	return queue.TaskName(t)
}
