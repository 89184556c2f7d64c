package app_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/app/intake"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// intakeOf makes the intake, which the owner tells of names.
func (h *hub) intakeOf(o intake.Options) *intake.Intake {
	h.intake = intake.New(o)
	return h.intake
}

// reachable waits until the queue can reach its repository again.
func (h *hub) reachable() {
	h.Helper()
	for end := time.After(patience); ; {
		changed := h.owner.Changed()
		away := h.owner.Away() // while a server starts, too
		if away == "" {
			return
		}
		select {
		case <-changed:
		case <-end:
			h.Fatalf("away: %s", away)
		}
	}
}

// A repository that is renamed, and one that is given to another owner, keeps its
// queue with all that is in it.
func TestRepositoryMoves(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]string{"renamed": "acme/store", "transferred": "globex/shop"} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
			h.proven()
			n := h.pull("topic", map[string]string{"a": "a\n"})
			h.paused(n)
			h.Comment("ann", n, "/land")
			h.says(n, "1st of 1")
			mustNot(t, h.Rename("ada", to))
			other := h.land("other", map[string]string{"b": "b\n"}) // its webhook bears the new name
			h.says(other, "2nd of 2")
			h.Comment("max", n, "/queue resume")
			h.landed(n)
			h.landed(other)

			h.stop() // configured with the old name
			h.start(hubOptions{workers: workers.NewInstant(4)})
			h.proven()
			last := h.land("last", map[string]string{"c": "c\n"})
			h.landed(last)
		})
	}
}

// A new repository under the old name is another one: after a restart, too, the
// queue goes by the id.
func TestOldNameIsTakenByAnother(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	h.until("the repository is known by its id", func(c *speculation.Core) bool { return c.State().Main.Repository != 0 })
	h.stop()
	mustNot(t, h.Rename("ada", "acme/store"))
	squatter := must(h.github.AddRepository("acme", "shop", "main"))
	must(squatter.Commit("acme", forgetest.Commit{Branch: "main", Files: map[string]string{"other": "other\n"}}))
	before := squatter.Head("main")
	h.start(hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n)
	if squatter.Head("main") != before {
		t.Error("somebody else's main has moved")
	}
}

// What is said in a repository that has taken the old name is nothing to the
// queue, whoever says it.
func TestWebhooksOfWhoHasTakenTheOldName(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	h.until("the repository is known by its id", func(c *speculation.Core) bool { return c.State().Main.Repository != 0 })
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.says(n, "1st of 1")
	mustNot(t, h.Rename("ada", "acme/store"))
	squatter := must(h.github.AddRepository("acme", "shop", "main"))
	must(squatter.Commit("acme", forgetest.Commit{Branch: "main", Files: map[string]string{"other": "other\n"}}))
	must(squatter.Commit("acme", forgetest.Commit{Branch: "topic", From: "main", Files: map[string]string{"a": "b\n"}}))
	m := must(squatter.OpenPull("acme", "topic", "main", "Of the same number"))
	if m != n {
		t.Fatalf("#%d and #%d are not the same number", m, n)
	}
	squatter.Comment("ann", m, "/land cancel")
	h.seen()
	h.Comment("max", n, "/queue resume")
	h.landed(n)
	if got := h.notes("cancelled"); got > 0 {
		t.Errorf("taken out %d times", got)
	}
}

// While our access is taken away, everything waits and says why; nothing is lost
// of what was asked for before or meanwhile, and GitHub is hardly asked.
func TestAccessIsTakenAwayAndGivenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away, back func(h *hub)
		says       string
	}{
		"suspended":           {func(h *hub) { h.github.App.Suspend("acme", true) }, func(h *hub) { h.github.App.Suspend("acme", false) }, "suspended"},
		"repository taken":    {func(h *hub) { h.github.App.RemoveFromInstallation("acme", "shop") }, func(h *hub) { h.github.App.AddToInstallation("acme", "shop") }, "taken from the App's installation"},
		"suspended, unspoken": {func(h *hub) { h.github.DropWebhooks(1); h.github.App.Suspend("acme", true) }, func(h *hub) { h.github.App.Suspend("acme", false) }, "suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
			h.proven()
			n := h.pull("topic", map[string]string{"a": "a\n"})
			h.paused(n)
			h.Comment("ann", n, "/land")
			h.says(n, "1st of 1")
			h.seen()
			h.quiet()
			c.away(h)
			resume := func(comment string) { // by the server's own interface
				mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "test/" + comment, At: queue.At(time.Now()),
					Body: queue.Commented{Number: n, Comment: comment, Author: "max", Body: "/queue resume"}}))
			}
			resume("1")
			h.away(c.says)
			from := len(h.github.Requests("", "/**"))
			missed := h.pull("missed", map[string]string{"b": "b\n"})
			h.Comment("ann", missed, "/land") // nobody tells us
			if h.Pull(n).Merged {
				t.Error("landed without access")
			}
			if asked := len(h.github.Requests("", "/**")) - from; asked > 20 {
				t.Errorf("%d requests while there is no access", asked)
			}
			c.back(h)
			h.reachable()
			h.landed(n)
			h.landed(missed)
			if got := h.notes("rejected") + h.notes("cancelled") + h.notes("parked"); got > 0 {
				t.Errorf("%d verdicts for want of access", got)
			}
		})
	}
}

// A target branch that is deleted, or renamed away, is said to be gone; the queue
// waits for it, and goes on when it is back as it was.
func TestTargetBranchGone(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), unguarded: true})
	h.proven()
	tip := h.Head("main")
	mustNot(t, h.DeleteBranch("ada", "main"))
	h.away("there is no branch main any more; restore it")
	must(h.Commit("ada", forgetest.Commit{Branch: "main", From: tip, Files: map[string]string{"back": "back\n"}}))
	h.reachable()
	h.proven()
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n)
}

// What the App is known by at GitHub is taken away: everything waits, says what to
// do, and goes on with new credentials.
func TestAppIsGone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		away, back func(h *hub)
		says       string
	}{
		"deleted": {func(h *hub) { h.github.App.DeleteApp("acme") }, func(h *hub) { mustNot(h.T, h.github.App.MakeApp("acme")) },
			"the App was deleted at GitHub; make a new one, install it"},
		"deleted, unspoken": {func(h *hub) { h.github.DropWebhooks(1); h.github.App.DeleteApp("acme") }, func(h *hub) { mustNot(h.T, h.github.App.MakeApp("acme")) },
			"the App was deleted at GitHub; make a new one, install it"},
		"its key revoked": {func(h *hub) { h.github.ExpireTokens(); mustNot(h.T, h.github.App.RevokeKey()) }, func(*hub) {},
			"check the App's id, that its private key was not revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{workers: workers.NewInstant(4), http: true})
			first, second, built := h.renaming()
			c.away(h)
			must(h.Commit("ada", forgetest.Commit{Branch: "other", From: "main", Files: map[string]string{"o": "o\n"}}))
			mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "test/look", At: queue.At(time.Now()), Body: queue.MainMoved{Branch: "main"}}))
			h.away(c.says)
			from := len(h.github.Requests("", "/**"))
			mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "test/resume", At: queue.At(time.Now()),
				Body: queue.Commented{Number: first, Comment: "1", Author: "max", Body: "/queue resume"}}))
			h.until("the command waits", func(c *speculation.Core) bool {
				for _, a := range c.State().Actions {
					if _, ok := a.Task.(queue.Inspect); ok && a.NotBefore != 0 {
						return true
					}
				}
				return false
			})
			if asked := len(h.github.Requests("", "/**")) - from; asked > 10 {
				t.Errorf("%d requests while nobody knows the App", asked)
			}
			if h.Pull(first).Merged || h.notes("cancelled")+h.notes("rejected")+h.notes("parked") > 0 {
				t.Errorf("a verdict for want of credentials: %s", h.describe())
			}
			c.back(h)
			h.stop()
			h.start(hubOptions{workers: workers.NewInstant(4)}) // with what AppKey is now
			h.reachable()
			h.landed(first)
			h.landed(second, "asked for by `bob`")
			if got := h.built(); got != built {
				t.Errorf("%d builds, and %d before", got, built)
			}
		})
	}
}

// Where a branch of a pull request is deleted, GitHub closes it, and it leaves the
// queue with words. With the branch back, it is opened and asked for anew.
func TestBranchesAreDeletedAndRestored(t *testing.T) {
	t.Parallel()
	for name, branch := range map[string]string{"the head": "topic", "the queue's own": "main", "another's head, as base": "low"} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubOptions{workers: workers.NewInstant(4), unguarded: true, files: areas()})
			h.proven()
			on, all := "main", []int{}
			if branch == "low" {
				low := h.pull("low", map[string]string{"api/low": "l\n"})
				on, all = "low", append(all, low)
				h.paused(low)
				h.Comment("ann", low, "/land")
				h.says(low, "in the queue")
			}
			n := h.pullOn("topic", on, map[string]string{"web/a": "a\n"})
			if all = append(all, n); on == "main" {
				h.paused(n)
			}
			h.Comment("ann", n, "/land")
			h.says(n, "in the queue")
			h.check(n, "queued")
			h.seen()
			tip := h.Head(branch)
			mustNot(t, h.DeleteBranch("ada", branch))
			h.says(n, "Out of the queue: the pull request was closed", "reopen it")
			h.check(n, "cancelled")
			if branch == "main" {
				h.away("there is no branch main any more; restore it")
			}
			mustNot(t, h.RestoreBranch("ada", branch, tip))
			if branch == "main" {
				h.reachable()
			}
			for _, p := range all {
				h.Reopen("ann", p)
			}
			h.seen()
			h.says(n, "Out of the queue: the pull request was closed") // nobody has asked again
			for _, p := range all {
				h.Comment("ann", p, "/land")
			}
			for _, p := range all {
				h.says(p, "in the queue")
				h.check(p, "queued")
			}
			h.Comment("max", n, "/queue resume")
			for _, p := range all {
				h.landed(p)
			}
		})
	}
}

// TestPullRequestEnds: whatever ends a pull request ends its place in the queue,
// with words.
func TestPullRequestEnds(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	queued := func(branch string) int {
		n := h.pull(branch, map[string]string{branch: "x\n"})
		h.Comment("ann", n, "/land")
		h.says(n, "in the queue")
		return n
	}
	first := h.pull("first", map[string]string{"first": "x\n"})
	h.paused(first)

	head := queued("head-deleted")
	mustNot(t, h.DeleteBranch("ann", "head-deleted"))
	h.says(head, "Out of the queue: the pull request was closed")

	fork := must(h.Fork("bob"))
	must(fork.Commit("bob", forgetest.Commit{Branch: "forked", Files: map[string]string{"f": "f\n"}}))
	n := must(h.OpenPull("bob", "bob:forked", "main", "From a fork"))
	h.Comment("ann", n, "/land")
	h.says(n, "in the queue")
	fork.DeleteRepository() // its commits are still at refs/pull: it may land
	h.Comment("max", first, "/queue resume")
	h.landed(n)
	if text := strings.Join(h.comments(n), ""); !strings.Contains(text, "Landed") {
		t.Error(text)
	}
}

func (h *hub) comments(n int) (out []string) {
	for _, c := range h.Comments(n) {
		out = append(out, c.Body)
	}
	return out
}

// renaming has two changes wait, proven, and returns them with what was built.
func (h *hub) renaming() (first, second, built int) {
	h.proven()
	first, second = h.pull("first", map[string]string{"a": "a\n"}), h.pull("second", map[string]string{"b": "b\n"})
	h.paused(first)
	h.Comment("ann", first, "/land")
	h.says(first, "1st of 1")
	h.Comment("bob", second, "/land")
	h.boarded(first, second)
	h.says(first, "1st of", "landings are paused") // of 1 where it was proven before the second came: that alone edits nothing
	h.says(second, "2nd of 2", "asked for by `bob`")
	h.seen()
	h.quiet()
	return first, second, h.built()
}

// built is how many builds were asked for.
func (h *hub) built() int {
	return h.asked(func(n queue.Note) bool { return n.What == "build-asked" })
}

// renamed lands them, in order, on what the branch is called by now, with nothing
// built that had been.
func (h *hub) renamed(first, second, built int, branch string) {
	h.Helper()
	h.Comment("max", first, "/queue resume")
	h.landed(first)
	h.landed(second, "asked for by `bob`")
	if got := h.built(); got != built {
		h.Errorf("%d builds, and %d before the branch was renamed", got, built)
	}
	for _, n := range []int{first, second} {
		if got := git(h.T, h.Dir(), "merge-base", h.Pull(n).Head, branch); got != h.Pull(n).Head {
			h.Errorf("#%d is not on %s, which is %s", n, branch, h.Head(branch))
		}
	}
	for _, n := range []int{first, second} {
		for _, c := range h.CI.Checks(h.Pull(n).Head) {
			if c.Conclusion != "success" || c.Name != "submitqueue" {
				h.Errorf("#%d: a check that says something else: %+v", n, c)
			}
		}
	}
	if got := h.notes("cancelled") + h.notes("parked") + h.notes("rejected"); got != 0 {
		h.Errorf("%d lost their places", got)
	}
}

// A target branch that somebody has chosen, and that is renamed, takes its pull
// requests with it. They keep their places, and are told what is waited for. Under
// its old name, or served under the new one, all goes on.
func TestTargetBranchRenamed(t *testing.T) {
	t.Parallel()
	start := func(h *hub, branch string) { h.start(hubOptions{workers: workers.NewInstant(4), branch: branch}) }
	for name, back := range map[string]func(h *hub) (branch string){
		"and back":    func(h *hub) string { mustNot(h.T, h.RenameBranch("ada", "trunk", "main")); return "main" },
		"served anew": func(h *hub) string { h.stop(); start(h, "trunk"); return "trunk" },
		"restarted, then served anew": func(h *hub) string {
			h.stop()
			start(h, "main")
			h.away("--branch trunk")
			h.stop()
			start(h, "trunk")
			return "trunk"
		},
	} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
			first, second, built := h.renaming()
			mustNot(t, h.RenameBranch("ada", "main", "trunk"))
			h.away("the branch main was renamed to trunk; everything keeps its place: serve the new name (--branch trunk), or give the branch its old name")
			for _, path := range []string{"/queue", "/api/queue"} {
				if _, page := h.page(path + "?queue=" + url.QueryEscape(hubQueue)); !strings.Contains(page, "waiting: the branch main was renamed to trunk; everything keeps its place") {
					t.Errorf("%s does not say it:\n%s", path, page)
				}
			}
			for _, n := range []int{first, second} {
				h.says(n, "in the queue: the target branch was renamed", "The target branch was renamed: from `main` to `trunk`. Everything keeps its place", "(`--branch`)")
				h.check(n, "queued")
			}
			branch := back(h)
			h.reachable()
			h.says(first, "1st of", "in the queue: landings are paused")
			h.renamed(first, second, built, branch)
		})
	}
}

// Where nobody has chosen the branch, the queue goes along, whatever is heard of it.
func TestOwnBranchRenamed(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]int{"all is heard": 0, "only pull requests are": 2, "only the repository is": 4} {
		t.Run(name, func(t *testing.T) {
			storetest.OneOf(t, 3)
			o := func(branch string) hubOptions {
				return hubOptions{workers: workers.NewInstant(4), follow: true, branch: branch}
			}
			h := newHub(t, o("main"))
			first, second, built := h.renaming()
			h.github.DropWebhooks(lost)
			mustNot(t, h.RenameBranch("ada", "main", "trunk"))
			on := func(branch string) {
				h.Helper()
				h.until("the queue is that of "+branch, func(c *speculation.Core) bool {
					m := c.State().Main
					return m.Branch == branch && m.Away == "" && string(m.Tip) == h.Head(branch)
				})
			}
			on("trunk")
			h.seen()
			h.says(first, "1st of")
			h.stop()
			h.start(o("main"))
			on("trunk")
			h.stop()
			h.start(o("trunk")) // somebody finds it by what it is called now
			on("trunk")
			h.renamed(first, second, built, "trunk")
			mustNot(t, h.RenameBranch("ada", "trunk", "main"))
			on("main")
			h.landed(h.land("third", map[string]string{"c": "c\n"}))
		})
	}
}

// GitHub may tell pull requests of their branch's new name before it says what became
// of the branch: nobody leaves the queue for that.
func TestPullRequestsKnowTheNewNameFirst(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), follow: true})
	first, second, built := h.renaming()
	h.github.Fail(forgetest.Fault{Path: "/repos/acme/shop/branches/main", Status: 404, Times: 1000})
	mustNot(t, h.RenameBranch("ada", "main", "trunk"))
	h.until("a pull request is to be looked at once more", func(c *speculation.Core) bool {
		for _, r := range c.State().Requests {
			if r.Twice {
				return true
			}
		}
		return false
	})
	h.github.Heal()
	h.until("the queue is that of trunk", func(c *speculation.Core) bool {
		m := c.State().Main
		return m.Branch == "trunk" && m.Away == "" && string(m.Tip) == h.Head("trunk")
	})
	h.seen()
	h.says(first, "1st of")
	h.renamed(first, second, built, "trunk")
}

// A server that looked where a branch is kept before another one was renamed to it
// serves no second queue of it.
func TestBranchThatIsKeptElsewhereByNow(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), follow: true})
	first, second, built := h.renaming()
	mustNot(t, h.RenameBranch("ada", "main", "trunk"))
	h.until("the queue is that of trunk", func(c *speculation.Core) bool { return c.State().Main.Branch == "trunk" })
	late := app.NewOwner(app.OwnerOptions{Queue: "acme/shop@trunk", Branch: "trunk", Name: "late", Store: h.store, Forge: h.adapter, Mirror: h.mirror,
		Workers: workers.NewInstant(1), Analyzers: analyzers, Now: time.Now, Log: h.log})
	live, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- late.Run(live) }()
	for !strings.Contains(late.Away(), "starts again") {
		changed := late.Changed()
		if strings.Contains(late.Away(), "starts again") {
			break
		}
		select {
		case <-changed:
		case <-time.After(patience):
			t.Fatalf("away: %q", late.Away())
		}
	}
	if err := late.Ready(); err == nil || !strings.Contains(err.Error(), "is served by the queue acme/shop@main") {
		t.Errorf("ready: %v", err)
	}
	stop()
	mustNot(t, <-ended)
	h.renamed(first, second, built, "trunk")
}

// A queue does not go where another one has its changes: one branch has one queue.
func TestBranchRenamedToOneWithAQueue(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), follow: true})
	token := must(h.store.Acquire(t.Context(), "acme/shop@trunk", "another", time.Hour))
	first, second, built := h.renaming()
	mustNot(t, h.RenameBranch("ada", "main", "trunk"))
	h.away("the branch main was renamed to trunk, which has a queue of its own; let that one end, or give the branch its old name")
	h.says(first, "the target branch was renamed")
	mustNot(t, h.store.Release(t.Context(), "acme/shop@trunk", token))
	mustNot(t, h.RenameBranch("ada", "trunk", "main"))
	h.reachable()
	h.renamed(first, second, built, "main")
}

// A pull request that somebody gives another base is not one whose base was renamed.
func TestRetargetedIsNotRenamed(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), follow: true})
	first, second, _ := h.renaming()
	must(h.Commit("ada", forgetest.Commit{Branch: "trunk", From: "main", Files: map[string]string{"t": "t\n"}}))
	third := h.land("third", map[string]string{"c": "c\n"})
	h.says(third, "3rd of 3")
	h.Retarget("ann", third, "trunk")
	h.says(third, "Out of the queue: it now asks for another branch", "`trunk`, and this queue lands on `main`")
	h.check(third, "cancelled")
	h.Comment("max", first, "/queue resume")
	h.landed(first)
	h.landed(second)
}

// What was delivered while the server was down is asked for again: GitHub lists
// labels by no time, so nothing else tells of this one.
func TestWebhooksOfADowntime(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.seen()
	h.stop()
	h.Label("ann", n, "land")
	mustNot(t, h.github.WaitDelivered(t.Context()))
	h.start(hubOptions{workers: workers.NewInstant(4)})
	h.landed(n)
	again := 0
	for _, d := range h.github.Deliveries() {
		if d.Redelivery {
			again++
		}
	}
	if again == 0 {
		t.Error("nothing was delivered again")
	}
}

// redeliverer is a GitHub with another way to ask for lost webhooks.
type redeliverer struct {
	forge.Forge
	redeliver func(ctx context.Context, since time.Time) (int, error)
}

func (r *redeliverer) Capabilities() forge.Capabilities {
	can := r.Forge.Capabilities()
	can.Redeliverer = r
	return can
}

func (r *redeliverer) Redeliver(ctx context.Context, since time.Time) (int, error) {
	return r.redeliver(ctx, since)
}

// A delivery that fails once more is asked for again soon, and not with the next look at
// all that was missed.
func TestWebhookThatFailsAgainIsAskedForSoon(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.seen()
	h.stop()
	h.Label("ann", n, "land")
	mustNot(t, h.github.WaitDelivered(t.Context()))
	h.start(hubOptions{workers: workers.NewInstant(4), again: 10 * time.Millisecond, missed: time.Hour,
		forge: func(f forge.Forge) forge.Forge {
			asked := 0
			return &redeliverer{f, func(ctx context.Context, since time.Time) (int, error) {
				if asked++; asked == 1 {
					return 1, nil // and that attempt fails, as where the server does not listen yet
				}
				return f.Capabilities().Redeliverer.Redeliver(ctx, since)
			}}
		}})
	h.landed(n)
}

// What was lost in a downtime is asked for until GitHub has answered, although what
// was missed otherwise is known by then; after a weekend, too.
func TestWebhooksOfADowntimeAreAskedForUntilGitHubAnswers(t *testing.T) {
	asked, heard := make(chan time.Time), false
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), talkative: true, http: true, missed: time.Millisecond,
		forge: func(f forge.Forge) forge.Forge {
			return &redeliverer{f, func(ctx context.Context, since time.Time) (int, error) {
				select {
				case asked <- since:
				case <-ctx.Done():
				}
				if !heard {
					heard = true
					return 0, &forge.Transient{Err: errors.New("bad gateway")}
				}
				return f.Capabilities().Redeliverer.Redeliver(ctx, since)
			}}
		}})
	first, again, third := <-asked, <-asked, <-asked
	if down := time.Since(first); down < 70*time.Hour {
		t.Errorf("at the start, what was lost in the last %v is asked for", down)
	}
	if !again.Equal(first) {
		t.Errorf("asked for what was lost since %v, without an answer; then only since %v", first, again)
	}
	if !third.After(again) {
		t.Errorf("the same again: %v", third)
	}
	go func() {
		for range asked {
		}
	}()
	h.proven()
}
