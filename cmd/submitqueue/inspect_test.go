package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

var updateSessions = flag.Bool("update-sessions", false, "write testdata/*.session anew")

// shopBranches are the branches of the shop and what each does to its first
// commit: path → content, "-" for a file that goes.
var shopBranches = []struct {
	name  string
	files map[string]string
}{
	{"main", map[string]string{
		".submitqueue.yml": "version: 1\nanalysis:\n  analyzer: go\n  ignore: [\"docs/**\"]\nsteps:\n" +
			"  - {name: unit, run: \"go test {targets}\"}\n  - {name: lint, run: make lint, scope: repository}\n",
		"go.mod": "module example.com/shop\n\ngo 1.24\n", "Makefile": "lint:\n", "docs/intro.md": "# Shop\n",
		"money/money.go": "package money\n\nfunc Add(a, b int) int { return a + b }\n", "money/money_test.go": "package money\n",
		"cart/cart.go": "package cart\n\nimport _ \"example.com/shop/money\"\n", "orders/orders.go": "package orders\n\nimport _ \"example.com/shop/cart\"\n",
		"web/web.go": "package web\n\nimport _ \"embed\"\n\n//go:embed pages/*\nvar pages string\n", "web/pages/home.html": "<h1>Shop</h1>\n", "tax/tax.go": "package tax\n",
	}},
	{"rounding", map[string]string{"money/money.go": "package money\n\nfunc Add(a, b int) int { return b + a }\n"}},
	{"round-up", map[string]string{"money/money.go": "package money\n\nfunc Add(a, b int) int { return a + b + 1 }\n"}},
	{"web-tax", map[string]string{"web/web.go": "package web\n\nimport (\n\t_ \"embed\"\n\n\t_ \"example.com/shop/tax\"\n)\n\n//go:embed pages/*\nvar pages string\n"}},
	{"vat", map[string]string{"tax/tax.go": "package tax\n\nconst VAT = 19\n"}},
	{"stock", map[string]string{"stock/stock.go": "package stock\n\nimport _ \"example.com/shop/money\"\n", "orders/orders.go": "-"}},
	{"docs-1", map[string]string{"docs/intro.md": "# The shop\n"}},
	{"docs-2", map[string]string{"docs/intro.md": "# A shop\n"}},
	{"moved", map[string]string{"docs/intro.md": "-", "manual/intro.md": "# Shop\n"}},
	{"beside", map[string]string{"docs/setup.md": "# Set it up\n"}},
	{"attributes", map[string]string{".gitattributes": "*.go text\n"}},
	{"make", map[string]string{"Makefile": "lint:\n\tgo vet ./...\n"}},
	{"circle", map[string]string{"money/money.go": "package money\n\nimport _ \"example.com/shop/orders\"\n"}},
	{"no-graph", map[string]string{"go.mod": "module\n"}},
	{"bad-config", map[string]string{".submitqueue.yml": "version: 7\n"}},
	{"no-config", map[string]string{".submitqueue.yml": "-"}},
	{"no-clue", map[string]string{".submitqueue.yml": "-", "go.mod": "-"}},
	{"two-clues", map[string]string{".submitqueue.yml": "-", "package.json": "{}"}},
	{"own-config", map[string]string{".submitqueue.yml": "version: 1\nanalysis: {analyzer: go}\nsteps: [{name: unit, run: \"true {targets}\"}]\n"}},
}

// newShop makes the shop, with main moved on since the branches began so that
// "clash" does not merge.
func newShop(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "shop")
	var in bytes.Buffer
	mark := 0
	commit := func(branch, from string, files map[string]string) {
		mark++
		fmt.Fprintf(&in, "commit refs/heads/%s\nmark :%d\ncommitter Ann <ann@example.com> 1767323045 +0000\ndata %d\n%s\n", branch, mark, len(branch), branch)
		if from != "" {
			fmt.Fprintf(&in, "from %s\n", from)
		}
		for _, path := range slices.Sorted(maps.Keys(files)) {
			if text := files[path]; text == "-" {
				fmt.Fprintf(&in, "D %s\n", path)
			} else {
				fmt.Fprintf(&in, "M 100644 inline %s\ndata %d\n%s\n", path, len(text), text)
			}
		}
	}
	for _, b := range shopBranches {
		from := ":1"
		if b.name == "main" {
			from = ""
		}
		commit(b.name, from, b.files)
	}
	commit("clash", ":1", map[string]string{"cart/cart.go": "package cart\n"})
	commit("main", ":1", map[string]string{"cart/cart.go": "package cart\n\nimport _ \"example.com/shop/money\"\n\nvar Open bool\n"})
	commit("later", fmt.Sprintf(":%d", mark), map[string]string{"web/web.go": "package web\n\nimport _ \"embed\"\n\n//go:embed pages/*\nvar pages []byte\n"})
	monoShop(commit, func() string { return fmt.Sprintf(":%d", mark) })
	shopGit(t, "", nil, "init", "--quiet", "--initial-branch=main", dir)
	shopGit(t, dir, &in, "fast-import", "--quiet")
	shopGit(t, dir, nil, "update-ref", "refs/heads/-odd", "refs/heads/vat")
	shopGit(t, dir, nil, "config", "uploadpack.allowFilter", "true")
	return dir
}

// monoShop makes the branches of a shop with a second build system.
func monoShop(commit func(branch, from string, files map[string]string), last func() string) {
	const rest = "steps:\n  - {name: unit, analyzer: go, run: \"go test {targets}\"}\n  - {name: web, analyzer: front, run: \"npm test -w {targets}\"}\n" +
		"  - {name: lint, run: make lint, scope: repository}\n"
	const front = "    - {analyzer: node, name: front, under: front}\n  ignore: [\"docs/**\"]\n"
	commit("mono", ":1", map[string]string{
		".submitqueue.yml":        "version: 1\nanalysis:\n  analyzers:\n    - analyzer: go\n" + front + rest,
		"front/package.json":      `{"private": true, "workspaces": ["ui", "site"]}`,
		"front/ui/package.json":   `{"name": "@shop/ui", "version": "1.0.0"}`,
		"front/ui/button.js":      "export const button = 1\n",
		"front/site/package.json": `{"name": "@shop/site", "dependencies": {"@shop/ui": "1.0.0"}}`,
		"front/site/index.js":     "import '@shop/ui'\n",
	})
	mono := last()
	commit("mono-ui", mono, map[string]string{"front/ui/button.js": "export const button = 2\n"})
	commit("mono-root", mono, map[string]string{"front/package.json": `{"private": true, "workspaces": ["ui", "site"], "overrides": {}}`})
	commit("mono-money", mono, map[string]string{"money/money.go": "package money\n"})
	commit("mono-make", mono, map[string]string{"Makefile": "lint:\n\ttrue\n"})
	commit("mono-typo", mono, map[string]string{".submitqueue.yml": "version: 1\nanalysis:\n  analyzers:\n    - {analyzer: go, under: sevrer}\n" + front + rest})
	commit("mono-broken", mono, map[string]string{"front/package.json": "{"})
	commit("mono-needs", mono, map[string]string{".submitqueue.yml": "version: 1\nanalysis:\n  analyzers:\n    - {analyzer: go, needs: [front]}\n" + front + rest})
	commit("mono-needs-ui", last(), map[string]string{"front/ui/button.js": "export const button = 2\n"})
}

func shopGit(t *testing.T, dir string, in *bytes.Buffer, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	if in != nil {
		cmd.Stdin = in
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s in %s: %v: %s", args[0], filepath.Base(dir), err, bytes.TrimSpace(errs.Bytes()))
	}
	return string(out)
}

var idPattern = regexp.MustCompile(`\b([0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{10})\b`)

// submitqueue runs this binary as a person does and returns what there is to
// see: the error output marked, the status unless it is 0, and no ids.
func submitqueue(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "submitqueue", args...)
	cmd.Dir = dir
	tmp := t.TempDir()
	cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "GIT_DIR=/nowhere", "GIT_CONFIG_GLOBAL=/dev/null")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var b strings.Builder
	for line := range strings.Lines(errs.String()) {
		b.WriteString("! " + line)
	}
	b.Write(out.Bytes())
	if ended := (*exec.ExitError)(nil); errors.As(err, &ended) {
		fmt.Fprintf(&b, "status %d\n", ended.ExitCode())
	} else if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(tmp); len(left) > 0 {
		t.Errorf("submitqueue %s leaves %s behind", strings.Join(args, " "), left[0].Name())
	}
	text := strings.ReplaceAll(b.String(), filepath.Dir(dir)+"/", "")
	return idPattern.ReplaceAllStringFunc(text, func(id string) string { return strings.Repeat("x", min(len(id), 10)) })
}

// TestSessions plays testdata/*.session: each line that begins with "$ " is a
// command in the shop, and what follows is all that there is to see.
func TestSessions(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.session")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	shop := newShop(t)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".session"), func(t *testing.T) {
			storetest.OneOf(t, 2)
			t.Parallel()
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			for line := range strings.Lines(string(want)) {
				switch command, ok := strings.CutPrefix(strings.TrimSpace(line), "$ submitqueue "); {
				case ok:
					if got.Len() > 0 && !strings.HasSuffix(got.String(), "\n\n") {
						got.WriteString("\n")
					}
					got.WriteString(line + submitqueue(t, shop, strings.Fields(command)...))
				case strings.HasPrefix(line, "# "):
					got.WriteString("\n" + line)
				}
			}
			text := strings.TrimLeft(got.String(), "\n")
			if *updateSessions {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Error(diff)
			}
		})
	}
}
