package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/analyzers"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// TestOwnInputs holds that this repository's own configuration knows what the
// tests of this package read: an edit of the README, of a page, or of any Go file, moves
// this package's hash. `submitqueue audit inputs` has found both undeclared.
func TestOwnInputs(t *testing.T) {
	root := filepath.Join("..", "..")
	files := map[string]string{}
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			if d != nil && d.Name() == ".git" {
				return fs.SkipDir
			}
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		var text []byte // of what the analyzer reads; of the others the name is enough
		if slices.Contains([]string{".go", ".mod", ".yml"}, path.Ext(file)) && d.Name() != ".git" {
			text, err = os.ReadFile(file)
		}
		files[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse(config.Path, []byte(files[config.Path]))
	if err != nil {
		t.Fatal(err)
	}
	a, err := analyzers.All().Of(cfg.Analysis)
	if err != nil {
		t.Fatal(err)
	}
	tree := conflicttest.New(files)
	d, err := conflict.Describe(t.Context(), a, cfg.Analysis, tree)
	if err != nil || d.Unknown != "" {
		t.Fatal(err, d.Unknown)
	}
	const own = "./cmd/submitqueue"
	in, sources := d.FilesOf(own), 0
	for file := range files {
		if path.Ext(file) != ".go" && file != "README.md" && !strings.HasPrefix(file, "app/docs/") {
			continue
		}
		if sources++; !in[file] {
			t.Errorf("%s is in no hash of %s: declare it in inputs of %s", file, own, config.Path)
		}
	}
	if sources < 300 {
		t.Errorf("only %d files were looked at", sources)
	}
	for target, file := range map[string]string{"./forge/github": "app/docs/install.md", "./app/notify": "app/docs/operate.md", "./app/docs": "README.md", "./queue/config": "app/docs/keys.md", "./queue": "queue/memstore/store.go", "./cmd/submitqueue/simulate": "speculation/sim/testdata/e-100.jsonl.gz", own: "queue/config/testdata/good/go.yml"} {
		if !d.FilesOf(target)[file] {
			t.Errorf("%s is in no hash of %s, whose tests read it", file, target)
		}
	}
	for _, edited := range []string{"README.md", "forge/forgetest/contract/judge.go", "speculation/sim/testdata/e-100.jsonl.gz"} {
		next, err := conflict.Analyze(t.Context(), a, cfg.Analysis, tree.With(edited, files[edited]+"\n// more\n"))
		if err != nil {
			t.Fatal(err)
		}
		if f := conflict.FootprintOf(d.Snapshot, next, "m"); !slices.Contains(f.Affected, own) || f.All {
			t.Errorf("an edit of %s affects %v, all: %t", edited, f.Affected, f.All)
		}
	}
}
