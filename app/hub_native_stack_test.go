package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// stacked opens three pull requests on top of each other, in a stack of GitHub's own.
func (h *hub) stacked() (stack, one, two, three int) {
	h.Helper()
	one = h.pull("one", map[string]string{"api/a": "a\n"})
	two = h.pullOn("two", "one", map[string]string{"web/b": "b\n"})
	three = h.pullOn("three", "two", map[string]string{"api/c": "c\n"})
	return must(h.Stack("ann", one, two, three)), one, two, three
}

// queued waits until pull requests are in the order, or waiting for what is below them.
func (h *hub) queued(numbers ...int) {
	h.Helper()
	h.until("all are in the queue", func(c *speculation.Core) bool {
		for _, n := range numbers {
			if v, _ := c.PullView(n); v.Change.Phase != queue.Pending {
				return false
			}
		}
		return len(c.State().Requests) == 0
	})
}

// rebases counts the requests that would give a pull request another base.
func (h *hub) rebases() int {
	return len(h.github.Requests(http.MethodPatch, "/repos/acme/shop/pulls/*"))
}

// inOrder checks that the three are on main, the lowest first, and that nobody has asked
// GitHub for what it refuses.
func (h *hub) inOrder(rebases int) {
	h.Helper()
	if got := h.order(); !slices.Equal(got, []string{"1", "2", "3"}) {
		h.Errorf("landed in the order %v", got)
	}
	if n := h.rebases(); n != rebases {
		h.Errorf("%d requests for another base, want %d", n, rebases)
	}
}

// One command on the top member lands the whole stack, the lowest first, each when GitHub
// shows it against main; GitHub shows all as merged.
func TestNativeStackLandsFromTheTop(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	_, one, two, three := h.stacked()
	h.RestackOnPush()
	h.Comment("ann", three, "/land")
	for _, n := range []int{one, two, three} {
		h.landed(n, "asked for by `ann`")
	}
	h.inOrder(0)
}

// By squash and rebase, too, GitHub shows each as merged, and so restacks what is above it.
func TestNativeStackLandsByOtherMethods(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"squash", "rebase"} {
		t.Run(method, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{files: configured(areas(), "method: "+method)})
			h.proven()
			_, one, two, three := h.stacked()
			h.RestackOnPush()
			h.Comment("ann", three, "/land")
			for _, n := range []int{one, two, three} {
				h.landed(n, "asked for by `ann`")
			}
			if n := h.rebases(); n != 0 {
				t.Errorf("%d requests for another base", n)
			}
			if got := git(t, h.Dir(), "ls-tree", "-r", "--name-only", "main", "api", "web"); got != "api/a\napi/c\napi/test.sh\nweb/b\nweb/test.sh" {
				t.Errorf("on main: %q", got)
			}
			if got := git(t, h.Dir(), "rev-list", "--count", "main"); got != "4" { // with the first
				t.Errorf("%s commits on main", got)
			}
		})
	}
}

// GitHub rebases the stack while it is queued: nobody loses the place, nor approvals that
// GitHub takes away for it, and what has its content proven is not built again.
func TestNativeStackIsRestackedWhileQueued(t *testing.T) {
	storetest.OneOf(t, 3)
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, Stale: true}})
	stack, one, two, three := h.stacked()
	all := []int{one, two, three}
	for _, n := range all {
		h.Review("bob", n, "APPROVED", "", "")
	}
	h.paused(one)
	h.Comment("ann", three, "/land priority=low")
	h.queued(all...)
	h.boarded(one)
	h.push("ada", "main", map[string]string{"other": "x\n"})
	h.proven()
	h.queued(all...)
	h.boarded(one)
	before, built := map[int]queue.Change{}, h.built()
	for _, n := range all {
		before[n] = h.change(n)
	}
	mustNot(t, h.Restack("ann", stack))
	h.seen()
	h.queued(all...)
	h.boarded(one)
	for _, n := range all {
		was, now := before[n], h.change(n)
		if was.Head == now.Head || string(now.Head) != h.Pull(n).Head {
			t.Errorf("#%d: head %s, before %s, at GitHub %s", n, now.Head, was.Head, h.Pull(n).Head)
		}
		if now.Arrival != was.Arrival || now.Virtual != was.Virtual || now.Lane != "low" || now.Requester != "ann" || now.Parent != was.Parent {
			t.Errorf("#%d: %+v, want the place of %+v", n, now, was)
		}
		h.says(n, "asked for by `ann`")
	}
	if n := h.built() - built; n != 0 {
		t.Errorf("%d builds for what was proven", n)
	}
	h.RestackOnPush()
	h.Comment("max", one, "/queue resume")
	for _, n := range all {
		h.landed(n)
	}
	h.inOrder(0)
}

// A push that is not the same commits is the author's, in a stack as anywhere.
func TestNativeStackIsPushedTo(t *testing.T) {
	t.Parallel()
	for name, files := range map[string]map[string]string{
		"another file":    {"web/b": "b\n", "web/more": "more\n"},
		"another content": {"web/b": "c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubOptions{files: areas()})
			h.proven()
			_, one, two, three := h.stacked()
			h.paused(one)
			h.Comment("ann", three, "/land")
			h.queued(one, two, three)
			must(h.Commit("ann", forgetest.Commit{Branch: "two", From: h.Head("one"), Message: "Change two", Files: files}))
			h.says(two, "New commits were pushed")
			h.says(three, "🅿️ Parked", "which left the queue (new commits were pushed)")
			h.quiet()
			h.says(one, "landings are paused")
		})
	}
}

// Where GitHub leaves a member where it is, it waits and says what there is to do; it
// lands, in its place, when GitHub has restacked it after all, or the stack is dissolved. A
// restack is no push of the author, either, where the one below has landed before it is seen.
func TestNativeStackIsLeft(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"seen at once": false, "seen late": true} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{files: areas()})
			h.proven()
			stack, one, two, three := h.stacked()
			h.Comment("ann", three, "/land")
			h.landed(one)
			h.waiting(two, "GitHub has yet to restack it", "GitHub's stack 1", "asks for the branch `one`", "`main`", "gh stack sync", "Unstack")
			h.says(three, "🅿️ Parked", "It is on top of [#2]")
			h.seen()
			answer := make(chan struct{})
			if late {
				h.github.Fail(forgetest.Fault{Method: "GET", Path: fmt.Sprintf("/repos/acme/shop/pulls/%d", three), Until: answer, Times: 1})
			}
			mustNot(t, h.Restack("ann", stack))
			h.landed(two)
			close(answer)
			h.waiting(three, "GitHub's stack 1", "asks for the branch `two`")
			h.Unstack(stack)
			h.Comment("ann", three, "/land")
			h.landed(three)
			h.inOrder(1)
		})
	}
}

// A stack that is dissolved while it is queued is one as any other, and lands in one push.
func TestNativeStackIsDissolved(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	stack, one, two, three := h.stacked()
	h.paused(one)
	h.Comment("ann", three, "/land")
	h.queued(one, two, three)
	h.Unstack(stack)
	for _, n := range []int{one, two, three} {
		h.Comment("ann", n, "/land")
	}
	h.seen()
	h.boarded(one, two, three)
	h.Comment("max", one, "/queue resume")
	for _, n := range []int{one, two, three} {
		h.landed(n)
	}
	h.inOrder(2)
}

// What is put into a stack below a member that is queued has to be asked for; what was
// closed below one leaves that one waiting for GitHub.
func TestNativeStackChangesWhileQueued(t *testing.T) {
	storetest.OneOf(t, 3)
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	stack, one, two, three := h.stacked()
	h.paused(one)
	h.Comment("ann", two, "/land")
	h.queued(one, two)
	if ch := h.change(three); ch.ID != "" {
		t.Errorf("the one above was not asked for: %+v", ch)
	}
	four := h.pullOn("four", "three", map[string]string{"web/d": "d\n"})
	mustNot(t, h.StackMore("ann", stack, four))
	h.Comment("bob", four, "/land")
	h.queued(one, two, three, four)
	if a, b := h.change(one).Requester, h.change(three).Requester; a != "ann" || b != "bob" {
		t.Errorf("asked for by %s and %s", a, b)
	}
	h.ClosePull("ann", one)
	h.says(one, "The pull request was closed")
	h.says(two, "🅿️ Parked", "which left the queue (the pull request was closed)")
	h.Comment("ann", two, "/land")
	h.waiting(two, "asks for the branch `one`, whose pull request has landed or is closed")
	h.Reopen("ann", one)
	h.Comment("ann", one, "/land")
	h.Comment("ann", two, "/land")
	h.queued(one, two, three, four)
	h.RestackOnPush()
	h.Comment("max", one, "/queue resume")
	for _, n := range []int{one, two, three, four} {
		h.landed(n)
	}
}

// The queue does not get to look at a member while GitHub restacks it, and lands the one
// below it meanwhile: two restacks in one are no push of the author's, either.
func TestNativeStackIsRestackedTwiceUnseen(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	_, one, two, three := h.stacked()
	h.paused(one)
	h.Comment("ann", three, "/land")
	h.queued(one, two, three)
	h.boarded(one)
	h.RestackOnPush()
	h.github.Fail(forgetest.Fault{Path: fmt.Sprintf("/repos/acme/shop/pulls/%d", three), Status: 502, Times: 10_000})
	h.Comment("max", one, "/queue resume")
	h.landed(one)
	h.landed(two)
	h.github.Heal()
	h.landed(three, "asked for by `ann`")
	h.inOrder(0)
}

// GitHub restacks onto a commit of main of which the queue has not heard yet: that is no
// push of the author's, either.
func TestNativeStackIsRestackedOntoNews(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	stack, one, two, three := h.stacked()
	h.paused(one)
	h.Comment("ann", three, "/land")
	h.queued(one, two, three)
	h.boarded(one)
	before := h.change(two)
	git(t, h.Dir(), "update-ref", "refs/heads/main", git(t, h.Dir(), "commit-tree", "-p", "main", "-m", "Unheard of", "main^{tree}"))
	mustNot(t, h.Restack("ann", stack))
	h.seen()
	h.queued(one, two, three)
	if now := h.change(two); now.Head == before.Head || now.Arrival != before.Arrival || string(now.Head) != h.Pull(two).Head {
		t.Errorf("the second: %+v, before %+v", now, before)
	}
	h.RestackOnPush()
	h.Comment("max", one, "/queue resume")
	for _, n := range []int{one, two, three} {
		h.landed(n)
	}
	h.inOrder(0)
}
