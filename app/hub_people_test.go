package app_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/speculation"
)

func TestLabelLandsAndCancels(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Label("ann", n, "land")
	h.says(n, "landings are paused", "not now")
	h.check(n, "queued")
	h.Unlabel("ann", n, "land")
	h.says(n, "Out of the queue: taken out by command", "`ann`")
	h.check(n, "cancelled")
	h.Comment("max", n, "/queue resume")
	h.Label("bob", n, "land")
	h.landed(n, "asked for by `bob`")
}

func TestLanes(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land priority=high")
	h.says(n, "Sorry, `ann`, the lane `high` needs the permission `maintain`")
	h.Comment("ann", n, "/land priority=urgent")
	h.says(n, "There is no lane `urgent`. The lanes, the most urgent first: `high`, `normal`, `low`.")
	h.Comment("ann", n, "/land")
	h.says(n, "landings are paused", "asked for by `ann`.")
	h.Comment("max", n, "/land priority=high")
	h.says(n, "landings are paused", "asked for by `ann`, in the lane `high`.")
	h.Label("bob", n, "land:low")
	h.says(n, "landings are paused", "asked for by `ann`, in the lane `low`.")
	h.Unlabel("bob", n, "land:low")
	h.says(n, "Out of the queue: taken out by command", "`bob`")
	h.Comment("max", n, "/land priority=high\n/queue resume")
	h.landed(n, "asked for by `max`, in the lane `high`")
}

func TestCancelAndStatus(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("ann", n, "/land cancel")
	h.says(n, "not in the queue")
	h.paused(n)
	h.Comment("ann", n, "Looks good.\n\n/land\n")
	h.says(n, "1st of 1 in the queue", "landings are paused")
	h.Comment("bob", n, "/land status")
	h.seen()
	h.says(n, "1st of 1 in the queue")
	h.Comment("bob", n, "/land cancel")
	h.says(n, "Out of the queue", "`bob`")
	h.Comment("bob", n, "/land help")
	h.says(n, "`/land retry` forgets past failures")
}

func TestNearMissIsAnswered(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("ann", n, "/lnad")
	h.says(n, "Command not understood", "`/lnad`")
	h.Comment("ann", n, "/land")
	h.landed(n)
}

func TestReaderGetsOnePoliteAnswer(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.Comment("rea", n, "/land")
	h.says(n, "Sorry, `rea`", "needs the permission `write`")
	h.Comment("eve", n, "/land")
	h.says(n, "Sorry, `eve`")
	h.Comment("rea", n, "/land cancel")
	h.says(n, "Sorry, `rea`")
	h.seen()
	if ch := h.change(n); ch.ID != "" {
		t.Errorf("it is in the queue: %+v", ch)
	}
	h.says(n, "Sorry")
}

func TestBotsAndEditsAreIgnored(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.proven() // comments of before the start are read as they stand, to the second
	h.Comment(h.github.Bot(), n, "/land")
	id := h.Comment("ann", n, "Looks good")
	h.EditComment("ann", id, "/land")
	h.Comment("ann", n, "> /land\n\n```\n/land\n```\n    /land\n")
	h.Comment("ann", h.OpenIssue("ann", "An issue"), "/land")
	h.seen()
	if ch := h.change(n); ch.ID != "" {
		t.Errorf("it is in the queue: %+v", ch)
	}
	if c := h.Comments(n); len(c) != 3 {
		t.Errorf("%d comments, want the three above", len(c))
	}
}

func TestPushTakesTheChangeOut(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.pull("topic", map[string]string{"a": "a\n"})
	h.paused(n)
	h.Comment("ann", n, "/land")
	h.says(n, "1st of 1")
	old := h.Pull(n).Head
	h.push("ann", "topic", map[string]string{"bad": "bad\n"})
	h.says(n, "Out of the queue: new commits were pushed", old[:10])
	h.Comment("max", n, "/queue resume")
	h.push("ann", "topic", map[string]string{"bad": ""})
	h.seen()
	if h.Pull(n).Merged {
		t.Error("what nobody approved has landed")
	}
	h.says(n, "Out of the queue")
	h.Comment("ann", n, "/land")
	h.landed(n)
}

func TestDraftClosedAndOtherBase(t *testing.T) {
	h := newHub(t, hubOptions{})
	h.push("ann", "release", map[string]string{"r": "r\n"})
	h.push("ann", "topic", map[string]string{"a": "a\n"})
	n := must(h.OpenDraft("ann", "topic", "main", "A draft"))
	h.Comment("ann", n, "/land")
	h.says(n, "🚧 Waiting: the pull request is a draft", "Mark it ready")
	h.paused(n)
	h.SetDraft("ann", n, false)

	h.Comment("ann", n, "/land")
	h.says(n, "1st of 1")
	h.seen() // the command has been taken in, or it would meet what follows
	h.SetDraft("ann", n, true)
	h.says(n, "Out of the queue: the pull request is a draft")
	h.SetDraft("ann", n, false)

	h.Comment("ann", n, "/land")
	h.says(n, "1st of 1")
	h.seen() // the command has been taken in, or it would meet what follows
	h.Retarget("ann", n, "release")
	h.says(n, "Out of the queue: it now asks for another branch", "`release`", "change its base back, then comment `/land` again")
	h.Comment("ann", n, "/land")
	h.says(n, "Change its base")
	h.Retarget("ann", n, "main")

	h.Comment("ann", n, "/land")
	h.says(n, "1st of 1")
	h.seen() // the command has been taken in, or it would meet what follows
	h.ClosePull("ann", n)
	h.says(n, "Out of the queue: the pull request was closed")
	h.Comment("ann", n, "/land")
	h.says(n, "is not open")
	h.Reopen("ann", n)
	h.Comment("max", n, "/queue resume")
	h.Comment("ann", n, "/land")
	h.landed(n)
}

func TestProtectedPathsNeedAnAdministrator(t *testing.T) {
	h := newHub(t, hubOptions{})
	n := h.land("topic", map[string]string{".github/workflows/ci.yml": "on: push\n"})
	h.waiting(n, "an administrator must approve this commit", "`.github/workflows/ci.yml`")
	h.Review("max", n, "APPROVED", "", "")
	h.seen()
	h.waiting(n, "an administrator must approve this commit")
	old := h.Pull(n).Head
	h.push("ann", "topic", map[string]string{"more": "more\n"})
	h.says(n, "Out of the queue: new commits were pushed")
	h.Review("ada", n, "APPROVED", old, "")
	h.Comment("ann", n, "/land")
	h.waiting(n, "an administrator must approve this commit")
	h.Review("ada", n, "APPROVED", "", "")
	h.landed(n)

	other := h.land("other", map[string]string{".github/workflows/cd.yml": "on: push\n"})
	h.waiting(other, "an administrator must approve this commit")
	h.Comment("ada", other, "/land")
	h.landed(other)
}

func TestRepeatedAndShuffledWebhooks(t *testing.T) {
	h := newHub(t, hubOptions{files: areas()})
	h.proven()
	h.github.HoldWebhooks()
	h.github.DuplicateWebhooks(100)
	a, b := h.land("a", map[string]string{"api/a": "a\n"}), h.land("b", map[string]string{"web/b": "b\n"})
	red := h.land("red", map[string]string{"web/bad": "bad\n"})
	h.Comment("bob", a, "/land")
	h.Label("ann", b, "land")
	h.github.ShuffleWebhooks(rand.New(rand.NewPCG(1, 2)))
	h.github.ReleaseWebhooks()
	h.landed(a)
	h.landed(b)
	h.rejected(red, "web is bad")
	h.seen()
	for _, d := range h.github.Deliveries() { // once more, hours later
		status, _ := h.deliver(d.Event, d.GUID, hubSecret, d.Payload)
		if status/100 != 2 {
			t.Errorf("%s again: %d", d.Event, status)
		}
	}
	h.seen()
	h.quiet()
	h.landed(a)
	h.landed(b)
	h.rejected(red)
	for what, want := range map[string]int{"landed": 2, "rejected": 1, "entered": 3} {
		if got := h.notes(what); got != want {
			t.Errorf("%d times %s, want %d", got, what, want)
		}
	}
}

func TestLostWebhooksAreFound(t *testing.T) {
	h := newHub(t, hubOptions{missed: 100 * time.Millisecond})
	h.proven()
	h.github.DropWebhooks(1000)
	n := h.land("topic", map[string]string{"a": "a\n"})
	h.landed(n)

	other := h.pull("other", map[string]string{"b": "b\n"})
	h.Comment("max", other, "/queue pause not now")
	h.until("the queue is paused", func(c *speculation.Core) bool { return c.State().Main.Paused != nil })
	h.Comment("ann", other, "/land")
	h.says(other, "1st of 1")
	h.push("ann", "other", map[string]string{"b": "b, better\n"})
	h.says(other, "new commits were pushed")

	must(h.Commit("ada", forgetest.Commit{Branch: "main", Files: map[string]string{"c": "c\n"}}))
	h.proven()
}
