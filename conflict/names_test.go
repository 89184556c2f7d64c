package conflict_test

import (
	"fmt"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A branch that is followed for months has many names that are no more. They do
// not stay for ever.
func TestAdvanceForgetsNames(t *testing.T) {
	tree := conflicttest.New(map[string]string{"a/BUILD": "", "b/BUILD": "dep a\n"})
	a, s := &small{}, config.Analysis{Unowned: config.UnownedTarget}
	at := mustAdvance(t, a, s, nil, tree, nil)
	a.whole = 0
	most := 0
	for i := range 200 {
		next := tree
		for k := range 50 {
			next = next.With(fmt.Sprintf("x%d/y%d/BUILD", i, k), "dep a\n")
		}
		at = mustAdvance(t, a, s, at, next, conflicttest.Changes(tree, next))
		back := mustAdvance(t, a, s, at, tree, conflicttest.Changes(next, tree))
		at, most = back, max(most, conflict.Names(back))
	}
	if most > 5000 {
		t.Errorf("%d names for a tree of two targets", most)
	}
	if a.whole > 40 {
		t.Errorf("looked at all %d times", a.whole)
	}
	if f := conflict.FootprintOf(mustAdvance(t, a, s, nil, tree, nil), at, "m"); f.All || len(f.Write) > 0 {
		t.Errorf("it is another: %+v", f)
	}
}

// A main whose names are many stays as it is when changes with names of their own
// are compared with it.
func TestComparingAddsNoNames(t *testing.T) {
	tree := conflicttest.New(map[string]string{"a/BUILD": "", "b/BUILD": "dep a\n"})
	a, s := &small{}, config.Analysis{Unowned: config.UnownedTarget}
	main := mustAdvance(t, a, s, nil, tree, nil)
	before := conflict.Names(main)
	for i := range 10 {
		change := mustAdvance(t, a, s, nil, tree.With(fmt.Sprintf("x%d/BUILD", i), ""), nil)
		own := conflict.Names(change)
		conflict.FootprintOf(main, change, "m")
		conflict.Keys(main, change, unit, unit)
		if n := conflict.Names(main); n != before || conflict.Names(change) != own {
			t.Fatalf("main has %d names after %d, the change %d after %d", n, before, conflict.Names(change), own)
		}
	}
}
