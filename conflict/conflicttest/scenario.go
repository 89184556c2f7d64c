package conflicttest

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// Scenarios are what every build system has in some form, and what two changes
// of it can do to one another. RunScenarios asks for each of them.
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
	Affected   string // the targets that One affects, or "*": whatever
	Conflict   bool   // of One and Other
	Harmless   bool   // the conflict is none: both together make nothing new
	Unknown    string // in One's reason for having no graph
	None       string // why the build system has no such thing
}

// RunScenarios tries all Scenarios, given by name, and what needs no words: one
// tree has the same hashes wherever and by whomever it is analyzed, and a blob
// that cannot be read is an error. An analyze is one by a fresh analyzer.
func RunScenarios(t *testing.T, base *Tree, analyze func(conflict.Tree) (*conflict.Snapshot, error), given map[string]Scenario) {
	t.Helper()
	must := func(t *testing.T, tree conflict.Tree) *conflict.Snapshot {
		t.Helper()
		s, err := analyze(tree)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name := range given {
		if !slices.Contains(Scenarios, name) {
			t.Errorf("there is no scenario %q", name)
		}
	}
	for _, name := range Scenarios {
		t.Run(name, func(t *testing.T) {
			s, ok := given[name]
			switch {
			case !ok:
				t.Fatal("nothing says what comes of it")
			case s.None != "":
				t.Log("there is no such thing: " + s.None)
				return
			case s.Base == nil:
				s.Base = base
			}
			s.run(t, func(tree conflict.Tree) *conflict.Snapshot { t.Helper(); return must(t, tree) })
		})
	}
	t.Run("one tree in two places", func(t *testing.T) {
		again := base.With("another-file", "").Without("another-file")
		if one, two := must(t, base), must(t, again); one.Unknown != "" || !slices.Equal(one.Targets(), two.Targets()) {
			t.Errorf("%q %v, and %q %v", one.Unknown, one.Targets(), two.Unknown, two.Targets())
		}
	})
	t.Run("a missing blob", func(t *testing.T) {
		gone := errors.New("gone")
		if _, err := analyze(base.Failing(gone)); !errors.Is(err, gone) {
			t.Errorf("the error is %v", err)
		}
	})
}

func (s *Scenario) run(t *testing.T, analyze func(conflict.Tree) *conflict.Snapshot) {
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
	if s.Other == nil {
		return
	}
	other := analyze(s.Other)
	x := conflict.NewIndex()
	x.Put("one", f)
	x.Put("other", conflict.FootprintOf(main, other, "m"))
	if got := x.Conflict("one", "other"); got != s.Conflict {
		t.Errorf("conflict: %t; %+v and %+v", got, f, conflict.FootprintOf(main, other, "m"))
	}
	merged, ok := s.merge()
	if !ok {
		return
	}
	known := map[queue.TargetHash]bool{}
	for _, snap := range []*conflict.Snapshot{main, one, other} {
		for _, h := range snap.Targets() {
			known[h] = true
		}
	}
	both := analyze(merged)
	if fresh := slices.ContainsFunc(both.Targets(), func(h queue.TargetHash) bool { return !known[h] }); fresh != (s.Conflict && !s.Harmless) {
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
