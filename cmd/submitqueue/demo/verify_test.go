package demo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

func mustClone(t *testing.T, src Source) *Line {
	t.Helper()
	line, err := Clone(t.Context(), src, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return line
}

func TestVerifyFindsTheRedCommits(t *testing.T) {
	dir := mustRepository(t, Files{"state": "green\n"})
	one := mustBranch(t, dir, "one", "breaks it", Files{"state": "red\n"})
	mustMerge(t, dir, "one")
	mustMerge(t, dir, func() string { mustBranch(t, dir, "two", "adds", Files{"other": "x"}); return "two" }())
	mustBranch(t, dir, "three", "repairs it", Files{"state": "green\n"})
	mustMerge(t, dir, "three")

	line := mustClone(t, Source{URL: dir, Branch: "main"})
	if len(line.Commits) != 4 || line.Landed()[one] != 1 {
		t.Fatalf("line = %+v", line.Commits)
	}
	check := Check{Command: "cat state; grep -q green state; touch litter && git diff --quiet && grep -q green state"}
	for check.Workers = range 7 {
		line := mustClone(t, Source{URL: dir, Branch: "main"})
		var seen []int
		red, err := line.Verify(t.Context(), check, func(done int) { seen = append(seen, done) })
		if err != nil {
			t.Fatal(err)
		}
		if len(red) != 2 || red[0].Subject != "merge one" || red[1].Subject != "merge two" || red[0].Tail != "red" {
			t.Errorf("%d workers: red = %+v", check.Workers, red)
		}
		if !slices.Equal(seen, []int{0, 1, 2, 3, 4}) {
			t.Errorf("%d workers: progress = %v", check.Workers, seen)
		}
	}
	if line := mustClone(t, Source{URL: dir, Branch: "main", From: line.Commits[2].ID}); len(line.Commits) != 2 {
		t.Errorf("from the third on: %+v", line.Commits)
	}
	if _, err := Clone(t.Context(), Source{URL: dir, Branch: "main", From: one}, t.TempDir()); err == nil {
		t.Error("a commit beside the line was accepted as its start")
	}
}

func TestCloneFindsOddCommits(t *testing.T) {
	dir := mustRepository(t, Files{"a": "1\n"})
	mustBranch(t, dir, "side", "side", Files{"b": "1\n"})
	mustCommit(t, dir, "straight onto main", Files{"a": "2\n"})
	mustGit(t, dir, "merge", "--quiet", "--no-ff", "--no-commit", "side")
	mustCommit(t, dir, "an evil merge", Files{"c": "smuggled\n"})

	line := mustClone(t, Source{URL: dir, Branch: "main"})
	var odd []string
	for _, c := range line.Commits {
		odd = append(odd, c.Odd)
	}
	if got := strings.Join(odd, "; "); got != "; has 1 parents; is not what git makes of its parents" {
		t.Errorf("odd: %s", got)
	}
}

func TestVerifyStopsWhenInterrupted(t *testing.T) {
	dir := mustRepository(t, Files{"a": "1\n"})
	line := mustClone(t, Source{URL: dir, Branch: "main"})
	ctx, cancel := context.WithCancel(t.Context())
	// The check is a child of a child that would run for ever: the whole group must go.
	_, err := line.Verify(ctx, Check{Command: "(while :; do sleep 60; done) & wait"}, func(int) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}
