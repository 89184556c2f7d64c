package gitlab_test

import (
	"testing"
	"time"

	fake "github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
	"github.com/submitqueue/submitqueue/queue"
)

// GitLab tells since when a merge request has its head.
func TestWasHead(t *testing.T) {
	w := newWorld(t, fake.Options{})
	p := w.project
	p.Push("ann", "topic", nil)
	n := p.Open(fake.Opening{Author: "ann", Source: "topic"})
	w.server.Settle()
	first := w.project.Look(n).SHA
	for at, want := range map[time.Duration]bool{-time.Hour: false, time.Hour: true} {
		got, err := w.forge.WasHead(t.Context(), n, queue.CommitID(first), queue.At(time.Now().Add(at)))
		if err != nil || got != want {
			t.Errorf("at %s: %v, %v", at, got, err)
		}
	}
	p.Force("ann", "topic", p.MergeCommit(p.Tip("topic"), p.Tip("main")))
	w.server.Settle()
	if got, err := w.forge.WasHead(t.Context(), n, queue.CommitID(first), queue.At(time.Now().Add(time.Hour))); err != nil || got {
		t.Errorf("%s is the head no more: %v, %v", first, got, err)
	}
}
