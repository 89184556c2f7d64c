package github_test

import (
	"errors"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
)

func TestPropose(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.commit("submitqueue-revert/main/1", "")
	p := forge.Proposal{Branch: "submitqueue-revert/main/1", Base: "main", Title: `Revert "x"`, Body: "It turned main red."}
	if _, err := w.forge.Proposed(w.ctx, p.Branch, p.Base); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("before it is opened: %v", err)
	}
	first := must(w.forge.Propose(w.ctx, p))
	got := w.repo.Pull(first.Number)
	if got.Title != p.Title || got.Body != p.Body || got.Base != "main" || got.Branch != p.Branch || string(first.Head) != got.Head ||
		got.State != "open" || got.Author != w.server.Bot() || first.URL == "" {
		t.Errorf("it is %+v, and is said to be %+v", got, first)
	}
	again := must(w.forge.Propose(w.ctx, p))
	found := must(w.forge.Proposed(w.ctx, p.Branch, p.Base))
	if again.Number != first.Number || found.Number != first.Number || found.Head != first.Head || len(w.server.Requests("POST", "/repos/o/r/pulls")) != 1 {
		t.Errorf("proposed again: %+v, found: %+v", again, found)
	}
	w.repo.ClosePull("ann", first.Number)
	if next := must(w.forge.Propose(w.ctx, p)); next.Number == first.Number {
		t.Error("one that is closed is proposed")
	}
	p.Branch = "gone"
	if _, err := w.forge.Propose(w.ctx, p); err == nil {
		t.Error("a branch that is not there is proposed")
	}
}

func TestProposeWithoutPermission(t *testing.T) {
	w := newWorld(t, forgetest.Options{Permissions: map[string]string{"metadata": "read", "contents": "write", "pull_requests": "read"}})
	w.commit("b", "")
	if _, err := w.forge.Propose(w.ctx, forge.Proposal{Branch: "b", Base: "main", Title: "t"}); !errors.Is(err, forge.ErrForbidden) {
		t.Errorf("%v", err)
	}
}
