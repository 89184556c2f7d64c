package app_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// What /land would do is told without doing it; of what is in the queue, why it
// is where it is.
func TestExplain(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	a := h.pull("a", map[string]string{"api/a": "a\n"})
	h.paused(a)
	h.Comment("ann", a, "/land explain")
	h.says(a, "🧪 Not in the queue: what `/land` would do", "**It could enter now**, beside 0 pending changes.", "It affects 1 target.", "It would conflict with no pending change")
	if _, ok := h.CI.CheckRun(h.Pull(a).Head, "submitqueue"); ok {
		t.Error("an explanation has made a check run")
	}
	h.Comment("ann", a, "/land")
	h.says(a, "1st of 1")
	b := h.pull("b", map[string]string{"api/b": "b\n"})
	h.SetDraft("ann", b, true)
	h.Comment("rea", b, "/land explain")
	h.says(b, "Sorry, `rea`")
	h.Comment("bob", b, "/land explain")
	h.says(b, "**It could not enter now.** The pull request is a draft.", "both change `api`")
	if ch := h.change(b); ch.Phase != queue.Tried || ch.Builds != 0 {
		t.Errorf("%+v", ch)
	}
	h.SetDraft("ann", b, false)
	h.Comment("ann", b, "/land")
	h.says(b, "2nd of 2")
	h.Comment("rea", b, "/land explain")
	h.says(b, "**Why it is where it is**", "ahead of it: both change `api`", "to land with")
	h.Comment("max", a, "/queue resume")
	h.landed(a)
	h.landed(b)

	p := h.pull("workflow", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	h.Comment("ann", p, "/land explain")
	h.says(p, "an administrator must approve this commit")
}
