package node_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/node"
)

// TestScenarios tries npm workspaces by themselves and under Turborepo and Nx.
func TestScenarios(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"npm":   nil,
		"turbo": {"turbo.json": `{"tasks": {"build": {"dependsOn": ["^build"]}}}`},
		"nx":    {"nx.json": `{"targetDefaults": {"build": {"dependsOn": ["^build"]}}}`},
	} {
		t.Run(name, func(t *testing.T) { scenarios(t, name, files) })
	}
}

func scenarios(t *testing.T, name string, more map[string]string) {
	root := func(globs string) string {
		return `{"name": "root", "packageManager": "npm@10.0.0", "workspaces": [` + globs + `]}`
	}
	base := plain(more).With("package.json", root(`"packages/*"`)).With("package-lock.json", `{"lockfileVersion": 3, "packages": {"node_modules/x": {"version": "1.0.0"}, "packages/d": {"dependencies": {"x": "^1.0.0"}}}}`).
		With("packages/d/package.json", `{"name": "d", "dependencies": {"x": "^1.0.0"}}`).With("packages/d/data.txt", "data").With("packages/d/empty", "")
	lock := base.Content("package-lock.json")
	uses := func(from, to string) *conflicttest.Tree {
		return base.With("packages/"+from+"/package.json", `{"name": "`+from+`", "dependencies": {"`+to+`": "*"}}`)
	}
	given := map[string]conflicttest.Scenario{
		"a condition and its flag":                     {None: "package.json has no conditions"},
		"a listing and a new file":                     {One: base.With("package.json", root(`"packages/*", "more/*"`)).With("more/m/package.json", `{"name": "m"}`), Affected: "*", Other: base.With("more/k/package.json", `{"name": "k"}`), Conflict: true},
		"lines of a definition shift":                  {One: base.With("packages/b/package.json", "\n\n"+base.Content("packages/b/package.json")), Affected: "b"}, // its own text
		"an empty file is deleted":                     {One: base.Without("packages/d/empty"), Affected: "d"},
		"an executable bit is flipped":                 {One: base.WithMode("packages/d/data.txt", "100755", "data"), Affected: "d"},
		"a file moves between targets":                 {One: base.Without("packages/d/data.txt").With("packages/c/data.txt", "data"), Affected: "c d"},
		"a dependency is reversed":                     {One: uses("a", "b").With("packages/b/package.json", `{"name": "b"}`), Affected: "a b", Other: base.With("packages/b/new.js", ""), Conflict: true},
		"a cycle of two changes":                       {One: uses("a", "c"), Affected: "a b", Other: uses("c", "a"), Conflict: true},
		"each adds one target":                         {One: base.With("packages/n/package.json", `{"name": "n"}`).With("packages/n/x.js", ""), Affected: "n", Other: base.With("packages/n/package.json", `{"name": "n"}`).With("packages/n/y.js", ""), Conflict: true},
		"one deletes what the other starts to use":     {One: base.Without("packages/c"), Affected: "", Other: uses("a", "c"), Conflict: true},
		"a directory that is looked into gains a file": {One: base.With("packages/d/deep/new.txt", ""), Affected: "d"},
		"a nested package appears":                     {One: base.With("package.json", root(`"packages/**"`)).With("packages/d/sub/package.json", `{"name": "sub"}`), Affected: "*", Other: base.With("packages/d/sub/x.txt", ""), Conflict: true},
		"the lock file only":                           {One: base.With("package-lock.json", lock[:len(lock)-1]+" }"), Affected: ""},
		"a broken definition":                          {One: base.With("packages/c/package.json", "{"), Unknown: "packages/c/package.json:1"},
	}
	var tool func(*testing.T, string) (map[string]string, error)
	if _, err := exec.LookPath(name); err == nil && name == "turbo" { // TestNoEdgeOfTurboIsMissing says where it is required
		tool = turboHashes
	}
	switch name {
	case "turbo": // a task of c waits for one of d
		given["a condition and its flag"] = conflicttest.Scenario{
			One: base.With("turbo.json", `{"tasks": {"build": {"dependsOn": ["^build"]}, "c#build": {"dependsOn": ["d#build"]}}}`), Affected: "*",
			Other: base.With("packages/d/data.txt", "more"), Conflict: true}
	case "nx": // c depends on whatever has a tag, and d gets it
		given["a condition and its flag"] = conflicttest.Scenario{
			One: base.With("packages/c/project.json", `{"implicitDependencies": ["tag:shared"]}`), Affected: "c",
			Other: base.With("packages/d/project.json", `{"tags": ["shared"]}`), Conflict: true}
	}
	conflicttest.Suite{Base: base, Analyze: func(tree conflict.Tree) (*conflict.Snapshot, error) {
		return conflict.Analyze(t.Context(), node.New(), settings, tree)
	}, Given: given, Tool: tool}.Run(t)
}

// turboHashes are the hashes that Turborepo itself keeps results under.
func turboHashes(t *testing.T, dir string) (map[string]string, error) {
	cmd := exec.CommandContext(t.Context(), "turbo", "run", "build", "--dry=json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TURBO_TELEMETRY_DISABLED=1", "CI=true")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var plan struct {
		Tasks []struct{ Package, Hash string }
	}
	must(t, json.Unmarshal(out, &plan))
	hashes := map[string]string{}
	for _, task := range plan.Tasks {
		hashes[task.Package] += task.Hash
	}
	return hashes, nil
}
