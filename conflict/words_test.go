package conflict_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// The same on real trees: graphs are read from files, changes edit files, and
// files are merged. conflicttest.Contents writes out the content of a target,
// without a hash.

var places = map[config.Unowned]conflicttest.Places{
	config.UnownedAll:    {Barrier: []string{"barrier"}, Ignore: []string{"docs/"}, Unowned: config.UnownedAll},
	config.UnownedTarget: {Barrier: []string{"barrier"}, Ignore: []string{"docs/"}, Unowned: config.UnownedTarget},
}

// words is a drawn tree with its policy.
type words struct {
	t *testing.T
	conflicttest.Places
	d     conflicttest.Drawer
	files map[string]string
}

func drawWords(t *testing.T, seed, stream int, lean bool) *words {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(stream)))
	w := &words{t: t, d: conflicttest.Drawer{Pick: r.IntN}, Places: places[config.UnownedAll]}
	if r.IntN(2) == 0 {
		w.Places = places[config.UnownedTarget]
	}
	w.Lean = lean && r.IntN(2) == 0
	if r.IntN(2) == 0 {
		w.Reads = map[string][]string{"a": {"docs/"}, "c": {"a/", "x/b"}, "low": {"u/other"}}
	}
	w.files = w.d.Tree()
	return w
}

func (w *words) snapshot(files map[string]string) *conflict.Snapshot {
	return mustAnalyze(w.t, w.Analyzer(), w.Settings(), conflicttest.New(files))
}

// TestHashesAreContents: over trees that are edited again and again, two targets
// of a name have one hash only if they are made of the same, and a target that
// is made of something else is in a key that the parent does not have.
func TestHashesAreContents(t *testing.T) {
	edits := map[string]int{}
	kept := 0
	for seed := range rounds(300) {
		w := drawWords(t, seed, 4, true)
		made := map[queue.TargetHash]string{}
		note := func(files map[string]string) (*conflict.Snapshot, map[string]conflicttest.Content) {
			s, contents := w.snapshot(files), w.Contents(files)
			if len(s.Targets()) != len(contents) {
				t.Fatalf("seed %d: targets %v, contents of %d", seed, s.Targets(), len(contents))
			}
			for _, h := range s.Targets() {
				c, ok := contents[h.Target]
				if was, known := made[h]; !ok || known && was != c.Text {
					t.Fatalf("seed %d: one hash of %s for\n%s\nand\n%s", seed, h.Target, was, c.Text)
				}
				made[h] = c.Text
			}
			return s, contents
		}
		parent, was := note(w.files)
		files := w.files
		for range 12 {
			e, kinds := w.d.Edit(files)
			next := e.On(files)
			commit, is := note(next)
			keys := map[string]bool{}
			for _, k := range conflict.Keys(parent, commit, unit, unit) {
				keys[k.Target] = true
			}
			f := conflict.FootprintOf(parent, commit, "m")
			for name, c := range is {
				if c.Text != was[name].Text && (!keys[name] || !slices.Contains(f.Affected, name) || !f.All && !slices.Contains(f.Write, name)) {
					t.Fatalf("seed %d: %v of %v changes %s, and nobody verifies it: %+v", seed, e, kinds, name, f)
				}
				kept += ifTrue(!keys[name])
			}
			for _, k := range kinds {
				edits[k]++
			}
			files, parent, was = next, commit, is
		}
	}
	edits["a hash is kept"] = kept
	mustHaveSeen(t, edits, append(slices.Clone(conflicttest.EditKinds), "a hash is kept")...)
}

// TestEveryFileOfATree: whatever file is edited, removed, made executable or
// moved in its mode, some key moves, or a glob of `ignore` says that none has to.
func TestEveryFileOfATree(t *testing.T) {
	for seed := range rounds(100) {
		w := drawWords(t, seed, 5, false)
		tree := conflicttest.New(w.files)
		main := w.snapshot(w.files)
		for _, p := range tree.Paths() {
			_, read := w.files["a/BUILD"]
			ignored := p == "docs/readme" && !(read && w.Reads != nil)
			for how, edited := range map[string]*conflicttest.Tree{
				"word": tree.With(p, tree.Content(p)+" more"), "nothing": tree.Without(p), "bit": tree.WithMode(p, "100755", tree.Content(p)),
				"link": tree.WithMode(p, conflict.ModeLink, tree.Content(p)),
			} {
				s := mustAnalyze(t, w.Analyzer(), w.Settings(), edited)
				gone := conflict.Gone(main, s)
				if moved := len(conflict.Keys(main, s, unit, unit)) > 0 || len(gone) > 0; moved == ignored {
					t.Fatalf("seed %d: %s at %s: a key moves: %t", seed, how, p, moved)
				}
			}
		}
	}
}

// TestNoConflictNoNewContent: of a set of changes without a conflict between two
// of them, each target is, once all have been merged, what it is on main or with
// one of them. That includes edges that two changes make together.
//
// There is one exception. A file of two targets that each lose it in another
// change is nobody's only when both have landed, and then in every hash, or in
// that of config.TargetUnowned. TestFileLeftByAllItsOwners shows it.
func TestNoConflictNoNewContent(t *testing.T) {
	seen := map[string]int{}
	for seed := range rounds(1200) {
		w := drawWords(t, seed, 6, true)
		main := w.snapshot(w.files)
		x := index.New()
		known := map[string]bool{}
		learn := func(files map[string]string) {
			for name, c := range w.Contents(files) {
				known[name+"\n"+c.Text] = true
			}
		}
		learn(w.files)
		owners := map[string]bool{} // files that have none somewhere
		disown := func(files map[string]string) {
			for _, f := range w.Nobodys(files) {
				owners[f] = true
			}
		}
		disown(w.files)
		merged, members := w.files, []conflicttest.Edit(nil)
		var kinds []string
		for range 3 {
			e, k := w.d.Edit(w.files)
			with := e.On(w.files)
			id := queue.ChangeID(fmt.Sprint(len(members)))
			f := conflict.FootprintOf(main, w.snapshot(with), "m")
			all, ok := conflicttest.Merge(w.files, merged, with)
			x.Put(id, f)
			if found := x.Conflicts(id); !ok || len(found) > 0 {
				x.Remove(id)
				if ok {
					seen["conflict"]++
					w.count(seen, found)
				}
				continue
			}
			learn(with)
			disown(with)
			merged, members, kinds = all, append(members, e), append(kinds, k...)
		}
		seen[fmt.Sprint(len(members), " independent")]++
		if slices.ContainsFunc(w.Nobodys(merged), func(f string) bool { return !owners[f] }) {
			seen["left by all its owners"]++
			continue
		}
		for name, c := range w.Contents(merged) {
			if !known[name+"\n"+c.Text] {
				t.Fatalf("seed %d (%s): nobody has built %s: main %v\nchanges %v\n%s", seed, w.Unowned, name, w.files, members, c.Text)
			}
		}
		for _, k := range kinds {
			seen["independent "+k] += ifTrue(len(members) > 1)
		}
	}
	mustHaveSeen(t, seen, "conflict", "1 independent", "2 independent", "3 independent", "by def:", "by list",
		"independent "+conflicttest.EditAddDep, "independent "+conflicttest.EditDropDep, "independent "+conflicttest.EditReverse,
		"independent "+conflicttest.EditAdd, "independent "+conflicttest.EditDelete, "independent "+conflicttest.EditUse)
}

// The gate sees what no footprint tells: a file of two targets, each of which
// leaves it in another change, is in every hash once both have landed. The second
// one is verified again as a whole, though the two are called independent.
func TestFileLeftByAllItsOwners(t *testing.T) {
	w := &words{t: t, Places: places[config.UnownedAll], files: map[string]string{
		"a/BUILD": "src:x/s", "b/BUILD": "src:x/s", "c/BUILD": "src:c/code", "c/code": "base", "x/s": "shared"}}
	main := w.snapshot(w.files)
	a, b := conflicttest.Edit{"a/BUILD": "-src:x/s other"}.On(w.files), conflicttest.Edit{"b/BUILD": "-src:x/s other"}.On(w.files)
	x := index.New()
	x.Put("a", conflict.FootprintOf(main, w.snapshot(a), "m"))
	x.Put("b", conflict.FootprintOf(main, w.snapshot(b), "m"))
	if x.Conflict("a", "b") {
		t.Error("they conflict now: say so where this test is mentioned")
	}
	both, _ := conflicttest.Merge(w.files, a, b)
	if keys := conflict.Keys(w.snapshot(a), w.snapshot(both), unit, unit); len(keys) != 3 {
		t.Errorf("b on a asks for %v", keys)
	}
}

// count notes which conflicts rest on definitions or listings alone.
func (w *words) count(seen map[string]int, found []queue.Conflict) {
	for _, c := range found {
		for _, n := range c.Witnesses {
			if len(n) > 4 && (n[:4] == "def:" || n[:4] == "list") && c.Kind != queue.ConflictGlobal {
				seen["by "+n[:4]]++
			}
		}
	}
}
