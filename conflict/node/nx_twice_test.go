package node_test

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
)

// Nx takes one project of a name, whatever the names of the packages: "The following
// projects are defined in multiple locations". Two changes that each add one must
// not land on the passes of each alone.
func TestTwoChangesAddAnNxProjectOfOneName(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"package.json": `{"workspaces": ["packages/*"]}`, "nx.json": "{}",
		"packages/a/package.json": `{"name": "@s/a"}`, "packages/a/a.js": "",
	})
	add := func(tree *conflicttest.Tree, name string) *conflicttest.Tree {
		return tree.With("packages/"+name+"/package.json", `{"name": "@s/`+name+`"}`).
			With("packages/"+name+"/project.json", `{"name": "ui"}`)
	}
	var passed []queue.TargetHash
	for _, tree := range []*conflicttest.Tree{base, add(base, "x"), add(base, "y")} {
		passed = append(passed, mustAnalyze(t, settings, tree).Targets()...)
	}
	both := mustAnalyze(t, settings, add(add(base, "x"), "y")).Targets()
	if !slices.ContainsFunc(both, func(h queue.TargetHash) bool { return !slices.Contains(passed, h) }) {
		t.Error("nothing of the two together is new: they land, and Nx runs nothing any more")
	}
}
