package github_test

import (
	"errors"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/forgetest"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestOpenFrom(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.commit("low", "")
	w.commit("high", "")
	low := must(w.repo.OpenPull("ann", "low", "main", "Low"))
	again := must(w.repo.OpenPull("ann", "low", "high", "Low, somewhere else"))
	over := must(w.repo.OpenPull("ann", "low", "main", "Over"))
	w.repo.ClosePull("ann", over)
	fork := must(w.repo.Fork("bob"))
	must(fork.Commit("bob", forgetest.Commit{Branch: "low", Files: map[string]string{"f": "f"}}))
	must(w.repo.OpenPull("bob", "bob:low", "main", "A fork's branch of the same name"))

	got := must(w.forge.OpenFrom(w.ctx, "low"))
	if len(got) != 2 || got[0].Number != low || got[0].Base != "main" || got[1].Number != again || got[1].Base != "high" ||
		string(got[0].Head) != w.repo.Head("low") || !got[0].Open || got[0].Fork {
		t.Errorf("pull requests of low: %+v", got)
	}
	if got := must(w.forge.OpenFrom(w.ctx, "nobody/s & co")); len(got) != 0 {
		t.Errorf("pull requests of nobody's branch: %+v", got)
	}
}

func TestRetarget(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.commit("low", "")
	w.commit("high", "")
	n := must(w.repo.OpenPull("ann", "high", "low", "High"))
	writes := func() int { return len(w.server.Requests("PATCH", "/repos/o/r/pulls/1")) }
	for range 2 { // the second has nothing to do
		if err := w.forge.Retarget(w.ctx, n, "main"); err != nil {
			t.Fatal(err)
		}
	}
	if p := w.repo.Pull(n); p.Base != "main" || writes() != 1 {
		t.Errorf("base %s after %d writes, want main after 1", p.Base, writes())
	}
	if err := w.forge.Retarget(w.ctx, 99, "main"); !errors.Is(err, forge.ErrNotFound) {
		t.Errorf("a pull request that is not there: %v", err)
	}
	w.repo.ClosePull("ann", n)
	if err := w.forge.Retarget(w.ctx, n, "low"); err != nil || writes() != 1 {
		t.Errorf("one that is closed: %v, %d writes", err, writes())
	}
}

// A pull request says which of GitHub's own stacks it is in, that its webhook tells, and
// its base is not asked to be changed; once the stack is dissolved, it is.
func TestStackOfGitHub(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.commit("low", "")
	w.commit("high", "")
	low := must(w.repo.OpenPull("ann", "low", "main", "Low"))
	high := must(w.repo.OpenPull("ann", "high", "low", "High"))
	if p := must(w.forge.PullRequest(w.ctx, high)); p.Stack != (forge.Stack{}) {
		t.Errorf("without a stack: %+v", p.Stack)
	}
	n := must(w.repo.Stack("ann", low, high))
	if p := must(w.forge.PullRequest(w.ctx, high)); p.Stack != (forge.Stack{Number: n, Base: "main", Position: 2, Size: 2}) || p.Base != "low" {
		t.Errorf("the upper one: base %s, stack %+v", p.Base, p.Stack)
	}
	if err := w.forge.Retarget(w.ctx, high, "main"); !errors.Is(err, forge.ErrForbidden) {
		t.Errorf("retarget: %v", err)
	}
	if err := w.forge.Retarget(w.ctx, high, "low"); err != nil {
		t.Errorf("retarget to where it is: %v", err)
	}
	if n := len(w.server.Requests("PATCH", "/repos/o/r/pulls/2")); n != 0 {
		t.Errorf("%d requests to change the base of a member", n)
	}
	w.repo.Unstack(n)
	if err := w.forge.Retarget(w.ctx, high, "main"); err != nil || w.repo.Pull(high).Base != "main" {
		t.Errorf("retarget after unstack: %v, base %s", err, w.repo.Pull(high).Base)
	}
}

func TestSurveyStacks(t *testing.T) {
	w := newWorld(t, forgetest.Options{})
	w.commit("low", "")
	w.commit("high", "")
	if s := w.forge.Survey(w.ctx, "main"); s.Stacks != 0 || s.StacksErr != nil {
		t.Errorf("without any: %d, %v", s.Stacks, s.StacksErr)
	}
	must(w.repo.Stack("ann", must(w.repo.OpenPull("ann", "low", "main", "Low")), must(w.repo.OpenPull("ann", "high", "low", "High"))))
	if s := w.forge.Survey(w.ctx, "main"); s.Stacks != 1 || s.StacksErr != nil {
		t.Errorf("with one: %d, %v", s.Stacks, s.StacksErr)
	}
}
