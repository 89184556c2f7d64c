package conflict_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// small is a build system: a folder with a file BUILD is a target of that name
// that owns the folder's files. BUILD holds lines such as "dep x", "own path",
// "reads folder", "alias name" and "internal". It counts how often it looks at
// a whole tree.
type small struct{ whole int }

type smallMemo struct {
	files   map[string]conflict.Entry
	targets map[string]conflict.Target
}

func (*small) ID() string { return "small/1" }

func (a *small) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	a.whole++
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	m := &smallMemo{files: map[string]conflict.Entry{}}
	for _, e := range files {
		m.files[e.Path] = e
	}
	if err := m.read(ctx, t); err != nil {
		return nil, err
	}
	g := &conflict.Graph{Memo: m, Targets: slices.Collect(maps.Values(m.targets)), Definitions: m.definitions()}
	if e, ok := m.files["WORKSPACE"]; ok {
		g.Barrier = []conflict.Entry{e}
	}
	return g, nil
}

func (a *small) Follow(ctx context.Context, memo any, files []conflict.FileChange, t conflict.Tree) (*conflict.Patch, error) {
	old := memo.(*smallMemo)
	m := &smallMemo{files: maps.Clone(old.files)}
	for _, c := range files {
		if c.Path == "WORKSPACE" {
			return nil, nil
		}
		if delete(m.files, c.Path); c.To.Path != "" {
			m.files[c.Path] = c.To
		}
	}
	if err := m.read(ctx, t); err != nil {
		return nil, err
	}
	p := &conflict.Patch{Memo: m, Definitions: m.definitions()}
	for name, target := range m.targets {
		if was, ok := old.targets[name]; !ok || len(name)%2 == 0 || !reflect.DeepEqual(was, target) {
			p.Targets = append(p.Targets, target)
		}
	}
	for name := range old.targets {
		if _, ok := m.targets[name]; !ok {
			p.Gone = append(p.Gone, name)
			p.GoneDefinitions = append(p.GoneDefinitions, conflict.DefinitionPrefix+name)
		}
	}
	return p, nil
}

func (m *smallMemo) definitions() []conflict.Definition {
	var list []conflict.Definition
	for name := range m.targets {
		list = append(list, conflict.Definition{Name: conflict.DefinitionPrefix + name, Digest: queue.Digest(m.files[name+"/BUILD"].OID)})
	}
	return list
}

func (m *smallMemo) read(ctx context.Context, t conflict.Tree) error {
	m.targets = map[string]conflict.Target{}
	for _, p := range slices.Sorted(maps.Keys(m.files)) {
		dir, base := path.Split(p)
		if base != "BUILD" || dir == "" {
			continue
		}
		data, err := t.Blob(ctx, m.files[p].OID)
		if err != nil {
			return err
		}
		x := conflict.Target{Name: strings.TrimSuffix(dir, "/"), Kind: "folder"}
		for _, e := range m.files {
			if d, _ := path.Split(e.Path); d == dir {
				x.Sources = append(x.Sources, e)
			}
		}
		for line := range strings.Lines(string(data)) {
			verb, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch verb {
			case "dep":
				x.Deps = append(x.Deps, arg)
			case "own":
				if e, ok := m.files[arg]; ok {
					x.Sources = append(x.Sources, e)
				}
			case "reads":
				x.Reads = append(x.Reads, conflict.ListingOf(arg))
			case "alias":
				x.Alias = arg
			case "internal":
				x.Internal = true
			case "broken":
				return fmt.Errorf("%s is broken", p)
			}
		}
		slices.SortFunc(x.Sources, func(a, b conflict.Entry) int { return strings.Compare(a.Path, b.Path) })
		m.targets[x.Name] = x
	}
	return nil
}

func drawSmallTree(t *rapid.T) *conflicttest.Tree {
	tree := conflicttest.New(map[string]string{"README": "", "a/BUILD": "dep b\n", "b/BUILD": "internal\n"})
	for range rapid.IntRange(0, 12).Draw(t, "files") {
		tree = drawSmallEdit(t, tree)
	}
	return tree
}

func drawSmallEdit(t *rapid.T, tree *conflicttest.Tree) *conflicttest.Tree {
	dir := rapid.SampledFrom([]string{"a", "b", "c", "d", "a/x", "e"}).Draw(t, "dir")
	file := dir + "/" + rapid.SampledFrom([]string{"f", "g.md", "deep/h"}).Draw(t, "file")
	if rapid.IntRange(0, 30).Draw(t, "case") == 0 {
		file = rapid.SampledFrom([]string{strings.ToUpper(file), dir + "/F", dir + "/Deep"}).Draw(t, "cased")
		for _, p := range tree.Paths() {
			if strings.HasPrefix(p, file+"/") || strings.HasPrefix(file, p+"/") {
				return tree // nothing is below a file
			}
		}
	}
	switch rapid.IntRange(0, 9).Draw(t, "edit") {
	case 0, 1, 2:
		return tree.With(file, rapid.StringN(0, 2, 2).Draw(t, "content"))
	case 3:
		return tree.Without(file)
	case 4:
		return tree.Without(dir)
	case 5:
		return tree.With(rapid.SampledFrom([]string{"README", "LICENSE", "WORKSPACE", ".gitattributes", "docs/x.md"}).Draw(t, "top"), rapid.StringN(0, 1, 1).Draw(t, "content"))
	default:
		var text strings.Builder
		for range rapid.IntRange(0, 3).Draw(t, "lines") {
			verb := rapid.SampledFrom([]string{"dep", "dep", "own", "reads", "alias", "internal"}).Draw(t, "verb")
			arg := rapid.SampledFrom([]string{"a", "b", "c", "d", "a/x", "e", "z"}).Draw(t, "arg")
			if verb == "own" {
				arg += "/f"
			}
			fmt.Fprintln(&text, verb, arg)
		}
		return tree.With(dir+"/BUILD", text.String())
	}
}

// A tree followed step by step has the same hashes, cycles, names and
// footprints as one analyzed for the first time.
func TestAdvanceIsAnalyze(t *testing.T) {
	followed, looked := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := config.Analysis{Ignore: []string{"**/*.md"}, Inputs: drawInputs(t)}
		if rapid.Bool().Draw(t, "target") {
			s.Unowned = config.UnownedTarget
		}
		a := &small{}
		tree := drawSmallTree(t)
		first := mustAdvance(t, a, s, nil, tree, nil)
		at := first
		for range rapid.IntRange(1, 5).Draw(t, "steps") {
			next := tree
			for range rapid.IntRange(0, 3).Draw(t, "edits") {
				next = drawSmallEdit(t, next)
			}
			a.whole = 0
			files := conflicttest.Changes(tree, next)
			if rapid.IntRange(0, 9).Draw(t, "blind") == 0 {
				files = nil
			}
			at = mustAdvance(t, a, s, at, next, files)
			if a.whole == 0 {
				followed++
			} else {
				looked++
			}
			tree = next
			same(t, at, mustAdvance(t, &small{}, s, nil, tree, nil), first)
		}
	})
	if followed*4 < looked { // about half are, as the draws fall
		t.Errorf("%d of %d steps were followed", followed, followed+looked)
	}
}

func mustAdvance(t interface{ Fatal(...any) }, a conflict.Analyzer, s config.Analysis, near *conflict.Snapshot, tree conflict.Tree, files []conflict.FileChange) *conflict.Snapshot {
	snap, err := conflict.Advance(context.Background(), a, s, near, tree, files)
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// same holds a snapshot against one made from nothing, also as the change and
// as the main of a footprint.
func same(t interface{ Fatalf(string, ...any) }, got, want, other *conflict.Snapshot) {
	diff := func(what string, want, got any) {
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("%s (-from nothing +followed): %s", what, d)
		}
	}
	diff("targets", want.Targets(), got.Targets())
	diff("cycles", want.Cycles, got.Cycles)
	diff("aliases", want.Aliases(), got.Aliases())
	diff("nodes", want.Len(), got.Len())
	diff("footprint", conflict.FootprintOf(other, want, "m"), conflict.FootprintOf(other, got, "m"))
	diff("footprint of the way back", conflict.FootprintOf(want, other, "m"), conflict.FootprintOf(got, other, "m"))
	diff("keys", conflict.Keys(other, want, unit, unit), conflict.Keys(other, got, unit, unit))
	diff("all keys", conflict.Keys(nil, want, nil, unit), conflict.Keys(nil, got, nil, unit))
	diff("gone", conflict.Gone(other, want), conflict.Gone(other, got))
	diff("delta", conflict.DeltaOf(other, want), conflict.DeltaOf(other, got))
	if f := conflict.FootprintOf(want, got, "m"); f.All || len(f.Write)+len(f.Read) > 0 {
		t.Fatalf("the two differ: %+v", f)
	}
}

func TestAdvanceFails(t *testing.T) {
	s := config.Analysis{Unowned: config.UnownedTarget}
	tree := conflicttest.New(map[string]string{"a/BUILD": "", "b/BUILD": "dep a\n"})
	a := &small{}
	near := mustAdvance(t, a, s, nil, tree, nil)
	broken := tree.With("b/BUILD", "broken\n")
	if snap := mustAdvance(t, a, s, near, broken, conflicttest.Changes(tree, broken)); snap.Unknown != "b/BUILD is broken" || len(snap.Targets()) != 1 {
		t.Errorf("%q with %d targets", snap.Unknown, len(snap.Targets()))
	}
	gone := errors.New("gone")
	if _, err := conflict.Advance(t.Context(), a, s, near, broken.Failing(gone), conflicttest.Changes(tree, broken)); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if a.whole != 1 {
		t.Errorf("the whole tree was looked at %d times", a.whole)
	}
}

// Pages that a step does not touch are not copied.
func TestAdvanceShares(t *testing.T) {
	files := map[string]string{}
	for i := range 2_000 {
		files[fmt.Sprintf("d%04d/BUILD", i)] = fmt.Sprintf("dep d%04d\n", i/2)
	}
	tree := conflicttest.New(files)
	a, s := &small{}, config.Analysis{Unowned: config.UnownedTarget}
	near := mustAdvance(t, a, s, nil, tree, nil)
	next := tree.With("d1999/x", "")
	snap := mustAdvance(t, a, s, near, next, conflicttest.Changes(tree, next))
	if a.whole != 1 || snap.Size()*10 > near.Size() {
		t.Errorf("%d of %d bytes are its own; looked at all %d times", snap.Size(), near.Size(), a.whole)
	}
}
