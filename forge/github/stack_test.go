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
