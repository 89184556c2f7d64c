package app_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestStepsOfSeveralAnalyzers holds that each step runs on its own analyzer's
// targets alone, in the analyzer's folder, under the names that its tool knows.
func TestStepsOfSeveralAnalyzers(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	h := newHub(t, hubOptions{files: map[string]string{
		".submitqueue.yml": `version: 1
analysis:
  analyzers:
    - {analyzer: go, under: server}
    - {analyzer: paths, name: web, under: web, areas: [{name: ui, files: ["ui/**"]}, {name: site, files: ["site/**"], needs: [ui]}]}
  unowned: target
steps:
  - {name: unit, analyzer: go, run: "echo unit $(pwd | sed 's|.*/||') {targets} >> ` + ran + `; test ! -e cart/bad || exit 1", timeout: 1m}
  - {name: web, analyzer: web, run: "echo web $(pwd | sed 's|.*/||') {targets} >> ` + ran + `", timeout: 1m}
`,
		"server/go.mod": "module shop\n", "server/cart/cart.go": "package cart\n", "server/tax/tax.go": "package tax\n",
		"web/ui/a": "a\n", "web/site/a": "a\n", "Makefile": "all:\n",
	}})
	h.proven()
	since := func() string {
		data, err := os.ReadFile(ran)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.WriteFile(ran, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		targets := map[string][]string{} // by step and folder: a step may run in several parts
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line)
			targets[f[0]+" "+f[1]] = append(targets[f[0]+" "+f[1]], f[2:]...)
		}
		var all []string
		for step, list := range targets {
			slices.Sort(list)
			all = append(all, step+" "+strings.Join(slices.Compact(list), " "))
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	since() // main itself
	for _, c := range []struct{ branch, path, want string }{
		{"cart", "server/cart/cart.go", "unit server ./cart"},
		{"ui", "web/ui/a", "web web site ui"},
		{"make", "Makefile", "unit server ./..., web web ./..."},
	} {
		n := h.land(c.branch, map[string]string{c.path: "package cart // " + c.branch + "\n"})
		h.landed(n)
		if got := since(); got != c.want {
			t.Errorf("%s: ran %q, want %q", c.branch, got, c.want)
		}
	}
	n := h.land("bad", map[string]string{"server/cart/bad": "bad\n", "web/site/a": "b\n"})
	h.rejected(n, "failed in `unit`", "go:./cart")
	h.green()
}
