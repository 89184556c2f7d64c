package node_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// locked is the workspace whose lock files are in testdata, written by npm 11,
// pnpm 7, 8 and 10, and yarn 1 and 4.
func locked(t testing.TB, fixture string) (*conflicttest.Tree, string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "locks", fixture))
	must(t, err)
	tree := conflicttest.New(map[string]string{
		"package.json":            `{"name": "root", "version": "1.0.0", "private": true, "workspaces": ["packages/*"], "devDependencies": {"semver": "7.6.0"}}`,
		"packages/a/package.json": `{"name": "@t/a", "version": "1.0.0", "dependencies": {"chalk": "4.1.2", "@t/b": "^1.0.0"}}`,
		"packages/b/package.json": `{"name": "@t/b", "version": "1.0.0", "dependencies": {"ms": "2.1.3", "ansi": "npm:ansi-styles@3.2.1"}, "devDependencies": {"@types/ms": "0.7.34"}}`,
		"packages/c/package.json": `{"name": "@t/c"}`,
	})
	kind, _, _ := strings.Cut(fixture, "-")
	name := map[string]string{"npm": "package-lock.json", "pnpm": "pnpm-lock.yaml", "yarn": "yarn.lock"}[kind]
	if kind == "pnpm" {
		tree = tree.With("pnpm-workspace.yaml", "packages:\n  - packages/*\ncatalog:\n  ms: 2.1.3\n").
			With("packages/b/package.json", `{"name": "@t/b", "version": "1.0.0", "dependencies": {"ms": "catalog:", "ansi": "npm:ansi-styles@3.2.1"}, "devDependencies": {"@types/ms": "0.7.34"}}`)
	}
	return tree.With(name, string(data)), name
}

var fixtures = []string{"npm-v1.json", "npm-v2.json", "npm-v3.json", "pnpm-v5.yaml", "pnpm-v6.yaml", "pnpm-v9.yaml", "yarn-v1.lock", "yarn-berry.lock"}

// The marks are of the checksums of versions that only one package reaches.
func TestALockFileIsHashedByPackage(t *testing.T) {
	for _, fixture := range fixtures {
		tree, name := locked(t, fixture)
		typesFor := "@t/a @t/b @t/c" // hoisted
		if strings.HasPrefix(fixture, "pnpm") && fixture != "pnpm-v5.yaml" {
			typesFor = "@t/a @t/b"
		}
		for _, tt := range []struct{ edit, mark, want string }{
			{"of one package", "chalk", "@t/a"},
			{"of one that another package depends on", "ms", "@t/a @t/b"},
			{"of the root", "semver", "@t/a @t/b @t/c"},
			{"far below the root", "yallist", "@t/a @t/b @t/c"},
			{"far below one package", "supports-color", "@t/a"},
			{"types", "@types/ms", typesFor},
			{"space at the end", "", ""},
		} {
			t.Run(fixture+"/"+tt.edit, func(t *testing.T) {
				content := tree.Content(name)
				changed := content + "\n"
				if tt.mark != "" {
					changed = bump(t, content, tt.mark)
				}
				if d := cmp.Diff(tt.want, affected(t, tree, tree.With(name, changed))); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// bump changes the checksum of a package in any of the formats.
func bump(t *testing.T, content, name string) string {
	t.Helper()
	for _, head := range []string{"\n    \"node_modules/" + name + "\": {", "\n    \"" + name + "\": {", "\n  '" + name + "@", "\n  '/" + name + "@", "\n  /" + name + "/", "\n  /" + name + "@", "\n  " + name + "@", "\n\"" + name + "@", "\n" + name + "@"} {
		at := strings.Index(content, head)
		if at < 0 {
			continue
		}
		for _, sum := range []string{"sha512-", "checksum: 10c0/"} {
			if i := strings.Index(content[at:], sum); i >= 0 && i < 500 {
				at += i + len(sum)
				return content[:at] + "AAAA" + content[at+4:]
			}
		}
	}
	t.Fatalf("%s is not in the lock file", name)
	return ""
}

func TestALockFileThatCannotBeReadIsInEveryHash(t *testing.T) {
	const all = "@t/a @t/b @t/c"
	for _, content := range []string{"", "x", "{}", `{"lockfileVersion": 99}`, `{"lockfileVersion": 3}`, "lockfileVersion: '99'\n", "lockfileVersion: [", "__metadata:\n  version: 99\n",
		"# yarn lockfile v1\n<<<<<<< HEAD\n", "lockfileVersion: '9.0'\nimporters:\n  packages/a:\n    dependencies:\n      x:\n        version: 1.0.0\n"} {
		for _, fixture := range []string{"npm-v3.json", "pnpm-v9.yaml", "yarn-v1.lock", "yarn-berry.lock"} {
			tree, name := locked(t, fixture)
			if got := affected(t, tree.With(name, content), tree.With(name, content+" ")); got != all {
				t.Errorf("%s with %q: %q is affected", name, content, got)
			}
		}
	}
	tree, _ := locked(t, "npm-v3.json")
	if got := affected(t, tree.With("bun.lock", "1"), tree.With("bun.lock", "2")); got != all {
		t.Errorf("bun.lock: %q is affected", got)
	}
}

func TestACatalogReachesThoseWhoUseIt(t *testing.T) {
	tree, _ := locked(t, "pnpm-v9.yaml")
	edit := func(content string) string {
		return affected(t, tree, tree.With("pnpm-workspace.yaml", content))
	}
	if got := edit("packages:\n  - packages/*\ncatalog:\n  ms: 2.1.4\n  other: 1.0.0\n"); got != "@t/a @t/b" {
		t.Errorf("a catalog's version: %q is affected", got)
	}
	if got := edit("packages:\n  - packages/*\ncatalog:\n  ms: 2.1.3\noverrides:\n  ms: 2.0.0\n"); got != "@t/a @t/b @t/c" {
		t.Errorf("an override: %q is affected", got)
	}
}

func FuzzLocks(f *testing.F) {
	for _, fixture := range fixtures {
		data, err := os.ReadFile(filepath.Join("testdata", "locks", fixture))
		must(f, err)
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, content string) {
		for _, fixture := range []string{"npm-v3.json", "pnpm-v9.yaml", "yarn-v1.lock"} {
			tree, name := locked(t, fixture)
			// With any content of the lock, an edit of a package that asks is
			// seen.
			from, to := tree.With(name, content), tree.With(name, content).With("packages/a/new.js", "x")
			if got := affected(t, from, to); !strings.Contains(got, "@t/a") {
				t.Errorf("%q is affected", got)
			}
		}
	})
}
