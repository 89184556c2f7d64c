package app_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/speculation"
)

// with adds lines to the configuration of plain.
func with(lines string) map[string]string {
	return map[string]string{".submitqueue.yml": oneStep + lines}
}

// A command may stand in a comment, in a review, and in a comment on a line of
// the diff; each gets its reaction where the forge has one.
func TestCommandsFromReviews(t *testing.T) {
	h := newHub(t, hubOptions{})
	a := h.pull("a", map[string]string{"a": "a\n"})
	id := h.ReviewComment("ann", a, "Nice trick.\n/land")
	h.landed(a, "asked for by `ann`")
	h.reacted(id, "eyes")

	b := h.pull("b", map[string]string{"b": "b\n"})
	h.Review("bob", b, "APPROVED", "", "Thanks!\n/land")
	h.landed(b, "asked for by `bob`")

	c := h.pull("c", map[string]string{"c": "c\n"})
	inline := h.ReviewComment("ann", c, "What is this?")
	h.EditReviewComment("ann", inline, "/land")
	review := h.Review("bob", c, "COMMENTED", "", "Hm")
	h.EditReview("bob", c, review, "/land")
	h.ReviewComment("ann", c, "> /land\n\n```suggestion\n/land\n```")
	h.ReviewComment("rea", c, "/land")
	h.says(c, "Sorry, `rea`")
	h.seen()
	if ch := h.change(c); ch.ID != "" {
		t.Errorf("it is in the queue: %+v", ch)
	}
}

// reacted waits for a reaction to a review comment.
func (h *hub) reacted(id int64, want string) {
	h.Helper()
	ctx, cancel := context.WithTimeout(h.Context(), patience)
	defer cancel()
	is := func(r forgetest.Reaction) bool { return r.Content == want }
	if h.WaitFor(ctx, func(v forgetest.View) bool { return slices.ContainsFunc(v.ReviewCommentReactions(id), is) }) != nil {
		h.Fatalf("no reaction %s: %v", want, h.ReviewCommentReactions(id))
	}
}

func TestLostReviewCommentsAreFound(t *testing.T) {
	h := newHub(t, hubOptions{missed: 100 * time.Millisecond})
	h.proven()
	h.github.DropWebhooks(1000)
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.ReviewComment("ann", n, "/land")
	h.landed(n)
}

func TestBotsThatAreAllowed(t *testing.T) {
	h := newHub(t, hubOptions{files: with("permissions: {bots: [\"renovate[bot]\"]}\n")})
	h.github.AddBot("renovate[bot]")
	h.github.AddBot("other[bot]")
	h.proven()
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("other[bot]", n, "/land")
	h.Review("other[bot]", n, "COMMENTED", "", "/land")
	h.ReviewComment("other[bot]", n, "/land")
	h.Label("other[bot]", n, "land")
	h.seen()
	if ch := h.change(n); ch.ID != "" {
		t.Errorf("a bot that nobody allowed: %+v", ch)
	}
	h.Comment("renovate[bot]", n, "/land")
	h.landed(n, "asked for by `renovate[bot]`")

	p := h.pull("workflow", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	h.Comment("renovate[bot]", p, "/land")
	h.says(p, "an administrator must approve this commit")
	h.Review("ada", p, "APPROVED", "", "")
	h.Label("renovate[bot]", p, "land")
	h.landed(p)
}

func TestPermissionsByTeamAndName(t *testing.T) {
	h := newHub(t, hubOptions{unattended: true, files: with(`permissions:
  land: [maintain, "@acme/crew", rea]
  cancel: [admin]
  queue: ["@acme/oncall"]
queue:
  lanes:
    - {name: hot, least: ["@acme/oncall"]}
    - {name: normal}
`)})
	h.github.SetPermissions(map[string]string{"contents": "write", "pull_requests": "write", "issues": "write", "checks": "write",
		"statuses": "read", "metadata": "read", "members": "read"})
	h.github.SetTeam("acme/crew", "bob", "eve")
	h.github.SetTeam("acme/oncall", "eve")
	h.stop()
	h.start(hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("max", n, "/queue pause")
	h.says(n, "Sorry, `max`, this is for `acme/oncall`")
	h.Comment("eve", n, "/queue pause the release")
	h.until("the queue is paused", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
	h.Comment("ann", n, "/land")
	h.says(n, "Sorry, `ann`, this is for the permission `maintain`, `acme/crew` or `rea`")
	for _, user := range []string{"eve", "rea"} { // on the list, and without write access
		h.Comment(user, n, "/land")
		h.says(n, "Sorry, `"+user+"`, this needs the permission `write`")
	}
	h.Comment("bob", n, "/land")
	h.says(n, "1st of 1", "asked for by `bob`")
	h.Comment("bob", n, "/land cancel")
	h.says(n, "Sorry, `bob`, this needs the permission `admin`")
	h.Comment("bob", n, "/land priority=hot")
	h.says(n, "Sorry, `bob`, the lane `hot` is for `acme/oncall`")
	h.Comment("max", n, "/land")
	h.Comment("eve", n, "/queue resume")
	h.landed(n)
}

// A team cannot be read where the App may not: that is said, and nothing is done.
func TestTeamsNeedAPermission(t *testing.T) {
	h := newHub(t, hubOptions{files: with("permissions: {land: [\"@acme/crew\"]}\n")})
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.says(n, "could not be asked", "members")
	if ch := h.change(n); ch.ID != "" {
		t.Errorf("it is in the queue: %+v", ch)
	}
}

func TestMisspeltVerbsAreAnswered(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	for said, meant := range map[string]string{"/land cancle": "/land cancel", "/lnad": "/land", "/queue puase": "/queue pause", "/land statsu": "/land status"} {
		h.Comment("ann", n, said)
		h.says(n, "`"+said+"`. Did you mean `"+meant+"`?")
	}
}

// What GitHub merges by itself when checks are green is not ours: a pull request
// with auto-merge switched on is neither queued nor touched for it.
func TestAutoMergeIsLeftAlone(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.EnableAutoMerge("ann", n)
	h.seen()
	if ch := h.change(n); ch.ID != "" {
		t.Errorf("it is in the queue: %+v", ch)
	}
	h.Comment("ann", n, "/land")
	h.landed(n)
	if !h.AutoMerge(n) {
		t.Error("the queue has switched auto-merge off")
	}
}
