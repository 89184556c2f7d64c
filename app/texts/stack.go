package texts

import (
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// OnTop returns what a change is on top of, in plain text: a sentence, and ""
// where that is nothing, or nothing any more.
func (w Words) OnTop(c queue.Change) string { return w.plain(c).onTop(c) }

func (w voice) onTop(c queue.Change) string {
	if c.Parent == 0 {
		return ""
	}
	return "It is on top of " + w.numbered(strconv.Itoa(c.Parent)) + ": it lands after that one, and not without it."
}

// parent says what became of that which a change is on top of, and what brings
// the change back.
func (w voice) parent(names []string) string {
	if len(names) == 0 {
		return "What it is on top of is not in the queue. It comes back by itself with that."
	}
	low := w.numbered(names[0])
	text := "It is on top of " + low + ", which is not in the queue"
	if len(names) > 2 {
		why := w.short(queue.ReasonCode(names[2]))
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
func (w voice) circle(names []string) string {
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

func (w voice) deep() string {
	return "There are more than " + strconv.Itoa(queue.MaxStack) + " changes below it, and a stack may not be higher. Land those first, then " + w.land() + "."
}

// numbered names a pull request of which nobody knows whether it has a change.
func (w voice) numbered(number string) string {
	if w.pull == "" && number != "" && strings.Trim(number, "0123456789") == "" && len(number) <= 10 {
		return "#" + number
	}
	return w.ref(number)
}
