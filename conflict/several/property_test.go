package several_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/several"
	"github.com/submitqueue/submitqueue/queue/config"
)

// world is some parts in folders of their own.
type world struct {
	parts []several.Part
	tree  *conflicttest.Tree
}

func drawWorld(t *rapid.T, analyzer func(string) conflict.Analyzer) world {
	var w world
	for i, under := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "a b", "b/c", "é'", "-x"}), 1, 3, rapid.ID).Draw(t, "folders") {
		name := fmt.Sprint("p", i)
		p := several.Part{Name: name, Under: under, Analyzer: analyzer(name)}
		if rapid.Bool().Draw(t, "barrier") {
			p.Barrier = []string{"read*"}
		}
		for _, before := range w.parts {
			if rapid.Bool().Draw(t, "needs") {
				p.Needs = append(p.Needs, before.Name)
			}
		}
		w.parts = append(w.parts, p)
	}
	w.tree = conflicttest.New(map[string]string{"readme": "", "b/x": ""})
	for range rapid.IntRange(0, 12).Draw(t, "files") {
		w.tree = w.edit(t)
	}
	return w
}

// edit returns the tree with one file added, changed or removed.
func (w world) edit(t *rapid.T) *conflicttest.Tree {
	if paths := w.tree.Paths(); len(paths) > 2 && rapid.IntRange(0, 3).Draw(t, "remove") == 0 {
		paths = slices.DeleteFunc(paths, func(p string) bool { return p == "readme" })
		return w.tree.Without(rapid.SampledFrom(paths).Draw(t, "removed"))
	}
	under := rapid.SampledFrom(w.parts).Draw(t, "part").Under
	name := rapid.SampledFrom([]string{"x", "y", "z", "_i"}).Draw(t, "target")
	deps := rapid.SliceOfN(rapid.SampledFrom([]string{"x", "y", "z", "_i", "none"}), 0, 2).Draw(t, "deps")
	content := fmt.Sprint(rapid.IntRange(0, 2).Draw(t, "content"))
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0:
		return w.tree.With(under+"/lock", content)
	case 1:
		return w.tree.With(under+"/version", content)
	case 2:
		return w.tree.With("readme", content)
	case 3:
		return w.tree.With(under+"/stray", content)
	case 4, 5:
		return w.tree.With(under+"/"+name+"/file"+content, content)
	case 6:
		return w.tree.With(under+"/vague", content)
	}
	return w.tree.With(under+"/"+name+"/deps", strings.Join(deps, " "))
}

// TestTogetherAsAlone holds that each part finds in company what it finds
// alone, and that a hash moves in company exactly when it moves alone or, where
// a part needs others, when anything of theirs moves.
func TestTogetherAsAlone(t *testing.T) {
	s := config.Analysis{Unowned: config.UnownedTarget}
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, func(id string) conflict.Analyzer { return toy{id} })
		after := w
		for range rapid.IntRange(1, 3).Draw(rt, "edits") {
			after.tree = after.edit(rt)
		}
		a := mustNew(t, w.parts...)
		before, with := mustAnalyze(t, a, s, w.tree), mustAnalyze(t, a, s, after.tree)
		want := map[string]bool{}
		wantNames := map[string]bool{}
		restless := map[string]bool{} // parts of which something moves
		for _, p := range w.parts {
			was, is := folder(w.tree, p.Under), folder(after.tree, p.Under)
			from, to := mustAnalyze(t, p.Analyzer, s, was), mustAnalyze(t, p.Analyzer, s, is)
			base := len(p.Barrier) > 0 && w.tree.Content("readme") != after.tree.Content("readme") || slices.ContainsFunc(p.Needs, func(n string) bool { return restless[n] }) ||
				slices.ContainsFunc([]string{"lock", "version"}, func(f string) bool {
					return was.Content(f) != is.Content(f) || slices.Contains(was.Paths(), f) != slices.Contains(is.Paths(), f)
				})
			restless[p.Name] = base
			for _, n := range slices.Concat(moved(from, to), slices.Collect(maps.Keys(names(to.Targets())))) {
				if n == config.TargetUnowned {
					continue
				}
				if _, there := names(to.Targets())[n]; there {
					wantNames[p.Name+":"+n] = true
				}
				if base || names(from.Targets())[n] != names(to.Targets())[n] {
					want[p.Name+":"+n] = true
					restless[p.Name] = true
				}
			}
		}
		got := slices.DeleteFunc(moved(before, with), func(n string) bool { return n == config.TargetUnowned })
		if d := cmp.Diff(slices.Sorted(maps.Keys(want)), got, cmpopts.EquateEmpty()); d != "" {
			rt.Fatalf("moved (-alone +together): %s", d)
		}
		all := names(with.Targets())
		delete(all, config.TargetUnowned)
		if d := cmp.Diff(slices.Sorted(maps.Keys(wantNames)), slices.Sorted(maps.Keys(all)), cmpopts.EquateEmpty()); d != "" {
			rt.Fatalf("targets (-alone +together): %s", d)
		}
		for _, path := range after.tree.Paths() {
			if next := mustAnalyze(t, a, s, after.tree.With(path, after.tree.Content(path)+" x")); len(moved(with, next)) == 0 {
				rt.Fatalf("%s is in no hash", path)
			}
		}
	})
}

// TestFollowingIsTheWhole holds that a graph followed from tree to tree is the
// graph of the last one.
func TestFollowingIsTheWhole(t *testing.T) {
	followed := 0
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorld(rt, func(id string) conflict.Analyzer {
			if rapid.IntRange(0, 3).Draw(rt, "follows") == 0 {
				return toy{id}
			}
			return following{toy{id}}
		})
		a := mustNew(t, w.parts...).(conflict.Follower)
		g, err := a.Graph(t.Context(), w.tree)
		if err != nil {
			rt.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(rt, "edits") {
			next := w.edit(rt)
			if rapid.IntRange(0, 9).Draw(rt, "link") == 0 {
				next = next.WithMode(w.parts[0].Under+"/x/link", conflict.ModeLink, "../../"+strings.Repeat("../", strings.Count(w.parts[0].Under, "/"))+"readme")
			}
			whole, err := a.Graph(t.Context(), next)
			if err != nil {
				rt.Fatal(err)
			}
			patch, err := a.Follow(t.Context(), g.Memo, changesOf(t, w.tree, next), next)
			if err != nil {
				rt.Fatal(err)
			}
			w.tree = next
			if patch == nil {
				g = whole
				continue
			}
			followed++
			g = patched(g, patch)
			if d := cmp.Diff(textOf(rt, whole), textOf(rt, g)); d != "" {
				rt.Fatalf("(-whole +followed): %s", d)
			}
		}
	})
	if followed == 0 {
		t.Error("nothing was followed")
	}
}

func patched(g *conflict.Graph, p *conflict.Patch) *conflict.Graph {
	out := &conflict.Graph{Barrier: g.Barrier, Salt: g.Salt, Memo: p.Memo}
	for _, n := range g.Targets {
		if !slices.Contains(p.Gone, n.Name) && !slices.ContainsFunc(p.Targets, func(m conflict.Target) bool { return m.Name == n.Name }) {
			out.Targets = append(out.Targets, n)
		}
	}
	out.Targets = append(out.Targets, p.Targets...)
	for _, d := range g.Definitions {
		if !slices.Contains(p.GoneDefinitions, d.Name) && !slices.ContainsFunc(p.Definitions, func(e conflict.Definition) bool { return e.Name == d.Name }) {
			out.Definitions = append(out.Definitions, d)
		}
	}
	out.Definitions = append(out.Definitions, p.Definitions...)
	return out
}

// textOf writes a graph so that two that are the same look the same.
func textOf(t *rapid.T, g *conflict.Graph) string {
	slices.SortFunc(g.Targets, func(a, b conflict.Target) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(g.Definitions, func(a, b conflict.Definition) int { return strings.Compare(a.Name, b.Name) })
	shown := *g
	shown.Memo = nil
	data, err := json.MarshalIndent(shown, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
