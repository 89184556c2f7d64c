package conflict_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/conflict/several"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func reading(targets, files string) config.Inputs {
	return config.Inputs{Targets: []string{targets}, Files: []string{files}}
}

func TestWhatADeclaredInputAffects(t *testing.T) {
	both := []string{"x", "y"}
	for name, tt := range map[string]struct {
		s    config.Analysis
		path string
		want []string
	}{
		"an ignored file":                    {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("x", "docs/*.md")}}, "docs/index.md", []string{"x"}},
		"a file that is not there yet":       {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("x", "docs/*.md")}}, "docs/new.md", []string{"x"}},
		"another target's file":              {config.Analysis{Inputs: []config.Inputs{reading("y", "x/readme.md")}}, "x/readme.md", both},
		"nobody's stays in every hash":       {config.Analysis{Inputs: []config.Inputs{reading("y", "Makefile")}}, "Makefile", both},
		"nobody's stays in its target":       {config.Analysis{Unowned: config.UnownedTarget, Inputs: []config.Inputs{reading("y", "Makefile")}}, "Makefile", []string{config.TargetUnowned, "y"}},
		"what another rule leaves out":       {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("x", "docs/*.txt")}}, "docs/index.md", nil},
		"a rule for nobody":                  {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("z", "docs/**")}}, "docs/index.md", nil},
		"a rule for all":                     {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("**", "docs/**")}}, "docs/index.md", both},
		"a rule with a dot":                  {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("./[x]", "docs/**")}}, "docs/index.md", []string{"x"}},
		"two rules for one":                  {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("x", "Makefile"), reading("x", "docs/**")}}, "docs/index.md", []string{"x"}},
		"the rule of another of the targets": {config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{{Targets: []string{"q", "y"}, Files: []string{"a", "docs/**"}}}}, "docs/index.md", []string{"y"}},
	} {
		t.Run(name, func(t *testing.T) {
			base := conflicttest.New(repository)
			main, change := mustAnalyze(t, folders{}, tt.s, base), mustAnalyze(t, folders{}, tt.s, base.With(tt.path, "more"))
			f := conflict.FootprintOf(main, change, "m")
			if d := cmp.Diff(tt.want, f.Affected); d != "" || f.Unknown != "" {
				t.Errorf("unknown %q, affected (-want +got): %s", f.Unknown, d)
			}
			var keys []string
			for _, k := range conflict.Keys(main, change, unit, unit) {
				keys = append(keys, k.Target)
			}
			if d := cmp.Diff(tt.want, keys); d != "" {
				t.Errorf("keys (-want +got): %s", d)
			}
		})
	}
}

// TestDeclaredInputsOfOneOfSeveral holds that an entry's rules are for its own
// targets, by the names that its analyzer gives them.
func TestDeclaredInputsOfOneOfSeveral(t *testing.T) {
	a, err := several.New([]several.Part{{Name: "one", Analyzer: folders{}}, {Name: "two", Analyzer: folders{}}})
	if err != nil {
		t.Fatal(err)
	}
	s := config.Analysis{Ignore: []string{"docs/**"}, Analyzers: []config.SubAnalysis{
		{Name: "one", Inputs: []config.Inputs{reading("x", "docs/index.md")}}, {Name: "two", Inputs: []config.Inputs{reading("two:x", "docs/index.md")}}}}
	base := conflicttest.New(repository)
	f := conflict.FootprintOf(mustAnalyze(t, a, s, base), mustAnalyze(t, a, s, base.With("docs/index.md", "more")), "m")
	if d := cmp.Diff([]string{"one:x"}, f.Affected); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"analysis.analyzers[0].inputs[0]", "analysis.analyzers[1].inputs[0]", "one:x"}, f.Write); d != "" {
		t.Error(d)
	}
}

// TestDeclaredInputsConflict holds that a change to a declared file conflicts
// with one to a target that reads it, and with one that adds such a target.
func TestDeclaredInputsConflict(t *testing.T) {
	s := config.Analysis{Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("x*", "docs/**")}}
	base := conflicttest.New(repository)
	main := mustAnalyze(t, folders{}, s, base)
	x := index.New()
	for id, tree := range map[queue.ChangeID]*conflicttest.Tree{
		"docs": base.With("docs/index.md", "more"), "x": base.With("x/code", ""), "new": base.With("x2/target", ""), "y": base.With("y/code", ""),
	} {
		x.Put(id, conflict.FootprintOf(main, mustAnalyze(t, folders{}, s, tree), "m"))
	}
	for other, want := range map[queue.ChangeID]bool{"x": true, "new": true, "y": false} {
		if got := x.Conflict("docs", other); got != want {
			t.Errorf("docs conflicts with %s: %v", other, got)
		}
	}
}

func TestDeclaredInputsAreExplained(t *testing.T) {
	s := config.Analysis{Ignore: []string{"docs/**", "*.md"}, Inputs: []config.Inputs{reading("x", "docs/**"), reading("nobody", "top.md")}}
	base := conflicttest.New(repository).With("top.md", "")
	from, to := mustDescribe(t, folders{}, s, base), mustDescribe(t, folders{}, s, base.With("docs/index.md", "more"))
	want := &conflict.Cause{Kind: conflict.CauseFile, Through: []string{"x", "analysis.inputs[0]"}, Path: "docs/index.md", Mark: "changed"}
	if d := cmp.Diff(want, conflict.NewCauses(from, to).Of("x")); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"analysis.inputs[0]"}, from.Holding("docs/index.md")); d != "" {
		t.Error(d)
	}
	var ignored []string
	for _, e := range from.Ignored {
		ignored = append(ignored, e.Path)
	}
	if d := cmp.Diff([]string{"top.md"}, ignored); d != "" {
		t.Errorf("ignored, though a target has it: %s", d)
	}
}

func TestInputsOfAnAnalyzerAreRefused(t *testing.T) {
	g := &conflict.Graph{Targets: []conflict.Target{{Name: "analysis.inputs[0]"}}}
	if s := graphSnapshot(t, g); s.Unknown != `the target name "analysis.inputs[0]" is reserved` {
		t.Errorf("unknown %q", s.Unknown)
	}
	for _, s := range []config.Analysis{{Inputs: []config.Inputs{reading("[", "x")}}, {Inputs: []config.Inputs{reading("x", "[")}}} {
		if snap := mustAnalyze(t, folders{}, s, conflicttest.New(repository)); snap.Unknown == "" {
			t.Errorf("%+v is not refused", s)
		}
	}
}

func mustDescribe(t interface{ Fatal(...any) }, a conflict.Analyzer, s config.Analysis, tree conflict.Tree) *conflict.Description {
	d, err := conflict.Describe(context.Background(), a, s, tree)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// drawInputs draws rules for the targets of small and of Words.
func drawInputs(t *rapid.T) (list []config.Inputs) {
	globs := func(label string, of ...string) []string {
		return rapid.SliceOfN(rapid.SampledFrom(of), 1, 2).Draw(t, label)
	}
	for range rapid.IntRange(0, 3).Draw(t, "rules") {
		list = append(list, config.Inputs{Targets: globs("targets", "a", "b", "[cd]", "a/*", "**", "none"),
			Files: globs("files", "**/*.md", "a/**", "b/f", "docs/**", "x/*", "README", "**", "none")})
	}
	return list
}

// TestFilesOfATarget holds what a hash is said to have against the hash: it
// moves exactly with the files that FilesOf names, whatever claims them and
// whatever is declared.
func TestFilesOfATarget(t *testing.T) {
	declared := 0
	rapid.Check(t, func(t *rapid.T) {
		d := conflicttest.Drawer{Pick: func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }}
		p := places[rapid.SampledFrom([]config.Unowned{config.UnownedAll, config.UnownedTarget}).Draw(t, "unowned")]
		files := d.Tree()
		s := p.Settings()
		s.Inputs = drawInputs(t)
		tree := conflicttest.New(files)
		at := mustDescribe(t, p.Analyzer(), s, tree)
		plain := s
		plain.Inputs = nil
		before := mustDescribe(t, p.Analyzer(), plain, tree)
		for _, path := range tree.Paths() {
			// The mode is in hashes as the content is, and means nothing to the analyzer.
			moved := conflict.DeltaOf(at.Snapshot, mustDescribe(t, p.Analyzer(), s, tree.WithMode(path, "100755", tree.Content(path))).Snapshot)
			somewhere := false
			for _, h := range at.Targets() {
				in := at.FilesOf(h.Target)[path]
				somewhere = somewhere || in
				if got := slices.Contains(moved.Changed, h.Target); got != in {
					t.Fatalf("%s is in the hash of %s: %t; it moves: %t", path, h.Target, in, got)
				}
				if in && !before.FilesOf(h.Target)[path] {
					declared++
				} else if !in && before.FilesOf(h.Target)[path] {
					t.Fatalf("what is declared takes %s out of %s", path, h.Target)
				}
			}
			if ignored := slices.ContainsFunc(at.Ignored, func(e conflict.Entry) bool { return e.Path == path }); ignored == somewhere {
				t.Fatalf("%s is in some hash: %t; it is ignored: %t", path, somewhere, ignored)
			}
		}
	})
	if declared == 0 {
		t.Error("nothing was declared")
	}
}

// TestDeclaredInputsShare holds that a change to one of many declared files
// costs its directory.
func TestDeclaredInputsShare(t *testing.T) {
	files := map[string]string{"a/BUILD": ""}
	for i := range 4_000 {
		files[fmt.Sprintf("docs/d%03d/f%d.md", i/10, i)] = ""
	}
	tree := conflicttest.New(files)
	a, s := &small{}, config.Analysis{Unowned: config.UnownedTarget, Ignore: []string{"docs/**"}, Inputs: []config.Inputs{reading("a", "docs/**")}}
	near := mustAdvance(t, a, s, nil, tree, nil)
	next := tree.With("docs/d100/new.md", "").Without("docs/d200")
	snap := mustAdvance(t, a, s, near, next, conflicttest.Changes(tree, next))
	if a.whole != 1 || snap.Size()*10 > near.Size() {
		t.Errorf("%d of %d bytes are its own; looked at all %d times", snap.Size(), near.Size(), a.whole)
	}
	same(t, snap, mustAdvance(t, &small{}, s, nil, next, nil), near)
}

// TestDeclaredLinks holds that a declared file that is a link is read as what it leads
// to, whoever owns the link and its goal, and that a rule may name files by a path that
// leads through a link.
func TestDeclaredLinks(t *testing.T) {
	tree := conflicttest.New(map[string]string{"a/BUILD": "", "b/BUILD": "own b/data/f\nown b/other\nown b/data/link", "b/data/f": "", "b/other": ""}).
		WithMode("a/link", conflict.ModeLink, "../b/data/f").
		WithMode("docs/link", conflict.ModeLink, "../b/data/f").
		WithMode("docs/folder", conflict.ModeLink, "../b/data").
		WithMode("shared", conflict.ModeLink, "docs/folder").
		With("c/BUILD", "")
	for files, want := range map[string]bool{"a/link": true, "docs/link": true, "docs/**": true, "docs/folder": true,
		"shared/f": true, "shared/**": true, "shared/*.md": false, "docs/none": false, "a/BUILD": false} {
		s := config.Analysis{Ignore: []string{"docs/**", "shared"}, Inputs: []config.Inputs{reading("c", files)}}
		near := mustAdvance(t, &small{}, s, nil, tree, nil)
		for name, next := range map[string]*conflicttest.Tree{"edited": tree.With("b/data/f", "more"), "gone": tree.Without("b/data/f"),
			"elsewhere": tree.WithMode("b/data/f", conflict.ModeLink, "../other"),
		} {
			snap := mustAdvance(t, &small{}, s, near, next, conflicttest.Changes(tree, next))
			if got := hashOf(t, snap, "c") != hashOf(t, near, "c"); got != want {
				t.Errorf("%s, %s: c is affected: %t", files, name, got)
			}
			same(t, snap, mustAdvance(t, &small{}, s, nil, next, nil), near)
			if back := mustAdvance(t, &small{}, s, snap, tree, conflicttest.Changes(next, tree)); hashOf(t, back, "c") != hashOf(t, near, "c") {
				t.Errorf("%s, %s: the way back is another one", files, name)
			}
		}
		d := mustDescribe(t, &small{}, s, tree)
		if got := d.FilesOf("c")["b/data/f"]; got != want {
			t.Errorf("%s: b/data/f is said to be in c: %t", files, got)
		}
	}
}
