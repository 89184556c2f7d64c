package app_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// intakeOf makes the intake, which the owner tells of names.
func (h *hub) intakeOf(o app.IntakeOptions) *app.Intake {
	h.intake = app.NewIntake(o)
	return h.intake
}

// reachable waits until the queue can reach its repository again.
func (h *hub) reachable() {
	h.Helper()
	h.until("the repository is within reach", func(c *speculation.Core) bool { return c.State().Main.Away == "" })
	if away := h.owner.Away(); away != "" {
		h.Errorf("away: %s", away)
	}
}

// A repository that is renamed, and one that is given to another owner, keeps its
// queue with all that is in it.
func TestRepositoryMoves(t *testing.T) {
	for name, to := range map[string]string{"renamed": "acme/store", "transferred": "globex/shop"} {
		t.Run(name, func(t *testing.T) {
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
	for name, c := range map[string]struct {
		away, back func(h *hub)
		says       string
	}{
		"suspended":           {func(h *hub) { h.github.Suspend("acme", true) }, func(h *hub) { h.github.Suspend("acme", false) }, "suspended"},
		"repository taken":    {func(h *hub) { h.github.RemoveFromInstallation("acme", "shop") }, func(h *hub) { h.github.AddToInstallation("acme", "shop") }, "taken from the App's installation"},
		"suspended, unspoken": {func(h *hub) { h.github.DropWebhooks(1); h.github.Suspend("acme", true) }, func(h *hub) { h.github.Suspend("acme", false) }, "suspended"},
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
			resume := func(comment string) { // of somebody who uses the server's own interface
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

// A target branch that is renamed takes its pull requests with it: each is told
// so, and the queue says what it is called now.
func TestTargetBranchRenamed(t *testing.T) {
	h := newHub(t, hubOptions{workers: workers.NewInstant(4)})
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.says(n, "1st of 1")
	mustNot(t, h.RenameBranch("ada", "main", "trunk"))
	h.away("there is no branch main any more; restore it, or serve the queue of another branch (--branch); the default branch is trunk")
	h.says(n, "Out of the queue: it now asks for another branch", "`trunk`")
	mustNot(t, h.RenameBranch("ada", "trunk", "main"))
	h.reachable()
	h.Comment("max", n, "/queue resume")
	h.Comment("ann", n, "/land")
	h.landed(n)
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

// deaf is a GitHub that does not answer at first when it is asked for lost webhooks.
type deaf struct {
	*github.Forge
	asked chan time.Time
	heard bool
}

func (d *deaf) Redeliver(ctx context.Context, since time.Time) (int, error) {
	select {
	case d.asked <- since:
	case <-ctx.Done():
	}
	if !d.heard {
		d.heard = true
		return 0, &forge.Transient{Err: errors.New("bad gateway")}
	}
	return d.Forge.Redeliver(ctx, since)
}

// What was lost in a downtime is asked for until GitHub has answered, although what
// was missed otherwise is known by then; after a weekend, too.
func TestWebhooksOfADowntimeAreAskedForUntilGitHubAnswers(t *testing.T) {
	d := &deaf{asked: make(chan time.Time)}
	h := newHub(t, hubOptions{workers: workers.NewInstant(4), talkative: true, missed: time.Millisecond,
		forge: func(f forge.Forge) forge.Forge { d.Forge = f.(*github.Forge); return d }})
	first, again, third := <-d.asked, <-d.asked, <-d.asked
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
		for range d.asked {
		}
	}()
	h.proven()
}
