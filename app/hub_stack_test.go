package app_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// pullOn opens a pull request by ann on top of another's branch.
func (h *hub) pullOn(branch, on string, files map[string]string) int {
	h.Helper()
	must(h.Commit("ann", forgetest.Commit{Branch: branch, From: h.Head(on), Files: files}))
	return must(h.OpenPull("ann", branch, on, "Change "+branch))
}

// order returns the numbers of the changes that have landed, as main has them.
func (h *hub) order() []string {
	var out []string
	for line := range strings.Lines(git(h.T, h.Dir(), "log", "--first-parent", "--reverse", "--format=%s", "main")) {
		if rest, ours := strings.CutPrefix(line, "Merge #"); ours {
			number, _, _ := strings.Cut(rest, ":")
			out = append(out, number)
		}
	}
	return out
}

// leans waits until a change is parked because of what it is on top of.
func (h *hub) leans(n int) {
	h.Helper()
	h.until("it is parked with its parent", func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		return v.Change.Phase == queue.Parked && v.Change.Reason.Code == queue.ReasonParent
	})
}

// Three on top of each other, asked for from the top, land in order and in one
// push. GitHub shows all of them as merged.
func TestStackLandsInOnePush(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	one := h.pull("one", map[string]string{"api/a": "a\n"})
	two := h.pullOn("two", "one", map[string]string{"web/b": "b\n"})
	three := h.pullOn("three", "two", map[string]string{"api/c": "c\n"})
	h.paused(one)
	h.Comment("ann", three, "/land")
	h.says(three, "🅿️ Parked: the pull request below it is not in the queue", "It is on top of [#2](", "is in the queue: comment `/land` there")
	h.Comment("ann", two, "/land")
	h.says(two, "🅿️ Parked")
	h.Comment("bob", one, "/land")
	h.says(two, "It is on top of [#1]", "it lands after that one, and not without it")
	h.boarded(one, two, three)
	pushes := len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack"))
	h.Comment("max", one, "/queue resume")
	h.landed(one)
	h.landed(two)
	h.landed(three)
	if n := len(h.github.Requests("POST", "/acme/shop.git/git-receive-pack")) - pushes; n != 1 {
		t.Errorf("%d pushes, want 1", n)
	}
	if got := h.order(); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("landed in the order %v", got)
	}
	for n, area := range map[int]string{one: "api", two: "web", three: "api"} {
		var f *queue.Footprint
		id := h.change(n).ID
		h.owner.Read(func(c *speculation.Core) { f = c.State().Footprints[id] })
		if f == nil || !slices.Equal(f.Affected, []string{area}) {
			t.Errorf("#%d: footprint %+v, want its own area %s only", n, f, area)
		}
	}
	if p := h.Pull(three); p.Base != "main" {
		t.Errorf("the base of the highest is %s", p.Base)
	}
}

func TestStackParentIsRejected(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	low := h.pull("low", map[string]string{"api/bad": "bad\n"})
	high := h.pullOn("high", "low", map[string]string{"web/b": "b\n"})
	h.Comment("ann", high, "/land")
	h.leans(high)
	h.Comment("ann", low, "/land")
	h.rejected(low, "api is bad")
	h.says(high, "🅿️ Parked", "which was rejected (a step failed)", "comment `/land` there")
	h.check(high, "queued")
	if got := h.order(); len(got) > 0 {
		t.Errorf("landed: %v", got)
	}
	h.push("ann", "low", map[string]string{"api/bad": ""})
	h.push("ann", "low", map[string]string{"api/good": "good\n"})
	h.Comment("ann", low, "/land")
	h.landed(low)
	h.landed(high)
	if got := git(t, h.Dir(), "ls-tree", "-r", "--name-only", "main", "api"); strings.Contains(got, "bad") {
		t.Errorf("what the parent has taken back is on main: %s", got)
	}
}

func TestStackParentIsCancelledAndPushed(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	low := h.pull("low", map[string]string{"api/a": "a\n"})
	high := h.pullOn("high", "low", map[string]string{"web/b": "b\n"})
	h.paused(low)
	h.Comment("ann", low, "/land")
	h.Comment("ann", high, "/land")
	h.boarded(low, high)
	h.Comment("ann", low, "/land cancel")
	h.says(high, "which left the queue (taken out by command)")
	h.Comment("ann", low, "/land")
	h.boarded(low, high)
	h.push("ann", "low", map[string]string{"api/more": "more\n"})
	h.says(low, "New commits were pushed")
	h.says(high, "which left the queue (new commits were pushed)")
	h.Comment("ann", low, "/land")
	h.boarded(low, high)
	h.Comment("max", low, "/queue resume")
	h.landed(low)
	h.landed(high)
	if got := h.order(); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("landed in the order %v", got)
	}
}

// The lower one was never asked for, and a person merges it with the forge's own button; its
// branch stays. The upper one goes on.
func TestStackParentIsMergedByOthers(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.proven()
	low := h.pull("low", map[string]string{"a": "a\n"})
	high := h.pullOn("high", "low", map[string]string{"b": "b\n"})
	h.Comment("ann", high, "/land")
	h.says(high, "🅿️ Parked: the pull request below it is not in the queue")
	mustNot(t, h.adapter.SquashPull(t.Context(), forge.PullMerge{Number: low, Base: "main", Head: queue.CommitID(h.Pull(low).Head), Message: "By hand\n"}))
	h.landed(high)
	h.green()
}

// The parent has landed and its branch is still there, or not any more: either way
// the child lands without a word about its base.
func TestStackParentHasLanded(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	low := h.pull("low", map[string]string{"api/a": "a\n"})
	high := h.pullOn("high", "low", map[string]string{"web/b": "b\n"})
	h.Comment("ann", low, "/land")
	h.landed(low)
	h.Comment("ann", high, "/land")
	h.landed(high)
	third := h.pullOn("third", "high", map[string]string{"web/c": "c\n"})
	h.paused(third)
	h.Comment("ann", third, "/land")
	h.boarded(third)
	h.Retarget("ann", third, "main") // as GitHub does with those of a branch that is deleted after its merge
	h.seen()
	h.Comment("max", third, "/queue resume")
	h.landed(third)
}

func TestStackBases(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	one := h.pull("one", map[string]string{"api/a": "a\n"})
	two := h.pullOn("two", "one", map[string]string{"web/b": "b\n"})
	h.Retarget("ann", one, "two")
	h.Comment("ann", one, "/land")
	h.says(one, "leads in a circle: #1 → #2 → #1")
	h.Comment("ann", two, "/land")
	h.says(two, "leads in a circle")
	self := h.pull("self", map[string]string{"api/s": "s\n"})
	h.Retarget("ann", self, "self")
	h.Comment("ann", self, "/land")
	h.says(self, "leads in a circle")

	// A branch of the same name in a fork is nobody's parent; a protected branch
	// stays, and a branch that nobody wants to land is not ours.
	fork := must(h.Fork("eve"))
	must(fork.Commit("eve", forgetest.Commit{Branch: "trunk", Files: map[string]string{"x": "x\n"}}))
	must(h.OpenPull("eve", "eve:trunk", "main", "From a fork"))
	h.push("ada", "trunk", map[string]string{"trunk": "trunk\n"})
	other := h.pullOn("other", "trunk", map[string]string{"web/o": "o\n"})
	h.Comment("ann", other, "/land")
	h.says(other, "asks for another branch: `trunk`")
	h.pull("develop", map[string]string{"web/d": "d\n"})
	h.ProtectBranch("develop", forgetest.Protection{AllowPushers: []string{"ada"}})
	feature := h.pullOn("feature", "develop", map[string]string{"web/f": "f\n"})
	h.Comment("ann", feature, "/land")
	h.says(feature, "asks for another branch: `develop`")
}

// A server that dies and comes back knows what is on top of what.
func TestStackSurvivesARestart(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	low := h.pull("low", map[string]string{"api/a": "a\n"})
	high := h.pullOn("high", "low", map[string]string{"web/b": "b\n"})
	h.paused(low)
	h.Comment("ann", high, "/land")
	h.leans(high)
	h.Comment("ann", low, "/land")
	h.boarded(low, high)
	h.stop()
	h.start(hubOptions{})
	h.Comment("max", low, "/queue resume")
	h.landed(low)
	h.landed(high)
}

// GitHub refuses a push after a pull request has been given the base that it was
// to land on: that is taken back, and the one on top stays on top.
func TestStackWhosePushIsRefused(t *testing.T) {
	h := newHub(t, hubOptions{files: configured(areas(), "require_checks: enter")})
	h.proven()
	low := h.pull("low", map[string]string{"api/a": "a\n"})
	high := h.pullOn("high", "low", map[string]string{"web/b": "b\n"})
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue", "ada"}, RequiredChecks: []string{"ci"}})
	h.paused(low)
	h.Comment("ann", low, "/land")
	h.Comment("ann", high, "/land")
	h.boarded(low, high)
	h.Comment("max", low, "/queue resume")
	h.says(high, "the forge refuses every push")
	h.eventually("the one on top is on its own base again", func() bool { return h.Pull(high).Base == "low" })
	h.ProtectBranch("main", forgetest.Protection{AllowPushers: []string{"submitqueue", "ada"}})
	h.Comment("ann", low, "/land cancel")
	h.says(low, "taken out by command")
	h.Comment("max", low, "/queue resume")
	h.leans(high)
	h.Comment("ann", low, "/land")
	h.landed(low)
	h.landed(high)
	if got := h.order(); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("landed in the order %v", got)
	}
}

// Who may not write cannot have the bases of a pull request followed, one call to
// the forge after another: the answer is the same whatever it is on top of.
func TestStackIsNotFollowedForStrangers(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	h.pull("one", map[string]string{"api/a": "a\n"})
	two := h.pullOn("two", "one", map[string]string{"web/b": "b\n"})
	before := len(h.github.Requests("GET", "/repos/acme/shop/pulls"))
	h.Comment("eve", two, "/land")
	h.says(two, "eve")
	if n := len(h.github.Requests("GET", "/repos/acme/shop/pulls")) - before; n != 0 {
		t.Errorf("%d lists of pull requests were asked for", n)
	}
}
