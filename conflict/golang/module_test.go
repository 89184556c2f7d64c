package golang_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/golang"
)

func TestLinesOfAModuleThatAreInEveryHash(t *testing.T) {
	base := conflicttest.New(external).With("other/go.mod", "module other\n").With("other/o.go", "package o\n")
	all := 0
	for name, line := range map[string]string{
		"toolchain": "toolchain go1.26.0", "godebug": "godebug default=go1.21", "tool": "tool ext.org/x/cmd",
		"ignore": "ignore ./node_modules", "replace": "replace plain => ./std", "replace away": "replace plain => ../std", "replace by a version": "replace plain => plain v1.1.0",
	} {
		got := affected(t, settings, base, base.With("go.mod", external["go.mod"]+"\n"+line+"\n"))
		all = len(mustAnalyze(t, settings, base).Targets())
		if global := len(got) == all; global != !strings.Contains(name, " ") {
			t.Errorf("%s affects %v", name, got)
		}
	}
}

// The go command would read what is behind it.
func TestAModuleBehindALinkHasNoGraph(t *testing.T) {
	base := conflicttest.New(external).With("sub/real.mod", "module sub\n").With("sub/s.go", "package sub\n")
	snap := mustAnalyze(t, settings, base.WithMode("sub/go.mod", conflict.ModeLink, "real.mod"))
	if want := "sub/go.mod is a symbolic link"; !strings.HasPrefix(snap.Unknown, want) {
		t.Errorf("unknown is %q, not %q", snap.Unknown, want)
	}
}

func TestEmbeds(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"go.mod":             "module m.org/m\n",
		"p/web/index.html":   "",
		"p/web/.hidden":      "",
		"p/web/css/a.css":    "",
		"p/img/x/1.png":      "",
		"p/img/y/1.png":      "",
		"p/img/y/deep/1.txt": "",
		"p/one.txt":          "",
		"outside.txt":        "",
		"user/user.go":       "package user\n\nimport _ \"m.org/m/p\"\n",
	})
	embeds := func(patterns string) *conflicttest.Tree {
		return base.With("p/p.go", "package p\n\nimport _ \"embed\"\n\n//go:embed "+patterns+"\nvar x string\n")
	}
	for _, tt := range []struct {
		patterns string
		want     []string
	}{
		{"one.txt", []string{"p/one.txt"}},
		{"web", []string{"p/web/.hidden", "p/web/css/a.css", "p/web/index.html"}},
		{"all:web/css", []string{"p/web/css/a.css"}},
		{"img/*/1.png", []string{"p/img/x/1.png", "p/img/y/1.png"}},
		{"img/y*", []string{"p/img/y/1.png", "p/img/y/deep/1.txt"}},
		{"*.txt ../outside.txt /etc/passwd .. absent [b", []string{"p/one.txt"}},
		{".", []string{"p/img/x/1.png", "p/img/y/1.png", "p/img/y/deep/1.txt", "p/one.txt", "p/p.go", "p/web/.hidden", "p/web/css/a.css", "p/web/index.html"}},
	} {
		var got []string
		for _, n := range mustGraph(t, embeds(tt.patterns)).Targets {
			if n.Name != "lib:./p" {
				continue
			}
			for _, e := range n.Sources {
				if e.Path != "p/p.go" || tt.patterns == "." {
					got = append(got, e.Path)
				}
			}
		}
		slices.Sort(got)
		if d := cmp.Diff(tt.want, slices.Compact(got)); d != "" {
			t.Errorf("%s: %s", tt.patterns, d)
		}
	}
}

func TestLinksThatLeadNowhere(t *testing.T) {
	base := conflicttest.New(external).
		WithMode("std/a.go", conflict.ModeLink, "/etc/passwd").
		WithMode("std/b", conflict.ModeLink, "c").WithMode("std/c", conflict.ModeLink, "b").
		WithMode("std/d.go", conflict.ModeLink, "../gone.go").
		WithMode("std/up.txt", conflict.ModeLink, "..").
		WithMode("std/sub", conflict.ModeSubmodule, "c1").
		WithMode("std/testdata/l", conflict.ModeLink, "../../user/user.go").
		With("asm/asm.go", "package asm\n").With("asm/asm.s", "").With("asm/lib.a", "")
	// Nobody can tell what a Go file is that leads out of the tree.
	got := affected(t, settings, base, base.With("lost/lost.go", "package lost\n"))
	if d := cmp.Diff([]string{"./lost", "./std"}, got); d != "" {
		t.Error(d)
	}
}

// A go.mod takes the packages below it out of a module, in testdata as well: who
// imports one of them does not build any more.
func TestAModuleInTestdataTakesItsPackagesAway(t *testing.T) {
	base := conflicttest.New(workspace).
		With("a/testdata/deep/x/x.go", "package x\n").
		With("far/far.go", "package far\n\nimport _ \"example.com/mod/a/testdata/deep/x\"\n")
	for _, file := range []string{"a/testdata/go.mod", "a/testdata/deep/x/go.mod"} {
		to := base.With(file, "module other\n")
		if got := affected(t, settings, base, to); !slices.Contains(got, "./far") {
			t.Errorf("%s affects %q", file, got)
		}
		graph, err := golang.New(golang.Options{}).Graph(t.Context(), base)
		must(t, err)
		g, _ := followed(t, golang.New(golang.Options{}), conflicttest.Ordered(graph), base, to)
		followed(t, golang.New(golang.Options{}), g, to, base)
	}
}

// `go work vendor` writes the external modules of all modules of a workspace beside
// the go.work, where there may be no go.mod.
func TestWhatAWorkspaceVendors(t *testing.T) {
	base := conflicttest.New(map[string]string{
		"go.work": "go 1.22\n\nuse ./m\n", "vendor/ext.org/x/x.go": "package x\n",
		"m/go.mod":       "module m.org/m\n\ngo 1.22\n\nrequire ext.org/x v1.0.0\n",
		"m/user/user.go": "package user\n\nimport _ \"ext.org/x\"\n",
	})
	for name, to := range map[string]*conflicttest.Tree{
		"an edit": base.With("vendor/ext.org/x/x.go", "package x // 2\n"), "a new file": base.With("vendor/ext.org/x/new.go", "package x\n"),
	} {
		if got := affected(t, settings, base, to); !slices.Contains(got, "./m/user") {
			t.Errorf("%s of a vendored package affects %q", name, got)
		}
		a := golang.New(golang.Options{})
		got, err := conflict.Advance(t.Context(), a, settings, mustAnalyze(t, settings, base), to, conflicttest.Changes(base, to))
		must(t, err)
		if d := cmp.Diff(mustAnalyze(t, settings, to).Targets(), got.Targets()); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
