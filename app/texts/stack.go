package texts

import (
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
)

// OnTop returns what a change is on top of, as a sentence of plain text; "" where it is
// on top of nothing, or no longer of anything.
func (w Words) OnTop(c queue.Change) string { return w.plain(c).onTop(c) }

func (w quote) onTop(c queue.Change) string {
	switch {
	case c.Parent != 0 && c.Pinned():
		return "It is on top of " + w.numbered(strconv.Itoa(c.Parent)) + ", in GitHub's stack " + strconv.Itoa(c.Stack) + w.fill(": it lands after that one, once GitHub has moved it to {main}.")
	case c.Parent != 0:
		return "It is on top of " + w.numbered(strconv.Itoa(c.Parent)) + ": it lands after that one, and not without it."
	}
	return ""
}

// parent says what became of the pull request that a change is on top of, and what
// brings the change back.
func parent(w voice, r queue.Reason) string {
	names := r.Names
	if len(names) == 0 {
		return w.fill("The {noun} below it is not in the queue. It comes back by itself with that one.")
	}
	low := w.numbered(names[0])
	text := "It is on top of " + low + ", which is not in the queue"
	if len(names) > 2 {
		why := w.title(queue.ReasonCode(names[2]))
		if why != "" {
			why = " (" + why + ")"
		}
		switch queue.Phase(names[1]) {
		case queue.Parked:
			return "It is on top of " + low + ", which is parked" + why + ". It comes back by itself with that one."
		case queue.Rejected:
			text = "It is on top of " + low + ", which was rejected" + why
		default:
			text = "It is on top of " + low + ", which left the queue" + why
		}
	}
	return text + ". It comes back by itself when " + low + " is in the queue: " + w.land() + " there."
}

// circle says that the bases of pull requests have no end.
func circle(w voice, r queue.Reason) string {
	names := r.Names
	way := "each is on top of the next"
	for i, n := range names {
		if i == 0 {
			way = w.numbered(n)
		} else if i <= mostAhead || i == len(names)-1 {
			way += " → " + w.numbered(n)
		} else if i == mostAhead+1 {
			way += " → …"
		}
	}
	return "Its base leads in a circle: " + way + ". Change the base of one of them, then " + w.land() + "."
}

func deep(w voice, _ queue.Reason) string {
	return "There are more than " + strconv.Itoa(queue.MaxStack) + " changes below it, and a stack may not be higher. Land those first, then " + w.land() + "."
}
