package node_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// plain is a workspace of three packages: b depends on a.
func plain(more map[string]string) *conflicttest.Tree {
	t := conflicttest.New(map[string]string{
		"package.json":            `{"workspaces": ["packages/*"]}`,
		"packages/a/package.json": `{"name": "a", "version": "1.0.0"}`,
		"packages/a/index.js":     "",
		"packages/b/package.json": `{"name": "b", "dependencies": {"a": "workspace:^"}}`,
		"packages/b/index.js":     "",
		"packages/c/package.json": `{"name": "c"}`,
		"packages/c/index.js":     "",
	})
	for path, content := range more {
		t = t.With(path, content)
	}
	return t
}

// Defects that users of other tools have reported.
func TestKnownDefectsOfOtherTools(t *testing.T) {
	with := func(path, content string) *conflicttest.Tree { return plain(map[string]string{path: content}) }
	lock := with("package-lock.json", `{"lockfileVersion": 3, "packages": {"node_modules/x": {"version": "1.0.0"}, "packages/c": {"dependencies": {"x": "^1.0.0"}}}}`).
		With("packages/c/package.json", `{"name": "c", "dependencies": {"x": "^1.0.0"}}`)
	tests := []struct {
		name     string
		from, to *conflicttest.Tree
		want     string
	}{
		{"turborepo 2162: an update in the lock file is seen", lock, lock.With("package-lock.json", strings.Replace(lock.Content("package-lock.json"), `"version": "1.0.0"`, `"version": "1.0.1"`, 1)), "c"},
		{"turborepo 2862: space in the lock file reaches nobody", lock, lock.With("package-lock.json", lock.Content("package-lock.json")+"\n\n"), ""},
		{"turborepo 10869: the root package.json reaches all", plain(nil), with("package.json", `{"workspaces": ["packages/*"], "scripts": {"x": "y"}}`), "a b c"},
		{"turborepo 9137: dependents are reached", plain(nil), with("packages/a/index.js", "x"), "a b"},
		{"nx 23036: nx.json reaches all", with("nx.json", "{}"), with("nx.json", `{"namedInputs": {}}`), "a b c"},
		{"nx 578: a deleted file is seen", plain(nil), plain(nil).Without("packages/a/index.js"), "a b"},
		{"nx 31361: a moved package is seen, with those that depended on it", plain(nil), plain(nil).Without("packages/a").With("packages/moved/package.json", `{"name": "a", "version": "1.0.0"}`), "a b"},
		{"nx: a deleted package reaches those that depended on it", plain(nil), plain(nil).Without("packages/a"), "b"},
		{"bazel-diff 276: an empty file is not a missing one", with("packages/a/empty", ""), plain(nil), "a b"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, affected(t, tt.from, tt.to)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Each case is what c depends on by, and the file whose edit must reach it.
func TestWaysToDependOnAPackage(t *testing.T) {
	manifest := func(fields string) map[string]string {
		return map[string]string{"packages/c/package.json": `{"name": "c", ` + fields + `}`}
	}
	source := func(code string) map[string]string { return map[string]string{"packages/c/deep/x.tsx": code} }
	for name, files := range map[string]map[string]string{
		"workspace protocol":          manifest(`"devDependencies": {"a": "workspace:*"}`),
		"workspace protocol, alias":   manifest(`"dependencies": {"other": "workspace:a@*"}`),
		"npm alias":                   manifest(`"dependencies": {"other": "npm:a@^1.0.0"}`),
		"file":                        manifest(`"optionalDependencies": {"other": "file:../a"}`),
		"link":                        manifest(`"dependencies": {"other": "link:../a/"}`),
		"a tag":                       manifest(`"peerDependencies": {"a": "latest"}`),
		"a script that leaves":        manifest(`"scripts": {"build": "node ../a/index.js"}`),
		"import":                      source(`import x from "a"`),
		"import of types":             source(`import type {X} from 'a/types'`),
		"dynamic import":              source("const x = await import(\n  /* chunk */ `a/${name}`)"),
		"require after an apostrophe": source("// don't\nconst {\n  y} = require ( 'a' )"),
		"export":                      source(`export * from 'a'`),
		"mock":                        source(`jest.mock("a", () => 1)`),
		"a path":                      source(`import x from "../../a/index"`),
		"a path from the package":     source(`readFileSync("../a/index.js")`),
		"a style":                     {"packages/c/x.scss": `@use "~a/x";`},
		"a reference":                 {"packages/c/tsconfig.json": "{\n// build\n\"references\": [{\"path\": \"../a\"},]}"},
		"an extended configuration":   {"packages/c/tsconfig.json": `{"extends": "a/tsconfig.json"}`},
		"paths":                       {"packages/c/tsconfig.json": "\ufeff" + `{"compilerOptions": {"baseUrl": "..", "paths": {"#x/*": ["a/*"]}}}`, "packages/c/x.ts": `import '#x/index'`},
		"turbo, a task":               {"turbo.json": `{"pipeline": {"c#build": {"dependsOn": ["a#build"]}}}`},
		"turbo, all tasks":            {"turbo.json": `{"tasks": {"build": {"dependsOn": ["a#build"]}}} // JSONC`},
		"turbo, the package's own":    {"packages/c/turbo.json": `{"extends": ["//"], "tasks": {"build": {"dependsOn": ["a#build"]}}}`},
		"turbo, extends":              {"packages/c/turbo.json": `{"extends": ["//", "a"]}`},
		"turbo, inputs":               {"turbo.json": `{"tasks": {"c#build": {"inputs": ["$TURBO_DEFAULT$", "../a/*.js"]}}}`},
		"turbo, inputs from the root": {"turbo.json": `{"tasks": {"c#build": {"inputs": ["$TURBO_ROOT$/packages/a/**"]}}}`},
		"turbo, global":               {"turbo.json": `{"globalDependencies": ["packages/a/*.js"]}`},
		"nx, implicit":                {"nx.json": "{}", "packages/c/project.json": `{"name": "cc", "implicitDependencies": ["a"]}`},
		"nx, implicit on all":         {"nx.json": "{}", "packages/c/project.json": `{"name": "cc", "implicitDependencies": ["*", "!b"]}`},
		"nx, by the project's name":   {"nx.json": "{}", "packages/a/project.json": `{"name": "aa"}`, "packages/c/project.json": `{"name": "cc", "implicitDependencies": ["aa"]}`},
		"nx, by tag":                  {"nx.json": "{}", "packages/a/project.json": `{"tags": ["scope:x"]}`, "packages/c/project.json": `{"implicitDependencies": ["tag:scope:*"]}`},
		"nx, a task":                  {"nx.json": "{}", "packages/c/project.json": `{"targets": {"build": {"dependsOn": [{"projects": ["a"], "target": "build"}]}}}`},
		"nx, an executor":             {"nx.json": "{}", "packages/c/project.json": `{"targets": {"build": {"executor": "a:build"}}}`},
		"nx, inputs":                  {"nx.json": "{}", "packages/c/project.json": `{"targets": {"build": {"inputs": ["default", "{workspaceRoot}/packages/a/**/*"]}}}`},
		"nx, in package.json":         {"nx.json": "{}", "packages/c/package.json": `{"name": "c", "nx": {"implicitDependencies": ["a"]}}`},
		"nx, everybody's inputs":      {"nx.json": `{"namedInputs": {"shared": ["{workspaceRoot}/packages/a/index.js"]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			tree := plain(files)
			if got := affected(t, tree, tree.With("packages/a/index.js", "x")); !strings.Contains(got+" ", "c ") {
				t.Errorf("%q is affected", got)
			}
			if got := affected(t, tree, tree.With("packages/b/index.js", "x")); name != "nx, implicit on all" && got != "b" {
				t.Errorf("an edit of b: %q is affected", got)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for name, tt := range map[string]struct {
		tree *conflicttest.Tree
		want string
	}{
		"one name twice":          {plain(map[string]string{"packages/c/package.json": `{"name": "b"}`}), "./packages/b ./packages/c a"},
		"no name":                 {plain(map[string]string{"packages/c/package.json": `{}`}), "./packages/c a b"},
		"no possible name":        {plain(map[string]string{"packages/c/package.json": `{"name": "$(rm -rf x)"}`}), "./packages/c a b"},
		"a reserved name":         {plain(map[string]string{"packages/c/package.json": `{"name": "tree"}`}), "./packages/c a b"},
		"a key written twice":     {plain(map[string]string{"packages/c/package.json": `{"name": "x", "name": "y", "Name": "z"}`}), "a b y"},
		"a byte order mark":       {plain(map[string]string{"packages/c/package.json": "\ufeff" + `{"name": "c"}`}), "a b c"},
		"the root asks to be one": {plain(map[string]string{"pnpm-workspace.yaml": "packages: ['.', 'packages/*', '!packages/c']", "package.json": `{"name": "top"}`}), "a b top unowned"},
		"lerna":                   {plain(map[string]string{"package.json": "{}", "lerna.json": `{"packages": ["packages/a"]}`}), "a unowned"},
		"objects and negations":   {plain(map[string]string{"package.json": `{"workspaces": {"packages": ["./packages/*/", "!packages/b", "packages/b"]}}`}), "a b c"},
		"a single package":        {conflicttest.New(map[string]string{"package.json": `{"name": "one"}`, "src/x.js": "", "test/fixture/package.json": "{broken"}), "one"},
		"packages without a root": {conflicttest.New(map[string]string{"web/package.json": `{"name": "web"}`, "api/package.json": `{"name": "api"}`}), "api web"},
		"installed packages":      {plain(map[string]string{"node_modules/x/package.json": "{", "packages/a/node_modules/y/package.json": "{"}), "a b c unowned"},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, targets(t, tt.tree)); d != "" {
				t.Error(d)
			}
		})
	}
}
