package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

const brokenStep = `version: 1
steps:
  - name: test
    run: sh ./test.sh
    timeuot: 1m
`

// whole waits until the configuration on main is in force, or is not.
func (h *hub) whole(want bool) {
	h.Helper()
	h.until("the configuration has been read", func(c *speculation.Core) bool {
		m := c.State().Main
		return string(m.Tip) == h.Head("main") && (m.Broken == "") == want
	})
}

func TestBrokenConfigurationOnMain(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.proven()
	h.push("ada", "main", map[string]string{".submitqueue.yml": brokenStep})
	h.whole(false)
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n, "cannot be used", "last good one stays in force", ".submitqueue.yml:5:5", "timeuot")
	red := h.land("red", map[string]string{"bad": "bad\n"})
	h.rejected(red, "bad is bad", ".submitqueue.yml:5:5")

	repair := h.pull("repair", map[string]string{".submitqueue.yml": oneStep})
	h.Comment("ada", repair, "/land")
	h.landed(repair)
	h.whole(true)
	h.quiet()
	for _, pull := range []int{n, red, repair} {
		if text, _ := bot(h.Comments(pull)); strings.Contains(text, "cannot be used") {
			t.Errorf("#%d still says that the configuration is broken:\n%s", pull, text)
		}
	}
	next := h.land("next", map[string]string{"b": "b\n"})
	h.landed(next)
}

func TestNoConfiguration(t *testing.T) {
	h := newHub(t, hubOptions{files: map[string]string{".submitqueue.yml": "version: 1\nstpes: []\n"}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.says(n, "no valid configuration", ".submitqueue.yml:2:1", "steps")
	h.push("ada", "main", map[string]string{".submitqueue.yml": oneStep})
	h.whole(true)
	h.Comment("ann", n, "/land")
	h.landed(n)
}

func TestChangeThatBreaksTheConfiguration(t *testing.T) {
	h := newHub(t, hubOptions{})
	before := h.Head("main")
	n := h.pull("topic", map[string]string{".submitqueue.yml": brokenStep})
	h.Comment("ada", n, "/land")
	h.rejected(n, "Rejected: its `.submitqueue.yml` cannot be used", ".submitqueue.yml:5:5", "timeuot")
	gone := h.pull("gone", map[string]string{".submitqueue.yml": ""})
	h.Comment("ada", gone, "/land")
	h.rejected(gone, ".submitqueue.yml is missing")
	if h.Head("main") != before {
		t.Error("main has moved")
	}
}

// A change that edits the steps is judged by its own: it meets new keys and
// runs them all.
func TestChangeThatEditsTheSteps(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.proven()
	strict := strings.Replace(oneStep, "sh ./test.sh", "sh ./test.sh && test -e must-have", 1)
	n := h.pull("strict", map[string]string{".submitqueue.yml": strict})
	h.Comment("ada", n, "/land")
	h.rejected(n)
	h.push("ann", "strict", map[string]string{"must-have": "yes\n"})
	h.Comment("ada", n, "/land")
	h.landed(n)
	without := h.land("without", map[string]string{"must-have": ""})
	h.rejected(without)
	if ch := h.change(without); ch.Phase != queue.Rejected {
		t.Errorf("%+v", ch)
	}
}
