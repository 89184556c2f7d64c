package local_test

import (
	"errors"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// A proposal is there once, and is asked to land only by somebody.
func TestPropose(t *testing.T) {
	r := newRepo(t)
	head := r.commit("revert", "Revert it")
	f := r.open()
	p := forge.Proposal{Branch: "revert", Base: "main", Title: "Revert it"}
	if _, err := f.Proposed(t.Context(), "revert", "main"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("before it is made: %v", err)
	}
	first, err := f.Propose(t.Context(), p)
	if err != nil || first.Head != head || !first.Open || first.Base != "main" || len(first.ApprovedBy) != 0 {
		t.Fatalf("%+v, %v", first, err)
	}
	again, err := r.open().Propose(t.Context(), p)
	if err != nil || again.Number != first.Number {
		t.Errorf("proposed again: %+v, %v", again, err)
	}
	asked := func() int {
		events, err := f.Missed(t.Context(), time.Time{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return len(events)
	}
	if n := asked(); n != 0 {
		t.Errorf("%d events ask to land it", n)
	}
	n, err := f.Open(t.Context(), "revert", "ann")
	if err != nil || n != first.Number || asked() != 1 {
		t.Errorf("asked to land it: request %d, %v, %d events", n, err, asked())
	}
	if pr, err := f.PullRequest(t.Context(), n); err != nil || len(pr.ApprovedBy) != 1 || pr.Author != "ann" {
		t.Errorf("%+v, %v", pr, err)
	}
	p.Branch = "gone"
	if _, err := f.Propose(t.Context(), p); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a branch that is not there: %v", err)
	}
}
