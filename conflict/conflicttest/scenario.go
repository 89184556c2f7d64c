package conflicttest

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
)

// Scenarios are things that every build system has in some form, and effects
// that two changes of them can have on one another. A Suite says the result of
// each.
var Scenarios = []string{
	"a condition and its flag",                     // one change makes something conditional, another turns the condition
	"a listing and a new file",                     // one looks into a directory, another adds to it
	"lines of a definition shift",                  // and nothing else
	"an empty file is deleted",                     // it is not a missing one
	"an executable bit is flipped",                 //
	"a file moves between targets",                 //
	"a dependency is reversed",                     // by one change
	"a cycle of two changes",                       //
	"each adds one target",                         // of the same name
	"one deletes what the other starts to use",     //
	"a directory that is looked into gains a file", //
	"a nested package appears",                     //
	"the lock file only",                           //
	"a broken definition",                          // unknown, and not empty
}

// Scenario is what one change does, or two of them.
type Scenario struct {
	Base       *Tree  // the common one, if nil
	One, Other *Tree  // the trees of main with each change alone; Other may be nil
	Affected   string // the targets that One affects, or "*": any
	Conflict   bool   // of One and Other
	Harmless   bool   // the conflict is none: both together make nothing new
	Unknown    string // a part of One's reason for having no graph
	None       string // why the build system has no such thing
}

// Suite is a build system that Scenarios are tried on.
type Suite struct {
	Base    *Tree
	Analyze func(conflict.Tree) (*conflict.Snapshot, error) // by a fresh analyzer
	Given   map[string]Scenario                             // by name

	// Tool, if not nil, asks the build system's own tool: its answer for each
	// target of a tree in a directory that the analyzer gives the same name. A
	// target with one answer for two changes together and another one for each
	// alone is a conflict; a target with one answer for a change and another one
	// for main is affected.
	Tool func(t *testing.T, dir string) (map[string]string, error)
}

// Run tries all Scenarios, and two more rules: a tree has the same hashes in
// each analysis, and a blob that cannot be read is an error.
func (u Suite) Run(t *testing.T) {
	t.Helper()
	for name := range u.Given {
		if !slices.Contains(Scenarios, name) {
			t.Errorf("there is no scenario %q", name)
		}
	}
	for _, name := range Scenarios {
		t.Run(name, func(t *testing.T) {
			s, ok := u.Given[name]
			switch {
			case !ok:
				t.Fatal("nothing says what comes of it")
			case s.None != "":
				t.Log("there is no such thing: " + s.None)
				return
			case s.Base == nil:
				s.Base = u.Base
			}
			s.run(t, u)
		})
	}
	t.Run("one tree in two places", func(t *testing.T) {
		again := u.Base.With("another-file", "").Without("another-file")
		if one, two := u.snapshot(t, u.Base), u.snapshot(t, again); one.Unknown != "" || !slices.Equal(one.Targets(), two.Targets()) {
			t.Errorf("%q %v, and %q %v", one.Unknown, one.Targets(), two.Unknown, two.Targets())
		}
	})
	t.Run("a missing blob", func(t *testing.T) {
		gone := errors.New("gone")
		if _, err := u.Analyze(u.Base.Failing(gone)); !errors.Is(err, gone) {
			t.Errorf("the error is %v", err)
		}
	})
}

func (u *Suite) snapshot(t *testing.T, tree conflict.Tree) *conflict.Snapshot {
	t.Helper()
	s, err := u.Analyze(tree)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// said returns the tool's answers about a tree, an error under an empty name.
func (u *Suite) said(t *testing.T, tree *Tree) map[string]string {
	t.Helper()
	dir := t.TempDir()
	tree.MustWrite(t, dir)
	facts, err := u.Tool(t, dir)
	if err != nil {
		return map[string]string{"": "an error"}
	}
	for name, text := range facts {
		facts[name] = strings.ReplaceAll(text, dir, "")
	}
	return facts
}

// MustWrite writes the tree's files into a directory.
func (t *Tree) MustWrite(tb testing.TB, dir string) {
	tb.Helper()
	for _, e := range t.sorted {
		file := filepath.Join(dir, filepath.FromSlash(e.Path))
		perm := os.FileMode(0o644)
		if e.Mode == "100755" {
			perm = 0o755
		}
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil && e.Mode == conflict.ModeLink {
			err = os.Symlink(string(t.blobs[e.OID]), file)
		} else if err == nil {
			err = os.WriteFile(file, t.blobs[e.OID], perm)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
}

func (s *Scenario) run(t *testing.T, u Suite) {
	analyze := func(tree conflict.Tree) *conflict.Snapshot { t.Helper(); return u.snapshot(t, tree) }
	main, one := analyze(s.Base), analyze(s.One)
	if main.Unknown != "" {
		t.Fatalf("main: %s", main.Unknown)
	}
	f := conflict.FootprintOf(main, one, "m")
	if s.Unknown != "" {
		if !strings.Contains(one.Unknown, s.Unknown) || !f.All || len(f.Affected) == 0 {
			t.Errorf("unknown %q, footprint %+v", one.Unknown, f)
		}
		return
	}
	if one.Unknown != "" {
		t.Fatal(one.Unknown)
	}
	if got := strings.Join(f.Affected, " "); s.Affected != "*" && got != s.Affected {
		t.Errorf("affected %q, want %q", got, s.Affected)
	}
	var known, mains map[string]string
	if u.Tool != nil {
		if mains = u.said(t, s.Base); mains[""] != "" || len(mains) == 0 {
			t.Fatal("the tool says nothing of main")
		}
		known = u.said(t, s.One)
		for name, text := range known {
			if mains[name] != text && !slices.Contains(f.Affected, name) {
				t.Errorf("the tool says that %s is affected: %s", name, cmp.Diff(mains[name], text))
			}
		}
	}
	if s.Other == nil {
		return
	}
	other := analyze(s.Other)
	x := index.New()
	x.Put("one", f)
	x.Put("other", conflict.FootprintOf(main, other, "m"))
	if got := x.Conflict("one", "other"); got != s.Conflict {
		t.Errorf("conflict: %t; %+v and %+v", got, f, conflict.FootprintOf(main, other, "m"))
	}
	merged, ok := s.merge()
	if !ok {
		return
	}
	if u.Tool != nil {
		others := u.said(t, s.Other)
		for name, text := range u.said(t, merged) {
			if text != mains[name] && text != known[name] && text != others[name] && !s.Conflict {
				t.Errorf("the tool says something new of %q: %s", name, text)
			}
		}
	}
	hashes := map[queue.TargetHash]bool{}
	for _, snap := range []*conflict.Snapshot{main, one, other} {
		for _, h := range snap.Targets() {
			hashes[h] = true
		}
	}
	both := analyze(merged)
	if fresh := slices.ContainsFunc(both.Targets(), func(h queue.TargetHash) bool { return !hashes[h] }); fresh != (s.Conflict && !s.Harmless) {
		t.Errorf("both together are something new: %t; %s %v", fresh, both.Unknown, both.Targets())
	}
}

// merge makes one tree of both, file by file.
func (s *Scenario) merge() (*Tree, bool) {
	out := s.Base.clone()
	for _, side := range []*Tree{s.One, s.Other} {
		maps.Copy(out.blobs, side.blobs)
	}
	for p := range union(s.Base.entries, s.One.entries, s.Other.entries) {
		b, inBase := s.Base.entries[p]
		o, inOne := s.One.entries[p]
		w, inOther := s.Other.entries[p]
		e, in := o, inOne
		switch {
		case b == o && inBase == inOne:
			e, in = w, inOther
		case b != w || inBase != inOther:
			if o != w || inOne != inOther {
				return nil, false
			}
		}
		if delete(out.entries, p); in {
			out.entries[p] = e
		}
	}
	return out.seal(), true
}

func union(list ...map[string]conflict.Entry) map[string]bool {
	out := map[string]bool{}
	for _, m := range list {
		for p := range m {
			out[p] = true
		}
	}
	return out
}
