package app_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

const mergeCall = "/repos/acme/shop/pulls/*/merge"

// merging is a queue whose squashes GitHub makes itself.
func merging(t *testing.T, o hubOptions) *hub {
	o.files = methods("method: squash, merge_api: on")
	h := newHub(t, o)
	h.proven()
	return h
}

// byGitHub fails the test where main's last commit is not GitHub's own, on base.
func (h *hub) byGitHub(base string) {
	h.Helper()
	if at := git(h.T, h.Dir(), "log", "-1", "--format=%cn %P", "main"); at != "GitHub "+base {
		h.Errorf("main's commit is by %q, want one by GitHub on %s", at, base)
	}
}

// GitHub merges a fork's pull request itself, whoever else has written a part of it, and
// shows it as merged; what waits behind it lands on what GitHub has made, without another
// build.
func TestForgeMergesForksItself(t *testing.T) {
	h := merging(t, hubOptions{})
	fork := must(h.Fork("eve"))
	must(fork.Commit("eve", forgetest.Commit{Branch: "gift", Files: map[string]string{"gift": "gift\n"}}))
	h.SetMerges(forgetest.Merges{Behind: "\n\nCo-authored-by: bob <bob@users.example>"})
	n := must(h.OpenPull("eve", "eve:gift", "main", "A gift"))
	before, pushes := h.Head("main"), len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack"))
	h.Comment("ann", n, "/land")
	h.landed(n, "by squash", "has merged the pull request itself", "the tree of the commit that was proven")
	h.byGitHub(before)
	if message, _ := h.tip(); !strings.Contains(message, "\nA gift (#1)\n\n") || !strings.HasSuffix(strings.TrimSpace(message), "Co-authored-by: bob <bob@users.example>") {
		t.Errorf("main's commit says\n%s", message)
	}
	if p := h.Pull(n); !p.Merged || len(p.Labels) != 0 {
		t.Errorf("%+v", p)
	}
	if got := len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack")) - pushes; got != 0 {
		t.Errorf("%d pushes, want none", got)
	}
	if v := h.change(n).Verdict; !v.ByForge || v.Unproven || string(v.Commit) != h.Head("main") {
		t.Errorf("%+v", v)
	}
	second := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(second, "has merged the pull request itself")
	h.green()
	h.seen()
	h.proven()
	if got := h.notes("outside"); got != 0 {
		t.Errorf("%d times, what GitHub has made was taken for somebody else's", got)
	}
}

// The branch of a pull request that GitHub merges is where it was, and GitHub deletes it
// where the repository wants that.
func TestForgeMergesAndDeletes(t *testing.T) {
	h := merging(t, hubOptions{})
	first := h.land("kept", map[string]string{"a": "a\n"})
	head := h.Head("kept")
	h.landed(first)
	if h.Head("kept") != head {
		t.Error("the branch was moved")
	}
	h.DeleteMerged(true)
	second := h.land("gone", map[string]string{"b": "b\n"})
	h.landed(second)
	h.eventually("its branch is gone", func() bool { return h.Head("gone") == "" })
	h.green()
	h.seen()
}

// GitHub does not merge it, for a moment or for good: then it lands as without merge_api.
func TestForgeDeclinesToMerge(t *testing.T) {
	t.Parallel()
	t.Run("for a moment", func(t *testing.T) {
		storetest.OneOf(t, 3)
		h := merging(t, hubOptions{})
		h.SetMerges(forgetest.Merges{Stale: 1})
		before := h.Head("main")
		n := h.land("topic", map[string]string{"a": "a\n"})
		h.landed(n, "has merged the pull request itself")
		h.byGitHub(before)
	})
	for name, decline := range map[string]func(*hub){
		"method": func(h *hub) { h.SetMerges(forgetest.Merges{Only: []string{"merge"}}) },
		"rules": func(h *hub) {
			h.ProtectBranch("main", forgetest.Protection{Ruleset: true, ExtraRules: []string{"merge_queue"}, Bypass: []string{"submitqueue"}})
		},
		"head": func(h *hub) {
			h.github.Fail(forgetest.Fault{Method: "PUT", Path: mergeCall, Status: 409, Message: "Head branch was modified. Review and try the merge again."})
		},
		"checks": func(h *hub) {
			h.github.Fail(forgetest.Fault{Method: "PUT", Path: mergeCall, Status: 422, Message: "Validation Failed"})
		},
		"for long": func(h *hub) { h.SetMerges(forgetest.Merges{Stale: 1000}) },
		"rights": func(h *hub) {
			h.github.Fail(forgetest.Fault{Method: "PUT", Path: mergeCall, Status: 403, Message: "Resource not accessible by integration"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := merging(t, hubOptions{})
			decline(h)
			n := h.land("topic", map[string]string{"a": "a\n"})
			h.landed(n, "by squash", "moved to that commit first, so that it is shown as merged")
			if got := h.notes("declined"); got != 1 {
				t.Errorf("%d times declined, want once", got)
			}
			if h.Head("topic") != h.Head("main") {
				t.Error("the branch has not moved along")
			}
			h.green()
			h.seen()
		})
	}
}

// A fork's pull request that GitHub does not merge ends as closed, as without merge_api.
func TestForgeDeclinesAFork(t *testing.T) {
	h := merging(t, hubOptions{})
	h.SetMerges(forgetest.Merges{Only: []string{"merge"}})
	fork := must(h.Fork("eve"))
	must(fork.Commit("eve", forgetest.Commit{Branch: "gift", Files: map[string]string{"gift": "gift\n"}}))
	n := must(h.OpenPull("eve", "eve:gift", "main", "A gift"))
	h.Comment("ann", n, "/land")
	h.closedAsLanded(n)
	h.green()
}

// Somebody pushes to main between our look and GitHub's merge, which stands on that then:
// it has landed, nothing says that it was proven, and nothing else lands before main is. If
// the queue hears of the push, and proves the change behind it, before it hears of the merge,
// it says that instead.
func TestForgeMergesOntoAnotherBase(t *testing.T) {
	h := merging(t, hubOptions{})
	outside := ""
	h.SetMerges(forgetest.Merges{Before: func() {
		if outside == "" {
			outside = must(h.Commit("ada", forgetest.Commit{Branch: "main", Files: map[string]string{"o": "o\n"}}))
		}
	}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n, "has merged the pull request itself")
	h.byGitHub(outside)
	said, _ := bot(h.Comments(n))
	if v := h.change(n).Verdict; !v.ByForge || v.Unproven != (v.Keys == 0) || v.Unproven != strings.Contains(said, "⚠️ **Not proven:**") {
		t.Errorf("%+v, and the comment says\n%s", v, said)
	}
	h.proven()
	if h.notes("outside") == 0 {
		t.Error("nothing says that main has moved by others")
	}
	second := h.land("next", map[string]string{"b": "b\n"})
	h.landed(second, "the tree of the commit that was proven")
	h.green()
	h.seen()
}

// GitHub makes another tree of it than was proven: the queue pauses and says which.
func TestForgeMergesAnotherTree(t *testing.T) {
	h := merging(t, hubOptions{})
	h.SetMerges(forgetest.Merges{Otherwise: map[string]string{"surprise": "!\n"}})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.until("its change has its verdict", func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		return v.Change.Phase.Final() && c.State().Push == nil
	})
	h.quiet()
	h.owner.Read(func(c *speculation.Core) {
		if p := c.State().Main.Paused; p == nil || !strings.Contains(p.Reason, h.Head("main")) || !strings.Contains(p.Reason, "as the forge has merged it") {
			t.Errorf("the queue is not paused for it: %+v", p)
		}
	})
	if ch := h.change(n); ch.Phase == queue.Landed {
		t.Errorf("it is said to have landed as it was proven: %+v", ch)
	}
	if said, _ := bot(h.Comments(n)); strings.Contains(said, "Landed") { // that it is closed, or that there is nothing left to land
		t.Errorf("the comment says\n%s", said)
	}
	h.seen()
}

// The answer of the call is lost, or the server is killed while it waits for it: main tells
// what has come of it, and nothing lands twice.
func TestForgeMergesAndNobodyHears(t *testing.T) {
	for name, lose := range map[string]func(*hub, int){
		"cut": func(h *hub, n int) { h.Comment("ann", n, "/land") },
		"killed": func(h *hub, n int) {
			answer := make(chan struct{})
			h.github.Heal()
			h.github.Fail(forgetest.Fault{Method: "PUT", Path: mergeCall, Until: answer})
			h.Comment("ann", n, "/land")
			ctx, cancel := context.WithTimeout(h.Context(), patience)
			defer cancel()
			mustNot(h.T, h.WaitFor(ctx, func(v forgetest.View) bool { return v.Pull(n).Merged }))
			h.stop()
			close(answer)
			h.start(h.options)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := merging(t, hubOptions{timeout: 20 * time.Second})
			before := h.Head("main")
			h.github.Fail(forgetest.Fault{Method: "PUT", Path: mergeCall, After: true})
			n := h.pull("topic", map[string]string{"a": "a\n"})
			lose(h, n)
			h.landed(n, "has merged the pull request itself")
			h.byGitHub(before)
			if got := git(t, h.Dir(), "rev-list", "--count", before+"..main"); got != "1" {
				t.Errorf("%s commits came to main, want one", got)
			}
			h.green()
			h.seen()
		})
	}
}

// What more than one pull request hangs on goes the usual way: several changes of one push,
// one that another is on top of, and what lands by another method.
func TestForgeIsNotAskedToMerge(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash, methods: [merge], merge_api: on")})
	h.proven()
	low := h.pull("low", map[string]string{"a": "a\n"})
	must(h.Commit("ann", forgetest.Commit{Branch: "high", From: "low", Files: map[string]string{"b": "b\n"}}))
	high := must(h.OpenPull("ann", "high", "low", "On top"))
	h.paused(low)
	h.Comment("ann", low, "/land")
	h.Comment("ann", high, "/land")
	h.boarded(low, high)
	h.Comment("max", low, "/queue resume")
	h.landed(low)
	h.landed(high)
	other := h.pull("other", map[string]string{"c": "c\n"})
	h.Comment("ann", other, "/land method=merge")
	h.landed(other)
	if calls := h.github.Requests("PUT", "/repos/acme/shop/pulls/**"); slices.ContainsFunc(calls, func(r forgetest.Request) bool { return strings.HasSuffix(r.Path, "/merge") }) {
		t.Errorf("GitHub was asked: %v", calls)
	}
	h.green()
}
