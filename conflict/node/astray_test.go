package node_test

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
)

// A tool of the root that names a folder runs nothing at all once the folder is gone: Jest
// "Could not find a config file based on provided values", Vitest "references a
// non-existing file or a directory", TypeScript TS5083. A change that names a package and
// one that deletes it must not land on the passes of each alone.
func TestASettingNamesAPackageThatIsDeleted(t *testing.T) {
	for file, text := range map[string]string{
		"jest.config.js":          `module.exports = { projects: ["<rootDir>/packages/a", "<rootDir>/packages/x"] }`,
		"vitest.workspace.ts":     `export default ["packages/a", './packages/x/vitest.config.ts']`,
		"tsconfig.json":           `{"files": [], "references": [{"path": "./packages/a"}, {"path": "./packages/x"}]}`,
		"web/vitest.workspace.ts": `export default ["packages/a", './packages/x']`,
	} {
		dir := ""
		if file[:4] == "web/" {
			dir = "web/"
		}
		base := conflicttest.New(map[string]string{
			dir + "package.json":            `{"workspaces": ["packages/*"]}`,
			dir + "packages/a/package.json": `{"name": "a"}`, dir + "packages/a/a.js": "", dir + "packages/a/tsconfig.json": "{}",
			dir + "packages/x/package.json": `{"name": "x"}`, dir + "packages/x/x.js": "", dir + "packages/x/tsconfig.json": "{}",
		})
		names := func(tree *conflicttest.Tree) *conflicttest.Tree { return tree.With(file, text) }
		deletes := func(tree *conflicttest.Tree) *conflicttest.Tree { return tree.Without(dir + "packages/x") }
		var passed []queue.TargetHash
		for _, tree := range []*conflicttest.Tree{base, names(base), deletes(base)} {
			passed = append(passed, mustAnalyze(t, settings, tree).Targets()...)
		}
		both := mustAnalyze(t, settings, deletes(names(base))).Targets()
		if !slices.ContainsFunc(both, func(h queue.TargetHash) bool { return !slices.Contains(passed, h) }) {
			t.Errorf("%s: nothing of the two together is new: they land, and the tool runs nothing any more", file)
		}
	}
}
