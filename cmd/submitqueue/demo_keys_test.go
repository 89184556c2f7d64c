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
	"github.com/submitqueue/submitqueue/queue/config"
)

// Every tracked file of the demo's repository is in some key, or matches a glob
// that its configuration ignores in writing.
func TestEveryFileOfTheDemoIsInSomeKey(t *testing.T) {
	plan, err := demo.Generate(demo.Size{Seed: 1, Changes: 24})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(config.Path, []byte(plan.Base[config.Path]))
	if err != nil {
		t.Fatal(err)
	}
	a, err := analyzers.All().Of(cfg.Analysis)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := func(tree conflict.Tree) *conflict.Snapshot {
		t.Helper()
		s, err := conflict.Analyze(context.Background(), a, cfg.Analysis, tree)
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
		if keys := conflict.Keys(before, after, cfg.Steps, cfg.Steps); len(keys) > 0 {
			continue
		}
		if !slices.ContainsFunc(cfg.Analysis.Ignore, func(glob string) bool { ok, _ := doublestar.Match(glob, path); return ok }) {
			t.Errorf("changing %s changes no key, and no glob ignores it", path)
		}
		ignored++
	}
	if ignored == 0 || ignored > len(plan.Base)/4 {
		t.Errorf("%d of %d files are ignored", ignored, len(plan.Base))
	}
}
