package node_test

import (
	"context"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/node"
)

func TestHostileTrees(t *testing.T) {
	base := plain(nil)
	for name, tt := range map[string]struct {
		tree    conflict.Tree
		unknown string // how the reason begins; empty if there is a graph
	}{
		"a manifest that links to itself":        {base.WithMode("packages/c/package.json", conflict.ModeLink, "package.json"), "packages/c/package.json: the link leads to no file"},
		"a manifest that links out":              {base.WithMode("packages/c/package.json", conflict.ModeLink, "../../../../etc/passwd"), "packages/c/package.json: the link leads to no file"},
		"a manifest that links to another":       {base.WithMode("packages/c/package.json", conflict.ModeLink, "../../shared.json").With("shared.json", `{"name": "c"}`), ""},
		"a manifest that is a submodule":         {base.WithMode("packages/c/package.json", conflict.ModeSubmodule, "x"), "packages/c/package.json: a submodule is no file"},
		"a package that is a submodule":          {base.WithMode("packages/sub", conflict.ModeSubmodule, "x"), ""},
		"a package that is a link":               {base.WithMode("packages/again", conflict.ModeLink, "a"), ""},
		"a source that links to itself":          {base.WithMode("packages/c/x.js", conflict.ModeLink, "x.js"), ""},
		"globs that leave the tree":              {base.With("package.json", `{"workspaces": ["../../*", "/etc/*", "packages/*"]}`), ""},
		"a glob that is none":                    {base.With("package.json", `{"workspaces": ["packages/[a"]}`), "package.json: the workspaces hold"},
		"a glob that is too long":                {base.With("package.json", `{"workspaces": ["`+strings.Repeat("*a", 500)+`"]}`), "package.json: the workspaces hold"},
		"paths that leave the tree":              {base.With("packages/c/package.json", `{"dependencies": {"x": "file:../../../../.."}}`).With("packages/c/tsconfig.json", `{"extends": "../../../../../x", "references": [{"path": "/etc"}]}`), ""},
		"configurations that extend in a circle": {base.With("packages/c/tsconfig.json", `{"extends": "./tsconfig.b.json"}`).With("packages/c/tsconfig.b.json", `{"extends": "./tsconfig.json"}`), ""},
		"a broken turbo.json":                    {base.With("turbo.json", "{\n\n{"), "turbo.json:3: "},
		"a broken nx.json":                       {base.With("nx.json", "[]"), "nx.json:1: "},
		"a broken project.json":                  {base.With("nx.json", "{}").With("packages/c/project.json", "{"), "packages/c/project.json:1: "},
		"a broken pnpm-workspace.yaml":           {base.With("pnpm-workspace.yaml", "packages:\n  - 'a"), "pnpm-workspace.yaml: "},
		"deep nesting":                           {base.With("packages/c/package.json", strings.Repeat(`{"a":`, 100_000)), "packages/c/package.json:1: "},
		"a large source":                         {base.With("packages/c/x.js", strings.Repeat("'../", 1<<20)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			snap := mustAnalyze(t, settings, tt.tree)
			if (snap.Unknown == "") != (tt.unknown == "") || !strings.HasPrefix(snap.Unknown, tt.unknown) {
				t.Errorf("unknown is %q", snap.Unknown)
			}
			if len(snap.Targets()) == 0 {
				t.Error("no targets")
			}
		})
	}
}

// A tsconfig that cannot be read may mean any edge: its package is part of
// whatever changes.
func TestABrokenTSConfigDependsOnTheWholeTree(t *testing.T) {
	tree := plain(map[string]string{"packages/c/tsconfig.json": "{"})
	if got := affected(t, tree, tree.With("packages/b/index.js", "x")); got != "b c" {
		t.Errorf("%q is affected", got)
	}
}

// With any content of a package's file, the tree has a graph or a reason, and
// an edit of the package is seen.
func FuzzFiles(f *testing.F) {
	for _, content := range []string{`{"name": "x", "dependencies": {"a": "npm:b@^1 || 2"}}`, `{"extends": ["../x"], "compilerOptions": {"paths": {"*": ["*"]}}} // x`,
		`{"tasks": {"a#b": {"dependsOn": ["^c#d"], "inputs": ["../*"]}}}`, `{"implicitDependencies": ["*", "!b"], "namedInputs": {"x": ["{workspaceRoot}/**"]}}`,
		"import '../../a'\nrequire(`a/${b}`)", "packages: ['**']\ncatalogs: {x: {a: 1}}", `{"workspaces": {"packages": ["**"]}}`} {
		f.Add(content)
	}
	a := node.New()
	f.Fuzz(func(t *testing.T, content string) {
		for _, file := range []string{"package.json", "pnpm-workspace.yaml", "turbo.json", "nx.json", "lerna.json", "tsconfig.json", "packages/c/package.json",
			"packages/c/turbo.json", "packages/c/tsconfig.json", "packages/c/project.json", "packages/c/x.ts"} {
			from := plain(map[string]string{"nx.json": "{}", file: content})
			to := from.With("packages/c/new.js", "x")
			main, err := conflict.Analyze(context.Background(), a, settings, from)
			must(t, err)
			change, err := conflict.Analyze(context.Background(), a, settings, to)
			must(t, err)
			if (main.Unknown == "") != (change.Unknown == "") || strings.Contains(main.Unknown, "target name") || strings.Contains(main.Unknown, "two ") {
				t.Errorf("%s: %q, %q", file, main.Unknown, change.Unknown)
			}
			if len(conflict.FootprintOf(main, change, "m").Affected) == 0 {
				t.Errorf("%s: an edit affects nothing", file)
			}
		}
	})
}
