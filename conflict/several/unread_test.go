package several_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/several"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// broken is the shop with a web/ that cannot be read.
var broken = shop.With("web/broken", "line 3")

// TestOnePartIsOneTarget holds what an edit affects where one part cannot be read:
// only what was declared leads from it to the others, or back.
func TestOnePartIsOneTarget(t *testing.T) {
	both := []several.Part{server, web}
	rule := config.Inputs{Targets: []string{"web:s*"}, Files: []string{"Makefile"}}
	for name, tt := range map[string]struct {
		parts []several.Part
		rules []config.Inputs
		path  string
		want  []string
	}{
		"the readable part":               {both, nil, "server/cart/cart.x", []string{"go:cart"}},
		"a target of the broken part":     {both, nil, "web/ui/deps", []string{"web:tree"}},
		"a file of nobody there":          {both, nil, "web/.nvmrc", []string{"web:tree"}},
		"a file of nobody elsewhere":      {both, nil, "Makefile", []string{config.TargetUnowned}},
		"another reason":                  {both, nil, "web/broken", []string{"web:tree"}},
		"its barrier":                     {[]several.Part{server, guardedBy(web, "Makefile")}, nil, "Makefile", []string{"web:tree"}},
		"the readable needs the broken":   {[]several.Part{needing(server, "web"), web}, nil, "web/ui/deps", []string{"go:cart", "web:tree"}},
		"the broken needs the readable":   {[]several.Part{server, needing(web, "go")}, nil, "server/cart/cart.x", []string{"go:cart", "web:tree"}},
		"and not the other way":           {[]several.Part{server, needing(web, "go")}, nil, "web/ui/deps", []string{"web:tree"}},
		"inputs of a target nobody knows": {both, []config.Inputs{rule}, "Makefile", []string{config.TargetUnowned, "web:tree"}},
		"a file that two of them see":     {[]several.Part{server, web, {Name: "all", Under: "web", Analyzer: toy{"sees"}}}, nil, "web/ui/deps", []string{"all:tree", "web:tree"}},
	} {
		t.Run(name, func(t *testing.T) {
			a, s := mustNew(t, tt.parts...), config.Analysis{Unowned: config.UnownedTarget, Inputs: tt.rules}
			f := conflict.FootprintOf(mustAnalyze(t, a, s, broken), mustAnalyze(t, a, s, broken.With(tt.path, "ui")), "m")
			if d := cmp.Diff(tt.want, f.Affected); d != "" || f.All || f.Unknown != "" {
				t.Errorf("all %v, unknown %q, affected (-want +got): %s", f.All, f.Unknown, d)
			}
			if told := f.Unread != ""; told != slices.ContainsFunc(tt.want, func(n string) bool { return strings.HasSuffix(n, ":tree") }) {
				t.Errorf("the reason is %q", f.Unread)
			}
		})
	}
}

// TestAnAnalyzerOfTheWholeTreeFails holds that it takes no file from `unowned`: a
// file that nobody else claims is still in every hash.
func TestAnAnalyzerOfTheWholeTreeFails(t *testing.T) {
	a := mustNew(t, several.Part{Name: "all", Analyzer: fixed{}}, web)
	s := config.Analysis{}
	main := mustAnalyze(t, a, s, shop)
	for path, want := range map[string][]string{
		"Makefile": {"all:tree", "web:site", "web:ui"}, "server/cart/cart.x": {"all:tree", "web:site", "web:ui"}, "web/site/index.html": {"all:tree", "web:site"},
	} {
		f := conflict.FootprintOf(main, mustAnalyze(t, a, s, shop.With(path, "other")), "m")
		if d := cmp.Diff(want, f.Affected); d != "" {
			t.Errorf("%s: (-want +got): %s", path, d)
		}
	}
}

// TestBreakingAndMending holds that a change that breaks a part, or mends it, meets
// every change to that part, builds all of it, and leaves the others alone.
func TestBreakingAndMending(t *testing.T) {
	a, s := mustNew(t, server, web), config.Analysis{Unowned: config.UnownedTarget, Ignore: []string{"web/.nvmrc"}}
	read, unread := mustAnalyze(t, a, s, shop), mustAnalyze(t, a, s, broken)
	breaks, mends := conflict.FootprintOf(read, unread, "m"), conflict.FootprintOf(unread, read, "m")
	if d := cmp.Diff([]string{"web:tree"}, breaks.Affected); d != "" || breaks.Gone != 2 || breaks.All {
		t.Errorf("breaking: %+v", breaks)
	}
	if d := cmp.Diff([]string{"web:site", "web:ui"}, mends.Affected); d != "" || mends.Gone != 1 || mends.All {
		t.Errorf("mending: %+v", mends)
	}
	for _, path := range []string{"web/ui/deps", "web/site/index.html", "web/lock"} {
		for name, tt := range map[string]struct{ by, other queue.Footprint }{
			"breaking": {breaks, conflict.FootprintOf(read, mustAnalyze(t, a, s, shop.With(path, "none")), "m")},
			"mending":  {mends, conflict.FootprintOf(unread, mustAnalyze(t, a, s, broken.With(path, "none")), "m")},
		} {
			if !meets(tt.by.Write, tt.other.Write) {
				t.Errorf("%s and an edit of %s do not conflict", name, path)
			}
		}
	}
	if other := conflict.FootprintOf(read, mustAnalyze(t, a, s, shop.With("server/cart/cart.x", "2")), "m"); meets(breaks.Write, other.Write) {
		t.Errorf("breaking web/ and an edit of server/ conflict in %v and %v", breaks.Write, other.Write)
	}
}

func meets(a, b []string) bool {
	return slices.ContainsFunc(a, func(n string) bool { return slices.Contains(b, n) })
}

// TestStepsOfAPart holds that the steps of the analyzer verify its one target, run on
// everything, and that those of another do not.
func TestStepsOfAPart(t *testing.T) {
	s := mustAnalyze(t, mustNew(t, server, web), config.Analysis{Unowned: config.UnownedTarget}, broken)
	steps := []config.Step{{Name: "unit", Analyzer: "go", Run: "test {targets}"}, {Name: "web", Analyzer: "web", Run: "test {targets}"}, {Name: "lint", Run: "lint"}}
	got := map[string][]string{}
	for _, k := range conflict.Keys(nil, s, nil, steps) {
		for _, st := range steps {
			if st.Digest() == k.Step {
				got[st.Name] = append(got[st.Name], k.Target)
			}
		}
	}
	want := map[string][]string{"unit": {"go:cart", "unowned"}, "web": {"unowned", "web:tree"}, "lint": {"go:cart", "unowned", "web:tree"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if got := steps[1].CommandFor([]string{"web:tree"}); got != "test ./..." {
		t.Errorf("got %q", got)
	}
}

// TestBrokenPartsAreSound holds, for random trees, edits and parts that break and
// mend: a file that moves a readable part alone moves the same targets beside broken
// ones; a file of a broken part moves its one target; what needs a part that moves
// moves; every file is in some hash; and following from tree to tree comes to what a
// look at the whole tree comes to.
func TestBrokenPartsAreSound(t *testing.T) {
	s := config.Analysis{Unowned: config.UnownedTarget}
	seen := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, func(id string) conflict.Analyzer { return following{toy{id}} })
		a := mustNew(t, w.parts...)
		toggle := func() {
			for _, p := range w.parts {
				if file := p.Under + "/broken"; rapid.IntRange(0, 2).Draw(rt, "break") == 0 {
					if slices.Contains(w.tree.Paths(), file) {
						w.tree = w.tree.Without(file)
					} else {
						w.tree = w.tree.With(file, "line 1")
					}
				}
			}
		}
		toggle()
		near, was := mustAnalyze(t, a, s, w.tree), w.tree
		for range rapid.IntRange(1, 4).Draw(rt, "edits") {
			if rapid.Bool().Draw(rt, "toggles") {
				toggle()
			} else {
				w.tree = w.edit(rt)
			}
			whole := mustAnalyze(t, a, s, w.tree)
			next, err := conflict.Advance(t.Context(), a, s, near, w.tree, changesOf(t, was, w.tree))
			if err != nil {
				rt.Fatal(err)
			}
			if d := cmp.Diff(whole.Targets(), next.Targets()); d != "" || whole.Unknown != next.Unknown {
				rt.Fatalf("(-whole +followed): %s", d)
			}
			if d := cmp.Diff(whole.Unread, next.Unread); d != "" {
				rt.Fatalf("unread (-whole +followed): %s", d)
			}
			near, was = next, w.tree
		}
		if near.Unknown != "" {
			return // no part can be read
		}
		unreadable := map[string]bool{}
		for _, u := range near.Unread {
			part, ok := config.WholePart(u.Target)
			if !ok {
				rt.Fatalf("the target of a part is called %q", u.Target)
			}
			unreadable[part] = true
			seen++
		}
		for _, path := range w.tree.Paths() {
			edited := w.tree.With(path, w.tree.Content(path)+" x")
			hit := moved(near, mustAnalyze(t, a, s, edited))
			if len(hit) == 0 {
				rt.Fatalf("%s is in no hash", path)
			}
			for _, p := range w.parts {
				inside := strings.HasPrefix(path, p.Under+"/")
				if unreadable[p.Name] && inside && !slices.Contains(hit, p.Name+":tree") {
					rt.Fatalf("%s does not move %s:tree, only %v", path, p.Name, hit)
				}
				if !inside {
					continue
				}
				alone := moved(mustAnalyze(t, p.Analyzer, s, folder(w.tree, p.Under)), mustAnalyze(t, p.Analyzer, s, folder(edited, p.Under)))
				for _, n := range alone {
					if n != config.TargetUnowned && n != config.TargetTree && !unreadable[p.Name] && !slices.Contains(hit, p.Name+":"+n) {
						rt.Fatalf("%s moves %s alone, and here only %v", path, n, hit)
					}
				}
				for _, other := range w.parts {
					ofOther := func(n string) bool { return strings.HasPrefix(n, other.Name+":") }
					has := slices.ContainsFunc(slices.Sorted(mapKeys(near)), ofOther)
					if slices.Contains(other.Needs, p.Name) && has && slices.ContainsFunc(hit, func(n string) bool { return strings.HasPrefix(n, p.Name+":") }) && !slices.ContainsFunc(hit, ofOther) {
						rt.Fatalf("%s moves %s, which %s needs, and here only %v", path, p.Name, other.Name, hit)
					}
					if other.Name != p.Name && len(other.Needs) == 0 && len(p.Needs) == 0 && len(other.Barrier) == 0 && slices.ContainsFunc(hit, ofOther) {
						rt.Fatalf("%s of %s moves %v", path, p.Name, hit)
					}
				}
			}
		}
	})
	if seen == 0 {
		t.Error("no part was broken beside one that is not")
	}
}

func mapKeys(s *conflict.Snapshot) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, t := range s.Targets() {
			if !yield(t.Target) {
				return
			}
		}
	}
}
