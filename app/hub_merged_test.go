package app_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

// never fails the test where a comment offers what nobody can do to a merged pull request.
func (h *hub) never(said string) {
	h.Helper()
	for _, no := range []string{"eopen", "was closed", "lands it as it is now", "puts it there", "submitqueue-box"} {
		if strings.Contains(said, no) {
			h.Errorf("it says %q:\n%s", no, said)
		}
	}
}

// Somebody squashes a queued pull request with the forge's own button: nothing tells that it
// could be reopened, or landed once more.
func TestMergedByOthersIsSaid(t *testing.T) {
	for name, unheard := range map[string]int{"main shows it first, or the forge tells": 0, "the forge tells": 1} {
		t.Run(name, func(t *testing.T) { mergedByOthers(t, unheard) })
	}
}

func mergedByOthers(t *testing.T, unheard int) {
	h := newHub(t, hubOptions{})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.boarded(n)
	mustNot(t, h.github.WaitDelivered(t.Context()))
	h.github.DropWebhooks(unheard) // that main has moved, which shows that nothing is left to land
	mustNot(t, h.adapter.SquashPull(t.Context(), forge.PullMerge{Number: n, Base: "main", Head: queue.CommitID(h.Pull(n).Head), Message: "By hand\n"}))
	h.never(h.says(n, ": the pull request was merged", "It was merged without the queue"))
	h.Comment("ann", n, "/land")
	h.never(h.says(n, "To `ann`: The pull request has landed already."))
}

// A pull request whose commits another one has brought along is merged with it. Whoever asks
// for it then hears that.
func TestMergedWithAnotherIsSaid(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.proven()
	low, never := h.pull("low", map[string]string{"a": "a\n"}), h.pull("never", map[string]string{"b": "b\n"})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1}})
	h.Comment("ann", low, "/land")
	h.waiting(low)
	h.push("bob", "high", map[string]string{"c": "c\n"})
	must(h.Merge("bob", "high", "low", map[string]string{"a": "a\n"}))
	must(h.Merge("bob", "high", "never", map[string]string{"b": "b\n"}))
	high := must(h.OpenPull("bob", "high", "main", "Both"))
	h.Review("max", high, "APPROVED", "", "")
	h.Comment("bob", high, "/land")
	h.landed(high)
	h.never(h.says(low, "Out of the queue: the pull request was merged", "together with another pull request"))
	h.Comment("ann", never, "/land")
	h.never(h.says(never, "The pull request has landed already."))
}

// Commands come late: what has landed is told so, however the forge shows it.
func TestCommandsOnWhatHasLanded(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash, head: leave")})
	h.proven()
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.closedAsLanded(n)
	for _, command := range []string{"/land", "/land cancel", "/land retry", "/land explain", "/land delegate @bob"} {
		h.Comment("bob", n, command)
		said := h.says(n, "To `bob`: The pull request has landed already. To undo it, land a revert; new commits need a pull request of their own.")
		if strings.Contains(said, "eopen") {
			t.Errorf("%s: %s", command, said)
		}
		h.Comment("bob", n, "/land help")
		h.says(n, "Write one command per line")
	}
}
