package github_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/queue"
)

// A check suite on a commit shows that it was there by then, and so does a check of ours that has
// not ended; GitHub tells nothing else.
func TestWasHead(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	n := w.pull("topic")
	head := queue.CommitID(w.repo.Pull(n).Head)
	was := func(at time.Duration) bool {
		t.Helper()
		got, err := w.forge.WasHead(w.ctx, n, head, queue.At(time.Now().Add(at)))
		w.must(err)
		return got
	}
	if was(time.Hour) {
		t.Error("nothing is known of the head")
	}
	w.must(w.forge.Check(w.ctx, forge.Check{Name: "submitqueue", Head: head, State: forge.CheckRunning, Title: "3rd in line"}))
	if !was(-time.Minute) {
		t.Error("the queue has said on the head that it is pending")
	}
	if was(-time.Hour) {
		t.Error("somebody else may have asked for a head that was pushed after the command")
	}
	w.must(w.forge.Check(w.ctx, forge.Check{Name: "submitqueue", Head: head, State: forge.CheckCancelled, Title: "not in the queue"}))
	if was(-time.Hour) {
		t.Error("the queue has spoken of the head, but perhaps only since then")
	}
	w.repo.CI.SetCheck("ci", string(head), "unit", "success")
	if was(-time.Hour) || !was(time.Hour) {
		t.Error("the suite of a check is from now")
	}
}
