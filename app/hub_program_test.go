package app_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/command"
	"github.com/submitqueue/submitqueue/queue/config"
)

// TestProgramsOfTheTargetBranchOnly: a change that edits the program that
// computes the graph is built as a whole, and its program runs on the server
// only after it has landed. One that is rejected is never run.
func TestProgramsOfTheTargetBranchOnly(t *testing.T) {
	pool := must(checkout.Open(filepath.Join(t.TempDir(), "checkouts"), checkout.Options{}))
	t.Cleanup(func() { mustNot(t, pool.Close()) })
	const graph = `cd "$SUBMITQUEUE_TREE" && for t in */test.sh; do printf '{"target":"%s","sources":["%s/"],"reads":["./"]}\n' "${t%/*}" "${t%/*}"; done` + "\n"
	files := areas()
	files[config.Path] = strings.ReplaceAll(`version: 1
analysis:
  analyzer: command
  command: sh tools/graph.sh
  program: ["tools/**"]
  ignore: ["**/*.md"]
steps:
  - name: test
    run: for t in $SUBMITQUEUE_TARGETS; do case $t in tree) t=api;; esac; sh $t/test.sh || exit 1; done
    timeout: 1m
`, "\t", "")
	files["tools/graph.sh"] = graph
	h := newHub(t, hubOptions{files: files, talkative: true, analyzers: func(s config.Analysis) (conflict.Analyzer, error) {
		if s.Analyzer == command.Name {
			return command.New(s, pool)
		}
		return analyzers(s)
	}})
	h.proven()
	marker := filepath.Join(t.TempDir(), "marker")
	ran := func() bool { _, err := os.Stat(marker); return err == nil }
	evil := "touch " + marker + "\n" + graph

	n := h.land("evil", map[string]string{"tools/graph.sh": evil, "api/bad": "x"})
	h.rejected(n)
	if ran() {
		t.Fatal("the program of a rejected change was run")
	}
	h.landed(h.land("plain", map[string]string{"web/page": "x\n"}))
	if ran() {
		t.Fatal("the program of a rejected change was run")
	}
	h.landed(h.land("reviewed", map[string]string{"tools/graph.sh": evil}))
	h.landed(h.land("later", map[string]string{"web/page": "y\n"}))
	if !ran() {
		t.Error("the program that landed was not run: main has no graph")
	}
}
