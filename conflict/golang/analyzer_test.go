package golang_test

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// settings let unowned files be a target, so that what is everybody's shows.
var settings = config.Analysis{Analyzer: golang.Name, Unowned: config.UnownedTarget}

func mustAnalyze(t testing.TB, s config.Analysis, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	snap, err := conflict.Analyze(context.Background(), golang.New(golang.Options{}), s, tree)
	must(t, err)
	return snap
}

func affected(t testing.TB, s config.Analysis, from, to conflict.Tree) []string {
	t.Helper()
	main, change := mustAnalyze(t, s, from), mustAnalyze(t, s, to)
	if main.Unknown != "" || change.Unknown != "" {
		t.Fatalf("unknown: %q, %q", main.Unknown, change.Unknown)
	}
	return conflict.FootprintOf(main, change, "m").Affected
}

func TestTargets(t *testing.T) {
	snap := mustAnalyze(t, settings, conflicttest.New(workspace))
	var names []string
	for _, target := range snap.Targets() {
		names = append(names, target.Target)
	}
	want := []string{".", "./a", "./alone", "./b", "./c", "./d", "./nested/m", "./nested/n", config.TargetUnowned}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	if len(snap.Cycles) > 0 {
		t.Errorf("cycles: %v", snap.Cycles)
	}
	if got := snap.Alias("./nested/n"); got != "example.com/nested/n" {
		t.Errorf("the alias of ./nested/n is %q", got)
	}
	if got := snap.Aliases()["example.com/mod"]; got != "." {
		t.Errorf("the target of example.com/mod is %q", got)
	}
}

func TestWhatAnEditAffects(t *testing.T) {
	base := conflicttest.New(workspace)
	edit := func(path, content string) *conflicttest.Tree { return base.With(path, content) }
	all := []string{".", "./a", "./alone", "./b", "./c", "./d", "./nested/m", "./nested/n", config.TargetUnowned}
	tests := []struct {
		name string
		to   *conflicttest.Tree
		want []string
	}{
		{"a library hits its importers and their tests", edit("b/b.go", "package b\n\nvar B = 2\n"), []string{".", "./a", "./b", "./c"}},
		{"a test hits its own package only", edit("c/internal_test.go", "package c\n"), []string{"./c"}},
		{"a file of testdata hits its own package only", edit("d/testdata/src/x/broken.go", "nor this"), []string{"./d"}},
		{"a new file of testdata", edit("d/testdata/new", ""), []string{"./d"}},
		{"what only tests import hits those tests", edit("d/d.go", "package d // 2\n"), []string{"./c", "./d"}},
		{"an embedded file is part of the library", edit("a/data/one.txt", "2"), []string{".", "./a"}},
		{"a new embedded file", edit("a/data/two.txt", "2"), []string{".", "./a"}},
		{"a file beside the embedded ones is nobody's", edit("a/data/skip.bin", "1"), []string{config.TargetUnowned}},
		{"a plain file of a package directory", edit("a/notes.txt", "m"), []string{"./a"}},
		{"a file at the top is nobody's", edit("Makefile", "none:\n"), []string{config.TargetUnowned}},
		{"a file that no package holds", edit("config/prod.yaml", "port: 2\n"), []string{config.TargetUnowned}},
		{"a replaced module", edit("nested/m/m.go", "package m // 2\n"), []string{"./a", "./b", "./c", "./nested/m", "./nested/n"}},
		{"an independent module", edit("alone/alone.go", "package alone // 2\n"), []string{"./alone"}},
		{"a script affects no importer", edit("b/gen.go", "//go:build ignore\n\npackage main\n\nfunc main() {}\n"), []string{"./b"}},
		{"a library for another platform", edit("win/win_windows.go", "package win // 2\n"), []string{".", "./a", "./b", "./c"}},
		{"the language version is in every hash", edit("alone/go.mod", "module example.com/alone\n\ngo 1.23\n"), all},
		{"the mode is part of a file", base.WithMode("d/testdata/src/x/broken.go", "100755", "not go"), []string{"./d"}},
		{"a workspace file is in every hash", edit("go.work", "go 1.22\n\nuse .\n"), all},
		{"the attributes are in every hash", edit("a/.gitattributes", "* text\n"), all},
		{"a removed package", base.Without("nested/m"), []string{"./a", "./b", "./c", "./nested/n"}},
		{"a go file that does not parse", edit("d/d.go", "pack"), []string{"./c", "./d"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := cmp.Diff(tt.want, affected(t, settings, base, tt.to)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A test may read a file through ../../config that no package owns: by default
// such a file is in every hash.
func TestUnownedFilesAreInEveryHash(t *testing.T) {
	base := conflicttest.New(workspace)
	main := mustAnalyze(t, config.Analysis{}, base)
	change := mustAnalyze(t, config.Analysis{}, base.With("config/prod.yaml", "port: 2\n"))
	f := conflict.FootprintOf(main, change, "m")
	if !f.All || len(f.Affected) != len(main.Targets()) {
		t.Errorf("all %v, %d of %d targets affected", f.All, len(f.Affected), len(main.Targets()))
	}
	if d := cmp.Diff([]string{"def:config/prod.yaml"}, f.Write); d != "" {
		t.Error(d)
	}
}

func TestEveryFileIsInAKey(t *testing.T) {
	steps := []config.Step{{Name: "unit", Run: "go test {targets}", Scope: config.ScopeTargets}}
	for _, s := range []config.Analysis{{}, settings, {Ignore: []string{"**/*.bin", "**/*.go"}}} {
		base := conflicttest.New(workspace)
		main := mustAnalyze(t, s, base)
		for _, path := range base.Paths() {
			change := mustAnalyze(t, s, base.With(path, base.Content(path)+"\n// edited\n"))
			ignored := slices.Contains(s.Ignore, "**/*.bin") && strings.HasSuffix(path, ".bin")
			if keys := conflict.Keys(main, change, steps, steps); (len(keys) == 0) != ignored {
				t.Errorf("%+v: editing %s asks for %d keys", s, path, len(keys))
			}
		}
	}
}

var external = map[string]string{
	"go.mod":             "module m.org/m\n\ngo 1.22\n\nrequire (\n\text.org/x v1.0.0\n\tplain v1.0.0\n)\n",
	"go.sum":             "ext.org/x v1.0.0 h1:a\n",
	"std/std.go":         "package std\n\nimport _ \"fmt\"\n",
	"user/user.go":       "package user\n\nimport _ \"ext.org/x/y\"\n",
	"top/top.go":         "package top\n\nimport _ \"m.org/m/user\"\n",
	"dotless/dotless.go": "package dotless\n\nimport _ \"plain/x\"\n",
	"lost/lost.go":       "package lost\n\nimport _ \"un.known/x\"\n",
}

func TestExternalModules(t *testing.T) {
	base := conflicttest.New(external)
	users := []string{"./dotless", "./lost", "./top", "./user"}
	for name, to := range map[string]*conflicttest.Tree{
		"the checksums":     base.With("go.sum", "ext.org/x v1.0.1 h1:b\n"),
		"a version":         base.With("go.mod", strings.ReplaceAll(external["go.mod"], "x v1.0.0", "x v1.0.1")),
		"a vendored module": base.With("vendor/ext.org/x/y/y.go", "package y\n"),
	} {
		if d := cmp.Diff(users, affected(t, settings, base, to)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	plain := base.Without("user").Without("top").Without("dotless").Without("lost")
	if d := cmp.Diff([]string{config.TargetUnowned}, affected(t, settings, plain, plain.With("go.sum", "z"))); d != "" {
		t.Errorf("checksums that no package uses: %s", d)
	}
}

func TestNewPackageOverAPhantom(t *testing.T) {
	base := conflicttest.New(external)
	user := base.With("n/n.go", "package n\n\nimport _ \"m.org/m/p/q\"\n")
	maker := base.With("p/q/q.go", "package q\n")
	main := mustAnalyze(t, settings, base)
	x := index.New()
	x.Put("user", conflict.FootprintOf(main, mustAnalyze(t, settings, user), "m"))
	x.Put("maker", conflict.FootprintOf(main, mustAnalyze(t, settings, maker), "m"))
	want := []queue.Conflict{{With: "maker", Kind: queue.ConflictReadWrite, Witnesses: []string{"lib:./p/q"}}}
	if d := cmp.Diff(want, x.Conflicts("user")); d != "" {
		t.Error(d)
	}
}

// One change embeds a directory, the other adds a file to it: neither sees
// what both together embed.
func TestListingIsReadByWhoEmbedsIt(t *testing.T) {
	base := conflicttest.New(external).With("std/web/page/a.html", "").With("std/web/web.go", "package web\n")
	embeds := base.With("std/std.go", "package std\n\nimport _ \"embed\"\n\n//go:embed web\nvar x string\n")
	adds := base.With("std/web/new/b.html", "")
	main := mustAnalyze(t, settings, base)
	x := index.New()
	x.Put("adds", conflict.FootprintOf(main, mustAnalyze(t, settings, adds), "m"))
	x.Put("embeds", conflict.FootprintOf(main, mustAnalyze(t, settings, embeds), "m"))
	if !x.Conflict("adds", "embeds") {
		t.Error("no conflict")
	}
}

// Where nothing builds on the platform there is no target, as `go test` of it fails:
// lines of the former kind are constraints, too.
func TestNothingBuildsUnderAnOldConstraint(t *testing.T) {
	tree := conflicttest.New(external).With("scripts/gen.go", "// +build ignore\n\npackage main\n").With("win/w.go", "// +build windows\n\npackage win\n")
	dir := t.TempDir()
	tree.Without("go.sum").With("go.mod", "module m.org/m\n\ngo 1.22\n").MustWrite(t, dir)
	for _, name := range []string{"./scripts", "./win"} {
		cmd := exec.CommandContext(t.Context(), "go", "test", name)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if snap := mustAnalyze(t, settings, tree); err != nil && slices.ContainsFunc(snap.Targets(), func(h queue.TargetHash) bool { return h.Target == name }) {
			t.Errorf("%s is a target, and cannot be tested: %s", name, out)
		}
	}
}

// A C file may include a file of any name. Importers are built of it, too.
func TestWhatCgoIncludes(t *testing.T) {
	base := conflicttest.New(external).
		With("cgo/cgo.go", "package cgo\n\n// #include \"codes.txt\"\n// #include \"../std/impl.inl\"\n/*\n#include \"../std/table.txt\"\n*/\nimport \"C\"\n").
		With("cgo/codes.txt", "1").With("std/impl.inl", "1").With("std/table.txt", "1").
		With("cgo/more.S", "\t.incbin \"../way/blob.bin\"\n").With("std/blob.bin", "1").WithMode("way", conflict.ModeLink, "std").
		With("over/over.go", "package over\n\nimport _ \"m.org/m/cgo\"\n")
	for _, file := range []string{"cgo/codes.txt", "std/impl.inl", "std/table.txt", "std/blob.bin"} {
		to := base.With(file, "2")
		if got := affected(t, settings, base, to); !slices.Contains(got, "./over") || !slices.Contains(got, "./cgo") {
			t.Errorf("an edit of %s affects %q", file, got)
		}
		graph, err := golang.New(golang.Options{}).Graph(t.Context(), base)
		must(t, err)
		followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), base, to)
	}
}

func TestNativeFiles(t *testing.T) {
	base := conflicttest.New(external).
		With("cgo/cgo.go", "package cgo\n\nimport \"C\"\n").
		With("asm/asm.go", "package asm\n").With("asm/asm_amd64.s", "").
		With("include/x.h", "1").With("std/std.h", "1")
	for file, want := range map[string][]string{
		"include/x.h":     {"./asm", "./cgo", "./std", config.TargetUnowned},
		"std/std.h":       {"./asm", "./cgo", "./std"},
		"asm/asm_amd64.s": {"./asm", "./cgo", "./std"},
	} {
		if d := cmp.Diff(want, affected(t, settings, base, base.With(file, "2"))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

func TestLinks(t *testing.T) {
	base := conflicttest.New(external).
		With("shared/real.go", "package std\n\nimport _ \"m.org/m/user\"\n").
		With("shared/data.txt", "1").
		WithMode("std/linked.go", "120000", "../shared/real.go").
		WithMode("std/data", "120000", "../shared").
		WithMode("std/loop", "120000", "loop").
		WithMode("std/out", "120000", "../../outside").
		WithMode("deps/sub", "160000", "c1").
		With("sub/sub.go", "package sub\n\nimport _ \"m.org/m/deps/sub/x\"\n").
		WithMode("alias", "120000", "user").
		With("via/via.go", "package via\n\nimport _ \"m.org/m/alias\"\n")
	for file, want := range map[string][]string{
		"shared/data.txt": {"./shared", "./std", "./via"},
		"user/user.go":    {"./shared", "./std", "./top", "./user", "./via"},
		"std/std.go":      {"./std", "./via"},
	} {
		if d := cmp.Diff(want, affected(t, settings, base, base.With(file, base.Content(file)+"\n"))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
	moved := base.WithMode("deps/sub", "160000", "c2")
	if d := cmp.Diff([]string{"./sub", "./via", config.TargetUnowned}, affected(t, settings, base, moved)); d != "" {
		t.Errorf("submodule: %s", d)
	}
}

func TestWorkspaceModulesSeeOneAnother(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"go.work":     "go 1.22\n\nuse (\n\t./x\n\t./y\n\t../outside\n)\n\nreplace r.org/r => ./r\n",
		"x/go.mod":    "module x.org/x\n\ngo 1.22\n",
		"x/p/p.go":    "package p\n\nimport (\n\t_ \"y.org/y/q\"\n\t_ \"r.org/r\"\n)\n",
		"y/go.mod":    "module y.org/y\n\ngo 1.22\n",
		"y/q/q.go":    "package q\n",
		"r/go.mod":    "module r.org/r\n",
		"r/r.go":      "package r\n",
		"z/go.mod":    "module z.org/z\n\nrequire y.org/y v1.0.0\n",
		"z/z.go":      "package z\n\nimport _ \"y.org/y/q\"\n",
		"bad/go.mod":  "modul {{.Name}}\n",
		"bad/b.go":    "package bad\n",
		"sp ace/s.go": "package s\n",
	})
	for file, want := range map[string][]string{
		"y/q/q.go": {"./x/p", "./y/q"},
		"r/r.go":   {"./r", "./x/p"},
		"bad/b.go": {config.TargetUnowned},
	} {
		if d := cmp.Diff(want, affected(t, settings, base, base.With(file, base.Content(file)+"\n"))); d != "" {
			t.Errorf("%s: %s", file, d)
		}
	}
}

// A module that is replaced by a directory is built with the replacements of
// whoever imports it.
func TestReplacementsOfTheMainModuleReachItsParts(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"go.mod":   "module m.org/m\n\nreplace (\n\tb.org/b => ./b\n\tc.org/c => ./c\n)\n",
		"m.go":     "package m\n\nimport _ \"b.org/b\"\n",
		"b/go.mod": "module b.org/b\n\nrequire c.org/c v1.0.0\n",
		"b/b.go":   "package b\n\nimport _ \"c.org/c\"\n",
		"c/go.mod": "module c.org/c\n",
		"c/c.go":   "package c\n",
	})
	if d := cmp.Diff([]string{".", "./b", "./c"}, affected(t, settings, base, base.With("c/c.go", "package c // 2\n"))); d != "" {
		t.Error(d)
	}
}

func TestImportOfASkippedDirectory(t *testing.T) {
	base := conflicttest.New(external).
		With("p/p.go", "package p\n\nimport _ \"m.org/m/p/testdata/x\"\n").
		With("p/testdata/x/x.go", "package x\n\nimport _ \"m.org/m/user\"\n").
		With("q/q.go", "package q\n\nimport _ \"m.org/m/p\"\n")
	if d := cmp.Diff([]string{"./p", "./q", "./top", "./user"}, affected(t, settings, base, base.With("user/user.go", "package user // 2\n"))); d != "" {
		t.Error(d)
	}
}

func TestTreesWithoutAGraph(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no module":        {"a.go": "package a\n"},
		"broken module":    {"go.mod": "modul"},
		"nameless module":  {"go.mod": "go 1.22\n"},
		"broken workspace": {"go.mod": "module m\n", "go.work": "us"},
	} {
		snap := mustAnalyze(t, settings, conflicttest.New(files))
		if snap.Unknown == "" || len(snap.Targets()) != 1 || snap.Targets()[0].Target != config.TargetTree {
			t.Errorf("%s: unknown %q, targets %v", name, snap.Unknown, snap.Targets())
		}
	}
}

func TestUnreadableTreeIsAnError(t *testing.T) {
	gone := errors.New("gone")
	_, err := conflict.Analyze(context.Background(), golang.New(golang.Options{}), settings, conflicttest.New(workspace).Failing(gone))
	if !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

func TestPlatformIsPartOfTheIdentity(t *testing.T) {
	windows := golang.New(golang.Options{OS: "windows"})
	snap, err := conflict.Analyze(context.Background(), windows, settings, conflicttest.New(workspace))
	must(t, err)
	if _, ok := snap.Aliases()["example.com/mod/win"]; !ok {
		t.Error("a package for windows is no target there")
	}
	if windows.ID() == golang.New(golang.Options{}).ID() {
		t.Error("two platforms have one id")
	}
}

// brittle fails to read after some blobs.
type brittle struct {
	*conflicttest.Tree
	left *int
}

var errGone = errors.New("gone")

func (b brittle) Blob(ctx context.Context, oid string) ([]byte, error) {
	if *b.left--; *b.left < 0 {
		return nil, errGone
	}
	return b.Tree.Blob(ctx, oid)
}

func TestEveryFailureToReadIsAnError(t *testing.T) {
	tree := conflicttest.New(workspace).With("go.work", "use .\n").
		WithMode("a/l.go", conflict.ModeLink, "a.go").WithMode("a/l.txt", conflict.ModeLink, "a.go").
		With("config/k.txt", "package a\n\nimport _ \"example.com/mod/d/testdata/h\"\n").WithMode("a/k.go", conflict.ModeLink, "../config/k.txt").
		With("d/testdata/h/h.go", "package h\n").
		WithMode("a/testdata/l", conflict.ModeLink, "../a.go").WithMode("d/h.h", conflict.ModeLink, "../b")
	for n := 0; ; n++ {
		left := n
		_, err := conflict.Analyze(context.Background(), golang.New(golang.Options{}), settings, brittle{tree, &left})
		if err == nil {
			if left < 0 || n < 10 {
				t.Fatalf("no error after %d blobs", n)
			}
			break
		}
		if !errors.Is(err, errGone) {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := golang.New(golang.Options{}).Graph(ctx, tree); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}

func TestAnalyzerIsSafeForConcurrentUse(t *testing.T) {
	a := golang.New(golang.Options{})
	tree := conflicttest.New(workspace)
	want := mustAnalyze(t, settings, tree)
	for range 4 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			got, err := conflict.Analyze(context.Background(), a, settings, tree)
			must(t, err)
			if d := cmp.Diff(want.Targets(), got.Targets()); d != "" {
				t.Error(d)
			}
		})
	}
}

// BenchmarkGraph analyzes 1,300 packages of four files whose scans are known.
func BenchmarkGraph(b *testing.B) {
	files := map[string]string{"go.mod": "module m.org/m\n\ngo 1.22\n"}
	for i := range 1300 {
		for _, name := range []string{"a.go", "b.go", "c.go", "a_test.go"} {
			src := "package p\n\nimport (\n"
			for k := 1; k <= 5 && i >= k*k; k++ {
				src += fmt.Sprintf("\t_ \"m.org/m/area%d/p%04d\"\n", (i-k*k)%13, i-k*k)
			}
			files[fmt.Sprintf("area%d/p%04d/%s", i%13, i, name)] = src + ")\n"
		}
	}
	a, tree := golang.New(golang.Options{}), conflicttest.New(files)
	b.ReportAllocs()
	for b.Loop() {
		snap, err := conflict.Analyze(context.Background(), a, config.Analysis{}, tree)
		must(b, err)
		if len(snap.Targets()) != 1300 {
			b.Fatalf("%d targets: %s", len(snap.Targets()), snap.Unknown)
		}
	}
}
