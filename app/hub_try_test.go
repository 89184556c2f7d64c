package app_test

import (
	"context"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// A try is built on main, its result is in the comment, and nothing lands; the
// required check is not the one that says so.
func TestTryReportsAndLandsNothing(t *testing.T) {
	h := newHub(t, hubOptions{})
	main := h.Head("main")
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("ann", n, "/land try")
	h.says(n, "🧪 Tried: it passes on `main`", "**Result:**", main[:10], "Nothing was landed", "asked for by `ann`")
	h.checkNamed(n, "submitqueue/try", "success")
	if _, ok := h.CI.CheckRun(h.Pull(n).Head, "submitqueue"); ok {
		t.Error("the check that branches require says something")
	}
	if h.Head("main") != main || h.Pull(n).State != "open" {
		t.Errorf("main is %s, the pull request %+v", h.Head("main"), h.Pull(n))
	}
	h.Comment("ann", n, "/land")
	h.landed(n, "its one check") // and nothing ran again

	bad := h.pull("broken", map[string]string{"bad": "bad\n"})
	main = h.Head("main")
	h.Comment("bob", bad, "/land try")
	h.says(bad, "🧪 Tried: failed in `test`", "bad is bad")
	h.checkNamed(bad, "submitqueue/try", "failure")
	h.Comment("bob", bad, "/land retry")
	h.says(bad, "🧪 Tried: failed in `test`")
	h.until("it was tried twice", func(c *speculation.Core) bool {
		return h.notes("tried") == 3 && c.State().Pulls[bad].Try == ""
	})
	h.quiet()
	h.says(bad, "🧪 Tried: failed in `test`")
	if h.Head("main") != main {
		t.Error("main has moved")
	}
	if got := h.change(bad); got.Phase != queue.Tried {
		t.Errorf("%+v", got)
	}
}

func TestTryNeedsWriteAccess(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("rea", n, "/land try")
	h.says(n, "Sorry, `rea`, this needs the permission `write`")
	p := h.pull("workflow", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	h.Comment("ann", p, "/land try")
	h.says(p, "an administrator must approve this commit")
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.says(n, "landings are paused")
	h.Comment("ann", n, "/land try")
	h.says(n, "It is in the queue already")
}

// checkNamed waits until a check run of a name on a pull request's head has a
// conclusion.
func (h *hub) checkNamed(n int, name, want string) forgetest.CheckRun {
	h.Helper()
	var last forgetest.CheckRun
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	if err := h.WaitFor(ctx, func(v forgetest.View) bool {
		for _, c := range v.Checks(v.Pull(n).Head) {
			if c.Name == name {
				last = c
			}
		}
		return last.Conclusion == want
	}); err != nil {
		h.Fatalf("#%d: the check %s is %+v, not %s", n, name, last, want)
	}
	return last
}
