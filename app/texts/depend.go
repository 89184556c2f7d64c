package texts

import (
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// dependency says where the pull request stands that a description depends on, and what to do.
func (w voice) dependency(q queue.Requirement) string {
	if len(q.Names) < 2 {
		return w.fill("It depends on another {noun}, which has not landed.")
	}
	that, how := w.pullRef(q.Names[0]), q.Names[1]
	const line = "or take the line that names it out of the description."
	text := "It depends on " + that
	switch how {
	case queue.DependsMany:
		return "Its description depends on more than " + strconv.Itoa(queue.MaxDepends) + " others, which are not followed. Name fewer."
	case queue.DependsBlocks:
		if q.Names[0] == "" {
			that = w.fill("another {noun}")
		}
		return w.fill("On its page, the {noun} is set to be merged after ") + that + ", which has not been merged. Land that first, or take the dependency out there."
	case queue.DependsQueued:
		return text + ", which is in its queue, and lands after that."
	case queue.DependsOpen:
		return text + ", which nobody has asked to land: " + w.land() + " there, " + line
	case queue.DependsLeft:
		return text + ", which has left its queue without landing: mend it and " + w.land() + " there, " + line
	case queue.DependsClosed:
		return text + ", which was closed without landing. Have it opened and landed, " + line
	case queue.DependsMissing:
		return text + w.fill(", and there is no such {noun}. Put the number right, ") + line
	case queue.DependsElsewhere:
		return text + ", whose repository has no queue here that this one may ask. Land that first, then take the line that names it out of the description."
	case queue.DependsCircle:
		way := make([]string, 0, len(q.Names))
		for i, n := range q.Names[2:] {
			if i == mostAhead {
				way = append(way, "…")
				break
			}
			way = append(way, w.pullRef(n))
		}
		return text + ", which waits for this one in turn (" + strings.Join(append(way, "this one"), " → ") + "): none of them can land. Take the line that names the next out of the description of one of them."
	}
	return text + ", which has not landed."
}

// pullRef names a pull request, with a link where it is in the same repository.
func (w quote) pullRef(s string) string {
	if ref, ok := queue.ParsePullRef(s); ok && ref.Repository == "" {
		return w.numbered(strconv.Itoa(ref.Number))
	}
	return w.code(s)
}
