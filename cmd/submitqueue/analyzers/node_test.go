package analyzers

import (
	"slices"
	"strings"
	"testing"
)

// A step never ends with 0 without having run a script: a package that lacks it has
// the root's run, or that of all others.
func TestNodeStepsRunSomething(t *testing.T) {
	const with, without = `{"name": "NAME", "scripts": {"test": "node --test"}}`, `{"name": "NAME"}`
	pkg := func(name, text string) string { return strings.Replace(text, "NAME", name, 1) }
	for name, c := range map[string]struct {
		files map[string]string
		want  []string // parts of the command; none: nothing is found
		not   string
		note  string
	}{
		"all have it": {files: map[string]string{"package.json": `{"workspaces": ["packages/*"]}`, "packages/a/package.json": pkg("a", with), "packages/b/package.json": pkg("b", with)},
			want: []string{`*) npm run test -w "$t" ;;`}, not: `-w "$t" --if-present`},
		"none has one, the root has": {files: map[string]string{"package.json": `{"scripts": {"test": "vitest"}}`, "pnpm-workspace.yaml": "packages: ['packages/*']\n",
			"packages/a/package.json": pkg("a", without), "packages/b/package.json": pkg("b", without)},
			want: []string{"echo {targets} && pnpm install --frozen-lockfile && pnpm run test"}, note: "no package has a script of its own"},
		"some have it, the root has": {files: map[string]string{"package.json": `{"workspaces": {"packages": ["packages/*"]}, "scripts": {"test": "jest"}}`, "yarn.lock": "",
			"packages/a/package.json": pkg("a", with), "packages/b/package.json": pkg("b", without)},
			want: []string{"yarn run test"}, not: "workspace ", note: `1 of 2 packages have no script "test"`},
		"some have it, the root has not": {files: map[string]string{"package.json": `{"name": "root"}`, "pnpm-workspace.yaml": "packages:\n  - packages/*\n  - '!packages/private'\n",
			"packages/a/package.json": pkg("a", with), "packages/b/package.json": pkg("@x/b", without), "packages/private/package.json": pkg("p", without), "playground/package.json": pkg("q", without)},
			want: []string{`'@x/b') pnpm -r run test ;;`, `*) pnpm --filter "$t" run test ;;`}, not: "'p'", note: `1 of 2 packages have no script "test"`},
		"yarn 1": {files: map[string]string{"package.json": `{"workspaces": ["*"]}`, "yarn.lock": "", "a/package.json": pkg("a", with), "b/package.json": pkg("b", without)},
			want: []string{"'b') npm run test --workspaces --if-present ;;"}, not: "yarn workspaces run"},
		"most have another": {files: map[string]string{"package.json": `{"workspaces": ["*"]}`, "turbo.json": "{}", "a/package.json": `{"name": "a", "scripts": {"build": "tsc"}}`, "b/package.json": `{"name": "b", "scripts": {"build": "tsc"}}`},
			want: []string{`npx turbo run build "--filter=$t"`}},
		"nobody has any": {files: map[string]string{"package.json": `{"workspaces": ["*"]}`, "a/package.json": pkg("a", without)}},
		"no packages":    {files: map[string]string{"package.json": `{"workspaces": ["*"]}`}},
	} {
		t.Run(name, func(t *testing.T) {
			in := Tree{Read: func(f string) string { return c.files[f] }}
			for f := range c.files {
				in.Files = append(in.Files, f)
			}
			slices.Sort(in.Files)
			list := in.node()
			if len(c.want) == 0 {
				if len(list) != 0 {
					t.Errorf("%+v", list)
				}
				return
			}
			if len(list) != 1 || c.not != "" && strings.Contains(list[0].Run, c.not) || !strings.Contains(list[0].Note, c.note) || c.note == "" && list[0].Note != "" && name != "yarn 1" {
				t.Fatalf("%+v", list)
			}
			for _, part := range c.want {
				if !strings.Contains(list[0].Run, part) {
					t.Errorf("no %q in:\n%s", part, list[0].Run)
				}
			}
		})
	}
}
