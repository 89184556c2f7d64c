package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// moved waits until the heads of a push have moved and the forge is waited for.
func (h *hub) moved() (main string) {
	h.Helper()
	h.until("the heads have moved", func(c *speculation.Core) bool {
		p := c.State().Push
		return p != nil && p.Stage == queue.AwaitingSeen
	})
	return h.Head("main")
}

// waited is a queue that lands by squash and waits for heads for long, on a GitHub that
// takes note of none until it is told to.
func waited(t *testing.T, o hubOptions) *hub {
	o.files = methods("method: squash, head_wait: 2m")
	h := newHub(t, o)
	h.proven()
	h.HoldHeads()
	return h
}

// Main does not move before GitHub has taken note of the head, which its webhook tells or,
// where that is lost, a look at the pull request.
func TestMainWaitsForTheHead(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]int{"told": 0, "looked for": 1} {
		t.Run(name, func(t *testing.T) {
			h := waited(t, hubOptions{})
			n := h.land("topic", map[string]string{"a": "a\n"})
			before := h.moved()
			if h.Head("topic") == h.Pull(n).Head || h.change(n).Phase != queue.Landing {
				t.Errorf("the branch is at %s, the pull request is %+v", h.Head("topic"), h.Pull(n))
			}
			h.seen()
			h.github.DropWebhooks(lost)
			if now := h.Head("main"); now != before {
				t.Errorf("main was at %s and is at %s", before, now)
			}
			h.ReleaseHeads()
			h.landed(n, "by squash", "moved to that commit first, so that it is shown as merged")
			h.green()
		})
	}
}

// GitHub takes no note of the head in time: main moves all the same, and the pull request,
// which GitHub closes, says why. Its issues are closed, once, and its branch is deleted, as
// after a merge.
func TestMainWaitsForTheHeadNoLonger(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash, head_wait: 1s, messages: {squash: {title: x, body: y}}")})
	h.DeleteMerged(true)
	h.proven()
	h.HoldHeads()
	open, other := h.OpenIssue("ann", "A bug"), h.OpenIssue("ann", "Another")
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "a\n"}}))
	n := must(h.Open(forgetest.Pull{Author: "ann", Branch: "topic", Base: "main", Title: "T", Body: fmt.Sprintf("Fixes #%d, `fixes #%d`, fixes else/where#%d, fixes #4711.", open, other, other)}))
	h.Comment("ann", n, "/land")
	h.eventually("it has landed", func() bool { return h.change(n).Phase == queue.Landed })
	h.ReleaseHeads()
	h.says(n, "✅ Landed", "moved to that commit first; ", "had not taken note of that", "with the label `landed`", "its description closes are closed")
	h.eventually("it is closed, its issue is, and its branch is gone", func() bool {
		p := h.Pull(n)
		return p.State == "closed" && !p.Merged && slices.Contains(p.Labels, "landed") && !h.Issue(open) && h.Head("topic") == ""
	})
	if !h.Issue(other) {
		t.Error("an issue is closed that the description only quotes")
	}
	h.ReopenIssue(open)
	h.stop()
	h.start(hubOptions{})
	h.Comment("max", n, "/land status")
	h.seen()
	h.quiet()
	if !h.Issue(open) {
		t.Error("an issue that was opened again is closed again")
	}
	h.green()
	h.seen()
}

// GitHub says after the landing was told that it shows the pull request as closed: the comment,
// which has said that it is shown as merged, is written again at once.
func TestShownAsClosedAfterTheLanding(t *testing.T) {
	h := waited(t, hubOptions{progress: time.Minute})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.moved()
	h.ReleaseHeads()
	h.landed(n, "so that it is shown as merged")
	h.seen()
	mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "closed", Body: queue.Closed{Number: n}}))
	h.until("that is known and published", func(c *speculation.Core) bool {
		v, _ := c.PullView(n)
		return v.Change.Verdict.Closed && len(c.State().Actions) == 0
	})
	if said, _ := bot(h.Comments(n)); strings.Contains(said, "so that it is shown as merged") {
		t.Errorf("it says\n%s", said)
	}
}

// Somebody moves main while the head is where it was moved to: the head is put back, the
// approvals that GitHub has dismissed because of our push are not asked for again, and the
// change lands on what main is by then.
func TestLostMainPutsTheHeadBack(t *testing.T) {
	h := waited(t, hubOptions{})
	h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, Stale: true}})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	head := h.Head("topic")
	h.Review("bob", n, "APPROVED", "", "")
	h.Comment("ann", n, "/land")
	h.moved()
	first := h.Head("topic")
	h.push("ada", "main", map[string]string{"else": "else\n"})
	h.eventually("the head has moved anew", func() bool { now := h.Head("topic"); return now != first && now != head })
	if ch := h.change(n); string(ch.Head) != head || ch.Phase != queue.Landing || !ch.Kept {
		t.Errorf("%+v", ch)
	}
	h.ReleaseHeads()
	h.landed(n, "by squash", "so that it is shown as merged")
	if got := git(t, h.Dir(), "show", "main:else"); got != "else" {
		t.Errorf("main's file says %q", got)
	}
	h.seen()
}

// GitHub takes note at once of a head that is then put back: the webhooks of dismissals and
// of both heads come before the push has its answer, or after all of it.
func TestHeadsOfOurOwnAreNoNews(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"early": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			h := newHub(t, hubOptions{files: methods("method: squash, head_wait: 2m")})
			h.proven()
			h.asks(forgetest.Protection{Reviews: forgetest.Reviews{Count: 1, Stale: true}})
			n := h.pull("topic", map[string]string{"a": "a\n"})
			h.Review("bob", n, "APPROVED", "", "")
			h.seen()
			answer := make(chan struct{})
			if late {
				h.github.HoldWebhooks()
			}
			h.github.Fail(forgetest.Fault{Method: "POST", Path: "/acme/shop.git/git-receive-pack", Until: answer, Times: 1})
			mustNot(t, h.store.Append(t.Context(), hubQueue, queue.Event{ID: "land", Body: queue.Commented{Number: n, Comment: "1", Author: "ann", Body: "/land"}}))
			h.until("the head is being moved", func(c *speculation.Core) bool {
				p := c.State().Push
				return p != nil && p.Stage == queue.PushingHeads
			})
			h.eventually("the head has moved", func() bool { return h.Pull(n).Head != string(h.change(n).Head) })
			if !late {
				h.seen()
			}
			h.push("ada", "main", map[string]string{"else": "else\n"})
			close(answer)
			h.landed(n, "so that it is shown as merged")
			h.github.ReleaseWebhooks()
			h.seen()
			h.quiet()
			h.owner.Read(func(c *speculation.Core) {
				if p := c.State().Pulls[n]; p.Notice.Code != "" || p.Pushes != 0 {
					t.Errorf("our own pushes are taken for somebody's: %+v", p)
				}
			})
			if ch := h.change(n); ch.Phase != queue.Landed || !ch.Kept {
				t.Errorf("after all webhooks: %+v", ch)
			}
			h.green()
		})
	}
}

// The server dies between the head and main: the next one goes on where it was, or puts
// the head back where main has moved meanwhile.
func TestRestartBetweenHeadAndMain(t *testing.T) {
	t.Parallel()
	for name, else_ := range map[string]string{"goes on": "", "puts back": "else\n"} {
		t.Run(name, func(t *testing.T) {
			h := waited(t, hubOptions{})
			n := h.land("topic", map[string]string{"a": "a\n"})
			h.moved()
			h.stop()
			first := h.Head("topic")
			if else_ != "" {
				h.push("ada", "main", map[string]string{"else": else_})
			}
			h.start(hubOptions{})
			if else_ != "" {
				h.eventually("the head has moved anew", func() bool { now := h.Head("topic"); return now != first && now != string(h.change(n).Head) })
			}
			h.ReleaseHeads()
			h.landed(n, "by squash", "so that it is shown as merged")
			if got := git(t, h.Dir(), "rev-list", "--count", "main", "--grep", "Head: "); got != "1" {
				t.Errorf("it has landed %s times", got)
			}
			h.seen()
		})
	}
}

// What somebody pushes on top of a moved head is theirs: too late to be landed, and not
// undone by putting anything back.
func TestPushOnAMovedHead(t *testing.T) {
	h := waited(t, hubOptions{})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.moved()
	theirs := h.push("ann", "topic", map[string]string{"b": "b\n"})
	h.push("ada", "main", map[string]string{"else": "else\n"})
	h.ReleaseHeads()
	h.says(n, "New commits were pushed")
	if now := h.Head("topic"); now != theirs {
		t.Errorf("the branch was at %s and is at %s", theirs, now)
	}
	h.seen()
}

// A head that may not be put back ends the change, with a word on what to do.
func TestHeadThatCannotBePutBack(t *testing.T) {
	h := waited(t, hubOptions{})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.moved()
	h.ProtectBranch("topic", forgetest.Protection{})
	h.push("ada", "main", map[string]string{"else": "else\n"})
	h.says(n, "moved to", "for a landing that has not come about", "Push that commit to the branch")
	h.ReleaseHeads()
	h.seen()
}

// With `head: leave` nobody's branch is touched.
func TestHeadsStay(t *testing.T) {
	h := newHub(t, hubOptions{files: methods("method: squash, head: leave, messages: {squash: {title: x, body: y}}")})
	h.proven()
	open := h.OpenIssue("ann", "A bug")
	must(h.Commit("ann", forgetest.Commit{Branch: "topic", Files: map[string]string{"a": "a\n"}}))
	n := must(h.Open(forgetest.Pull{Author: "ann", Branch: "topic", Base: "main", Title: "T", Body: fmt.Sprintf("Closes #%d", open)}))
	head := h.Head("topic")
	h.Comment("ann", n, "/land")
	h.closedAsLanded(n)
	if h.Issue(open) {
		t.Error("its issue is open")
	}
	if now := h.Head("topic"); now != head {
		t.Errorf("the branch was at %s and is at %s", head, now)
	}
	if said := h.says(n, "✅ Landed"); strings.Contains(said, "moved") {
		t.Errorf("it says\n%s", said)
	}
	h.check(n, "success")
	h.green()
}
