package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// What the boxes say.
const (
	boxQueue = "Check this box to queue it"
	boxOut   = "Clear this box to take it out"
	boxAgain = "Check this box to run what failed again"
)

// comment returns the bot's comment on a pull request.
func (h *hub) comment(n int) (id int64, body string) {
	h.Helper()
	for _, c := range h.Comments(n) {
		if c.Author == h.github.Bot() {
			return c.ID, c.Body
		}
	}
	h.Fatalf("#%d: no comment of the bot", n)
	return 0, ""
}

// helped pauses the queue and has the bot say something on a pull request.
func (h *hub) helped(n int) {
	h.Helper()
	h.paused(n)
	h.Comment("ann", n, "/land help")
	h.says(n, "How to use the queue")
	h.quiet()
}

// toggle waits until the comment has a box, all is said, and clicks it.
func (h *hub) toggle(user string, n int, label string) {
	h.Helper()
	h.says(n, label)
	h.quiet()
	id, _ := h.comment(n)
	if !h.Toggle(user, id, label) {
		h.Fatalf("#%d: GitHub does not let %s click %q", n, user, label)
	}
}

func TestBoxOfTheComment(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.helped(n)
	h.toggle("bob", n, boxQueue)
	h.says(n, "- [x] In the queue. "+boxOut, "asked for by `bob`")
	h.toggle("ann", n, boxOut)
	h.says(n, "Out of the queue: taken out by command", "by `ann`", "- [ ] "+boxQueue)
	h.push("ann", "topic", map[string]string{"a": "a, better\n"})
	h.toggle("bob", n, boxQueue)
	h.says(n, "- [x] In the queue")
	h.Comment("max", n, "/queue resume")
	h.landed(n)
	if _, body := h.comment(n); strings.Contains(body, "- [") {
		t.Errorf("landed, and with a box:\n%s", body)
	}
}

func TestBoxOfARejectedChangeIsRetry(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.land("topic", map[string]string{"bad": "x\n"})
	h.rejected(n, "- [ ] "+boxAgain)
	h.toggle("bob", n, boxAgain)
	h.until("it was rejected twice", func(*speculation.Core) bool { return h.notes("rejected") == 2 })
	h.rejected(n, "- [ ] "+boxAgain)
}

// Who toggles needs what the command needs: the box goes back, and the comment says why.
func TestBoxIsNoPermission(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{".submitqueue.yml": oneStep + "permissions: {land: [max, ann], cancel: [max]}\n"}})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.helped(n)
	id, _ := h.comment(n)
	if h.Toggle("rea", id, boxQueue) {
		t.Error("GitHub lets people edit who may not write")
	}
	for range 2 { // the answer is the same; the box still goes back
		h.toggle("bob", n, boxQueue)
		h.seen()
		h.says(n, "Sorry, `bob`", "- [ ] "+boxQueue)
	}
	h.toggle("ann", n, boxQueue)
	h.says(n, "- [x] In the queue")
	h.toggle("bob", n, boxOut)
	h.says(n, "Sorry, `bob`", "- [x] In the queue")
	if ch := h.change(n); ch.Phase.Final() || ch.Requester != "ann" {
		t.Errorf("%+v", ch)
	}
	h.Comment("max", n, "/land cancel\n/queue resume")
	h.says(n, "Out of the queue")
}

// What people write into our comment is written over, and a box beside words that are not
// ours is no command, nor is one of a text that is not there any more.
func TestBoxOfAnEditedComment(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.helped(n)
	h.says(n, boxQueue)
	h.quiet()
	id, body := h.comment(n)
	for name, edited := range map[string]string{
		"another label":         strings.Replace(body, boxQueue, "Check this box to see the log", 1),
		"and checked":           strings.Replace(strings.Replace(body, boxQueue, "Check this box to see the log", 1), "- [ ]", "- [x]", 1),
		"checked in an old one": strings.Replace("An older text\n\n"+body, "- [ ]", "- [x]", 1),
		"no marker":             "It has landed.",
		"a command":             "/land\n\n" + body,
	} {
		h.EditComment("bob", id, edited)
		h.seen()
		if got := h.says(n, boxQueue); got != body {
			h.untilSays(n, body)
		}
		h.quiet()
		if got, now := h.comment(n); got != id || now != body {
			t.Errorf("%s: %d is not %d, or says:\n%s", name, got, id, now)
		}
		h.none(n, name)
	}

	// ann writes other words at the box, and bob clicks it before we have seen that.
	h.stop()
	h.EditComment("ann", id, strings.Replace(body, boxQueue, "Check this box to see the log", 1))
	h.Toggle("bob", id, "see the log")
	h.start(hubOptions{})
	h.seen()
	h.untilSays(n, body)
	h.none(n, "clicked beside the words of another")

	// Twice in a row it is in and out again.
	h.quiet()
	h.Toggle("bob", id, boxQueue)
	h.Toggle("bob", id, boxQueue)
	h.says(n, "Out of the queue: taken out by command", "- [ ] "+boxQueue)
	h.quiet()
	h.says(n, "Out of the queue: taken out by command", "- [ ] "+boxQueue)
}

// untilSays waits until the bot's comment is body.
func (h *hub) untilSays(n int, body string) {
	h.Helper()
	h.eventually("the comment is ours again", func() bool { _, now := h.comment(n); return now == body })
}

// none holds that a pull request was never queued.
func (h *hub) none(n int, after string) {
	h.Helper()
	h.until("its requests are answered", func(c *speculation.Core) bool { return len(c.State().Requests) == 0 })
	if got := h.notes("entered"); got != 0 {
		h.Fatalf("%s: #%d was queued", after, n)
	}
}

func TestBoxIsOff(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{".submitqueue.yml": oneStep + "queue: {checkbox: off}\n"}})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.helped(n)
	h.quiet()
	id, body := h.comment(n)
	if strings.Contains(body, "- [") {
		t.Errorf("a box:\n%s", body)
	}
	box := queue.Box{On: true, Verb: queue.CommandLand, Label: boxQueue}
	h.EditComment("bob", id, strings.Replace(body, "---", box.String()+"\n\n---", 1))
	h.seen()
	h.untilSays(n, body)
	h.none(n, "off")
}

// GitHub sends mail for a new comment, and none for an edit: the authors of a change that is rejected
// are to hear of it without looking. What they did themselves, and what lands, is an edit.
func TestRejectionIsANewComment(t *testing.T) {
	h := newHub(t, hubOptions{})
	ours := func(n int) (id int64) {
		for _, c := range h.Comments(n) {
			if c.Author == "submitqueue[bot]" {
				id = c.ID
			}
		}
		return id
	}
	n := h.land("topic", map[string]string{"bad": "bad\n"})
	h.says(n, "/land cancel")
	queued := ours(n)
	h.rejected(n, "bad is bad")
	rejected := ours(n)
	if rejected <= queued {
		t.Errorf("the comment %d of a queued change was edited", queued)
	}
	h.Comment("ann", n, "/land help")
	h.says(n, "❌ Rejected")
	h.push("ann", "topic", map[string]string{"bad": "", "good": "good\n"})
	h.Comment("ann", n, "/land")
	h.landed(n)
	if got := ours(n); got != rejected {
		t.Errorf("after it had landed the comment is %d, not %d", got, rejected)
	}
}
