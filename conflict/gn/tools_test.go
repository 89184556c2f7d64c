package gn_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
)

// layers is a generated repository: libraries that depend on earlier ones.
func layers(n int) *conflicttest.Tree {
	r := rand.New(rand.NewPCG(1, 2))
	files := map[string]string{".gn": "buildconfig = \"//build/BUILDCONFIG.gn\"\n",
		"build/BUILDCONFIG.gn": "set_default_toolchain(\"//build:main\")\n", "build/BUILD.gn": toolchain}
	var all []string
	for i := range n {
		var deps []string
		for range r.IntN(4) {
			if i > 0 {
				deps = append(deps, fmt.Sprintf("\"//p%d\"", r.IntN(i)))
			}
		}
		slices.Sort(deps)
		deps = slices.Compact(deps)
		kind := []string{"deps", "public_deps", "data_deps"}[r.IntN(3)]
		files[fmt.Sprintf("p%d/BUILD.gn", i)] = fmt.Sprintf("static_library(\"p%d\") {\n  sources = [ \"x.cc\" ]\n  %s = [ %s ]\n}\n", i, kind, strings.Join(deps, ", "))
		files[fmt.Sprintf("p%d/x.cc", i)] = "1"
		all = append(all, fmt.Sprintf("\"//p%d\"", i))
	}
	files["BUILD.gn"] = "group(\"all\") { deps = [ " + strings.Join(all, ", ") + " ] }\n"
	return conflicttest.New(files)
}

// write makes files of a tree for the tools, beside all that we do.
func write(t *testing.T, tree *conflicttest.Tree) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range tree.Paths() {
		file := filepath.Join(dir, path)
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(tree.Content(path)), 0o644))
	}
	return dir
}

func tool(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return string(out)
}

// An edit of a source affects the targets that `gn refs` names.
func TestAgainstGNRefs(t *testing.T) {
	p, main := mustOpen(t, 1), layers(60)
	before := mustKnow(t, analyze(t, p, main))
	dir := write(t, main)
	tool(t, dir, "gn", "gen", "out")
	for _, i := range []int{0, 1, 2, 7, 30, 59} {
		file := fmt.Sprintf("p%d/x.cc", i)
		f := conflict.FootprintOf(before, mustKnow(t, analyze(t, p, main.With(file, "2"))), "main")
		want := strings.Fields(tool(t, dir, "gn", "refs", "out", "//"+file, "--all"))
		slices.Sort(want)
		if got := slices.Sorted(slices.Values(f.Affected)); !slices.Equal(got, want) {
			t.Errorf("%s: affected %q, gn says %q", file, got, want)
		}
	}
}

// The names of targets serve the documented step.
func TestNinjaTakesTheTargets(t *testing.T) {
	main := layers(5)
	s := mustKnow(t, analyze(t, mustOpen(t, 1), main))
	var names []string
	for _, x := range s.Targets() {
		names = append(names, "'"+x.Target+"'")
	}
	tool(t, write(t, main), "sh", "-ec", "gn gen out && ninja -C out $(printf '%s\\n' "+strings.Join(names, " ")+" | sed 's,^//,,')")
}
