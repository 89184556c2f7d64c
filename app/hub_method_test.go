package app_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// methods is a repository with one step whose queue has these settings.
func methods(rules string) map[string]string {
	return map[string]string{".submitqueue.yml": oneStep + "queue: {" + rules + "}\n"}
}

// closed waits until the bot has said that a pull request has landed and has
// closed it, because GitHub does not show it as merged.
func (h *hub) closedAsLanded(n int) {
	h.Helper()
	h.says(n, "✅ Landed", "so it is closed, with the label `landed`")
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	var p forgetest.Pull
	if err := h.WaitFor(ctx, func(v forgetest.View) bool {
		p = v.Pull(n)
		return p.State == "closed"
	}); err != nil || p.Merged || !slices.Contains(p.Labels, "landed") {
		h.Errorf("#%d is %+v", n, p)
	}
	h.seen()
}

// tip returns what main's last commit says, and its parents.
func (h *hub) tip() (message string, parents []string) {
	h.Helper()
	return git(h.T, h.Dir(), "log", "-1", "--format=%an <%ae>%n%B", "main"), strings.Fields(git(h.T, h.Dir(), "log", "-1", "--format=%P", "main"))
}

func TestSquashLands(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	before := h.Head("main")
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Message: "first\n\nSigned-off-by: Ann <ann@example.org>", Files: map[string]string{"a": "a\n"}}))
	must(h.Commit("bob", forgetest.Commit{Branch: "topic", Message: "second\n\nCo-authored-by: Rea <rea@example.org>", Files: map[string]string{"b": "b\n"}}))
	n := must(h.Open(forgetest.Pull{Author: "ann", Branch: "topic", Base: "main", Title: "Two\nthings", Body: "Why.\n\nCloses #7\n\n<!-- a hint -->\n\nChange: 1.aa\nHead: " + before}))
	head := h.Head("topic")
	h.Comment("ann", n, "/land")
	h.landed(n, "by squash", "moved to that commit first, so that it is shown as merged")
	message, parents := h.tip()
	if !slices.Equal(parents, []string{before}) {
		t.Errorf("the parents are %v, want %s alone", parents, before)
	}
	id := h.change(n).ID
	ann, bob := git(t, h.Dir(), "log", "-1", "--format=%an <%ae>", head+"^"), git(t, h.Dir(), "log", "-1", "--format=%an <%ae>", head)
	want := fmt.Sprintf("%s\nTwo things (#%d)\n\nWhy.\n\nCloses #7\n\n\n\nChange: 1.aa\nHead: %s\n\nCo-authored-by: %s\nCo-authored-by: Rea <rea@example.org>\nSigned-off-by: Ann <ann@example.org>\nChange: %s\nHead: %s",
		ann, n, before, bob, id, head)
	if strings.TrimSpace(message) != want {
		t.Errorf("main's commit says\n%s\nwant\n%s", message, want)
	}
	if h.Head("topic") != h.Head("main") {
		t.Errorf("the branch is at %s", h.Head("topic"))
	}
	h.green()
	h.seen()
	if ch := h.change(n); ch.Phase != queue.Landed {
		t.Errorf("after all webhooks: %+v", ch)
	}
}

// A fork's branch cannot be moved: main moves alone, and the pull request is closed.
func TestSquashOfAFork(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	fork := must(h.Fork("eve"))
	must(fork.Commit("eve", forgetest.Commit{Branch: "gift", Files: map[string]string{"gift": "gift\n"}}))
	n := must(h.OpenPull("eve", "eve:gift", "main", "A gift"))
	h.Comment("ann", n, "/land")
	h.closedAsLanded(n)
	h.check(n, "success")
	if got := git(t, h.Dir(), "show", "main:gift"); got != "gift" {
		t.Errorf("main's file says %q", got)
	}
}

// Where the pull request's branch is protected from being forced, or its author
// has pushed in the last moment, main moves alone all the same.
func TestSquashWhoseBranchCannotMove(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.ProtectBranch("topic", forgetest.Protection{})
	h.Comment("ann", n, "/land")
	h.closedAsLanded(n)

	late := h.pull("late", map[string]string{"b": "b\n"})
	h.paused(late)
	h.Comment("ann", late, "/land")
	h.boarded(late)
	h.seen()
	h.github.HoldWebhooks()
	h.push("ann", "late", map[string]string{"c": "c\n"})
	mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "resume", At: queue.At(time.Now()), Body: queue.Commented{Number: late, Comment: "1", Author: "max", Body: "/queue resume"}}))
	h.settled(late)
	h.github.ReleaseWebhooks()
	h.closedAsLanded(late)
	if strings.Contains(git(t, h.Dir(), "ls-tree", "--name-only", "main"), "c\n") {
		t.Error("what was pushed in the last moment has landed")
	}
	h.green()
}

// A branch that is not there for one pull request alone stays where it is, however
// much the App may: another pull request is of it, or it is protected.
func TestSquashLeavesBranchesOfOthers(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.DeleteMerged(true)
	h.proven()
	must(h.Commit("ann", forgetest.Commit{Branch: "release", From: h.Head("main"), Files: map[string]string{"r": "r\n"}}))
	stays := func(branch string, files map[string]string, prepare func()) {
		t.Helper()
		n := h.pull(branch, files)
		at := h.Head(branch)
		prepare()
		h.Comment("ann", n, "/land")
		h.closedAsLanded(n)
		if now := h.Head(branch); now != at {
			t.Errorf("%s was at %s and is at %q", branch, at, now)
		}
	}
	var other int
	stays("both", map[string]string{"a": "a\n"}, func() { other = must(h.OpenPull("bob", "both", "release", "The same for the release")) })
	if p := h.Pull(other); p.State != "open" || p.Head != h.Head("both") {
		t.Errorf("the other pull request is %+v", p)
	}
	stays("next", map[string]string{"b": "b\n"}, func() { h.ProtectBranch("next", forgetest.Protection{AllowForce: true}) })
	h.green()
	h.seen()
}

// An emergency lands as everything else does: with its author and its words.
func TestSquashNow(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	author := git(t, h.Dir(), "log", "-1", "--format=%an <%ae>", "topic")
	h.Comment("ada", n, "/land now the shop is down")
	h.landed(n, "by squash")
	if message, _ := h.tip(); !strings.HasPrefix(message, fmt.Sprintf("%s\nChange topic (#%d)\n", author, n)) {
		t.Errorf("main's commit says\n%s", message)
	}
}

func TestMethodByCommand(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [squash]")})
	h.proven()
	n := h.pull("a", map[string]string{"a": "a\n"})
	h.Comment("ann", n, "/land method=octopus")
	h.says(n, "Changes do not land by `octopus` here", "`merge`, `squash`")
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.boarded(n)
	first := h.change(n)
	h.Comment("ann", n, "/land method=squash")
	h.until("another change is in its place", func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		return v.Change.ID != first.ID && v.Change.Phase == queue.Pending
	})
	if now := h.change(n); now.Arrival != first.Arrival || now.Method != config.MethodSquash {
		t.Errorf("it was %+v and is %+v", first, now)
	}
	h.boarded(n)
	h.Comment("max", n, "/queue resume")
	h.landed(n, "by squash")
	if _, parents := h.tip(); len(parents) != 1 {
		t.Errorf("parents %v", parents)
	}
	b := h.land("b", map[string]string{"b": "b\n"})
	h.landed(b)
	if _, parents := h.tip(); len(parents) != 2 {
		t.Errorf("parents %v", parents)
	}
	h.green()
}

// To try once more is to land as it was asked for.
func TestRetryKeepsTheMethod(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [squash]")})
	h.proven()
	n := h.pull("a", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land method=squash")
	h.boarded(n)
	h.Comment("ann", n, "/land cancel")
	h.says(n, "Out of the queue")
	h.Comment("ann", n, "/land retry")
	h.boarded(n)
	h.Comment("max", n, "/queue resume")
	h.landed(n, "by squash")
	author := git(t, h.Dir(), "log", "-1", "--format=%an <%ae>", string(h.change(n).Head))
	if message, _ := h.tip(); !strings.HasPrefix(message, fmt.Sprintf("%s\nChange a (#%d)\n", author, n)) {
		t.Errorf("main's commit says\n%s", message)
	}
}

// Two on top of each other, changing the same line, land by squash, in one push or
// one after the other.
func TestStackBySquash(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	before := h.Head("main")
	low := h.pull("low", map[string]string{"word": "low\n"})
	high := h.pullOn("high", "low", map[string]string{"word": "high\n"})
	top := h.pullOn("top", "high", map[string]string{"word": "top\n"})
	h.paused(low)
	h.Comment("ann", low, "/land")
	h.Comment("ann", high, "/land")
	h.boarded(low, high)
	h.Comment("max", low, "/queue resume")
	h.landed(low)
	h.closedAsLanded(high) // its branch is what the pull request on top of it asks for
	h.Comment("ann", top, "/land")
	h.landed(top)
	if got := git(t, h.Dir(), "show", "main:word"); got != "top" {
		t.Errorf("main says %q", got)
	}
	if n := git(t, h.Dir(), "rev-list", "--count", before+"..main"); n != "3" {
		t.Errorf("%s commits for 3 changes", n)
	}
	h.green()
}

// The repository deletes branches of merged pull requests. One that is asked for by
// somebody who is in the queue is deleted when that one has main for its base; one
// that anybody else asks for stays.
func TestBranchIsDeleted(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("methods: [squash]")})
	h.DeleteMerged(true)
	h.proven()
	low := h.pull("low", map[string]string{"a": "a\n"})
	high := h.pullOn("high", "low", map[string]string{"b": "b\n"})
	top := h.pullOn("top", "high", map[string]string{"c": "c\n"})
	h.paused(low)
	h.Comment("ann", low, "/land method=squash")
	h.Comment("ann", high, "/land")
	h.boarded(low, high)
	h.Comment("max", low, "/queue resume")
	h.landed(low)
	h.landed(high)
	gone := func(branch string) {
		ctx, cancel := context.WithTimeout(h.Context(), patience)
		defer cancel()
		if err := h.WaitFor(ctx, func(v forgetest.View) bool { return v.Head(branch) == "" }); err != nil {
			t.Errorf("the branch %s is still there", branch)
		}
	}
	gone("low")
	if !h.Pull(low).Merged || !h.Pull(high).Merged {
		t.Error("they are not merged")
	}
	h.seen()
	h.quiet()
	if p := h.Pull(top); p.Base != "high" || p.State != "open" || h.Head("high") == "" {
		t.Errorf("the one on top is %+v", p)
	}
	h.Comment("ann", top, "/land")
	h.landed(top)
	gone("top")
	if !h.Pull(top).Merged {
		t.Error("it is not merged")
	}
}

// The process dies after the push and before anything of it is known: the commit on
// main is recognised although it names no head among its parents.
func TestSquashIsRecognised(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	h.github.Fail(forgetest.Fault{Method: "POST", Path: "/acme/shop.git/git-receive-pack", After: true, Times: 1})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.says(n, "✅ Landed")
	h.seen()
	h.quiet() // that the branch came along may be known later
	h.says(n, "✅ Landed")
	if !h.Pull(n).Merged {
		t.Errorf("%+v", h.Pull(n))
	}
	if got := h.notes("outside"); got != 0 {
		t.Errorf("%d commits were taken for somebody else's", got)
	}
}

// Main shows a landing before its push is answered: what came along with it is said
// once that is known.
func TestSquashIsSeenBeforeItsPushIsAnswered(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash")})
	h.proven()
	answer := make(chan struct{})
	h.github.Fail(forgetest.Fault{Method: "POST", Path: "/acme/shop.git/git-receive-pack", Skip: 1, Until: answer}) // its head's push is answered
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.until("main shows it", func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		return v.Change.Phase == queue.Landed
	})
	close(answer)
	h.landed(n, "by squash", "moved to that commit first, so that it is shown as merged")
}

// What is on main is another tree than was proven: the queue stops, says so, and
// goes on when somebody has looked.
func TestWhatDiffersFromItsProofPauses(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	n := h.pull("a", map[string]string{"api/a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.boarded(n)
	proven := strings.Repeat("7", 40)
	h.owner.Read(func(c *speculation.Core) {
		for _, l := range c.State().Links {
			if l.Change != "" && l.Tree != "" {
				l.Tree = queue.TreeID(proven)
			}
		}
	})
	h.Comment("max", n, "/queue resume")
	h.landed(n)
	h.until("the queue has paused itself", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
	if got := h.notes("differs"); got != 1 {
		t.Errorf("%d notes of it", got)
	}
	b := h.land("b", map[string]string{"web/b": "b\n"})
	h.says(b, "landings are paused", "by `submitqueue`", "commit "+h.Head("main")+" on main has the tree ", proven+" was proven")
	h.Comment("max", b, "/queue resume")
	h.landed(b)
	if got := h.notes("differs"); got != 1 {
		t.Errorf("%d notes of it, once it is known", got)
	}
}

// Two that have nothing in common are built at the same time: the second lands on
// the first, which was not below it, and the proof says so.
func TestProofNamesWhatCameInBetween(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	a, b := h.pull("a", map[string]string{"api/a": "a\n"}), h.pull("b", map[string]string{"web/b": "b\n"})
	h.paused(a)
	h.Comment("ann", a, "/land")
	h.boarded(a)
	h.Comment("bob", b, "/land")
	h.boarded(a, b)
	h.Comment("max", a, "/queue resume")
	h.landed(a, "this very commit was tested")
	said := h.says(b, "✅ Landed")
	if h.change(b).Verdict.Tested == strings.Contains(said, "landed after its build") {
		t.Errorf("tested %t, and the proof is\n%s", h.change(b).Verdict.Tested, said)
	}
	h.landed(b)
}
