package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/conflict/node"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// settings let unowned files be a target, so that what is everybody's shows.
var settings = config.Analysis{Analyzer: node.Name, Unowned: config.UnownedTarget}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustAnalyze(t testing.TB, s config.Analysis, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	snap, err := conflict.Analyze(context.Background(), node.New(), s, tree)
	must(t, err)
	return snap
}

func mustFootprint(t testing.TB, from, to conflict.Tree) queue.Footprint {
	t.Helper()
	main, change := mustAnalyze(t, settings, from), mustAnalyze(t, settings, to)
	if main.Unknown != "" || change.Unknown != "" {
		t.Fatalf("unknown: %q, %q", main.Unknown, change.Unknown)
	}
	return conflict.FootprintOf(main, change, "m")
}

func affected(t testing.TB, from, to conflict.Tree) string {
	t.Helper()
	return strings.Join(mustFootprint(t, from, to).Affected, " ")
}

func targets(t testing.TB, tree conflict.Tree) string {
	t.Helper()
	snap := mustAnalyze(t, settings, tree)
	if snap.Unknown != "" {
		t.Fatal(snap.Unknown)
	}
	var names []string
	for _, x := range snap.Targets() {
		names = append(names, x.Target)
	}
	return strings.Join(names, " ")
}

// shop is a workspace with what is easy to get wrong.
func shop() *conflicttest.Tree {
	return conflicttest.New(map[string]string{
		"package.json":                       `{"name": "shop", "private": true, "workspaces": ["packages/*", "apps/**", "!apps/old"], "devDependencies": {"typescript": "^5"}}`,
		"tsconfig.base.json":                 `{"compilerOptions": {"paths": {"~money": ["./packages/money/src/index.ts"]}}} // everybody's`,
		"README.md":                          "shop",
		"tools/build.js":                     "build()",
		"packages/ui/package.json":           `{"name": "@shop/ui", "version": "1.2.0", "peerDependencies": {"react": "^18"}}`,
		"packages/ui/src/button.tsx":         `import React from "react"`,
		"packages/money/package.json":        `{"name": "money", "version": "2.0.0"}`,
		"packages/money/src/index.ts":        "export const x = 1",
		"packages/theme/package.json":        `{"name": "@shop/theme"}`,
		"packages/theme/theme.css":           "a{}",
		"packages/lone/package.json":         `{"name": "lone"}`,
		"packages/lone/fixture/package.json": `{broken`,
		"apps/web/package.json":              `{"name": "web", "dependencies": {"@shop/ui": "^1.0.0", "money": "^1"}}`,
		"apps/web/src/app.tsx":               "// don't\nimport '@shop/theme/theme.css'",
		"apps/web/e2e/package.json":          `{"name": "web-e2e", "devDependencies": {"web": "*"}}`,
		"apps/web/e2e/test.ts":               "test()",
		"apps/api/package.json":              `{"name": "api"}`,
		"apps/api/src/api.ts":                "import {x} from '~money'",
		"apps/old/package.json":              `{"name": "old"}`,
	})
}

func TestTargets(t *testing.T) {
	if d := cmp.Diff("@shop/theme @shop/ui api lone money unowned web web-e2e", targets(t, shop())); d != "" {
		t.Error(d)
	}
}

func TestWhatAnEditAffects(t *testing.T) {
	base := shop()
	const all = "@shop/theme @shop/ui api lone money unowned web web-e2e"
	tests := []struct {
		name string
		to   *conflicttest.Tree
		want string
	}{
		{"a package and those that depend on it", base.With("packages/ui/src/button.tsx", "x"), "@shop/ui web web-e2e"},
		{"a nested package is cut out, and its parent depends on it", base.With("apps/web/e2e/test.ts", "x"), "web web-e2e"},
		{"an import that is not declared", base.With("packages/theme/theme.css", "b{}"), "@shop/theme web web-e2e"},
		{"an import through paths; a range that does not match is none", base.With("packages/money/src/index.ts", ""), "api money"},
		{"a new file", base.With("packages/lone/new", ""), "lone"},
		{"a mode", base.WithMode("packages/lone/package.json", "100755", `{"name": "lone"}`), "lone"},
		{"a file of nobody", base.With("tools/build.js", "x"), "unowned"},
		{"a file that is no setting", base.With("README.md", "x"), "unowned"},
		{"what the globs exclude is nobody's", base.With("apps/old/x.js", ""), "unowned"},
		{"a setting of everybody", base.With("tsconfig.base.json", "{}"), all},
		{"a new setting of everybody", base.With(".nvmrc", "22"), all},
		{"a patch", base.With("patches/react+18.patch", ""), all},
		{"a removed package", base.Without("packages/theme"), "web web-e2e"},
		{"a package that a range begins to match", base.With("packages/money/package.json", `{"name": "money", "version": "1.0.0"}`), "api money web web-e2e"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, affected(t, base, tt.to)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestABrokenManifestIsUnknownWithItsLine(t *testing.T) {
	for content, want := range map[string]string{
		"{\n  \"name\": \"a\",\n  oops\n}": "packages/ui/package.json:3: ",
		"":                                 "packages/ui/package.json:1: ",
		"[]":                               "packages/ui/package.json:1: ",
		"null":                             "packages/ui/package.json:1: ",
		"{\n\"dependencies\": [\"a\"]}":    "packages/ui/package.json:2: dependencies is no object",
		"{\"name\": 5}":                    "packages/ui/package.json:1: name is no string",
		"{\n\n\"devDependencies\": {\n\"a\": 1}}": "packages/ui/package.json:4: a is no string",
	} {
		snap := mustAnalyze(t, settings, shop().With("packages/ui/package.json", content))
		if !strings.HasPrefix(snap.Unknown, want) || len(snap.Targets()) != 1 {
			t.Errorf("%q: %q with %d targets, want %q", content, snap.Unknown, len(snap.Targets()), want)
		}
	}
}

func TestATreeWithoutAPackageIsUnknown(t *testing.T) {
	if snap := mustAnalyze(t, settings, conflicttest.New(map[string]string{"a/b.js": ""})); snap.Unknown == "" {
		t.Error("it has a graph")
	}
}

func TestAMissingBlobIsAnError(t *testing.T) {
	gone := errors.New("gone")
	if _, err := conflict.Analyze(context.Background(), node.New(), settings, shop().Failing(gone)); !errors.Is(err, gone) {
		t.Errorf("the error is %v", err)
	}
}

// Two changes that leave each other's packages alone are independent; one that
// depends on what the other adds is not.
func TestANameThatAnotherChangeAdds(t *testing.T) {
	base := shop()
	uses := mustFootprint(t, base, base.With("packages/lone/package.json", `{"name": "lone", "dependencies": {"fresh": "*"}}`))
	adds := mustFootprint(t, base, base.With("packages/fresh/package.json", `{"name": "fresh"}`))
	x := index.New()
	x.Put("uses", uses)
	x.Put("adds", adds)
	got := x.Conflicts("uses")
	if len(got) != 1 || got[0].Witnesses[0] != "fresh" {
		t.Errorf("conflicts: %+v", got)
	}
}
