package main

import (
	"context"
	"slices"
	"testing"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/demo"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
)

// Every tracked file of the demo's repository is in some key, or matches a glob
// that its configuration ignores in writing.
func TestEveryFileOfTheDemoIsInSomeKey(t *testing.T) {
	plan, err := demo.Generate(demo.Size{Seed: 1, Changes: 24})
	if err != nil {
		t.Fatal(err)
	}
	config, err := queue.ParseConfig(queue.ConfigPath, []byte(plan.Base[queue.ConfigPath]))
	if err != nil {
		t.Fatal(err)
	}
	a, err := analyzers.Of(config.Analysis)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := func(tree conflict.Tree) *conflict.Snapshot {
		t.Helper()
		s, err := conflict.Analyze(context.Background(), a, config.Analysis, tree)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	tree := conflicttest.New(plan.Base)
	before := snapshot(tree)
	if before.Unknown != "" || len(before.Targets()) < 12 {
		t.Fatalf("the demo has %d targets, unknown %q", len(before.Targets()), before.Unknown)
	}
	ignored := 0
	for path, text := range plan.Base {
		after := snapshot(tree.With(path, text+"\n// another line\n"))
		if keys := conflict.Keys(before, after, config.Steps, config.Steps); len(keys) > 0 {
			continue
		}
		if !slices.ContainsFunc(config.Analysis.Ignore, func(glob string) bool { ok, _ := doublestar.Match(glob, path); return ok }) {
			t.Errorf("changing %s changes no key, and no glob ignores it", path)
		}
		ignored++
	}
	if ignored == 0 || ignored > len(plan.Base)/4 {
		t.Errorf("%d of %d files are ignored", ignored, len(plan.Base))
	}
}
