package conflicttest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
)

// Changes returns the paths at which two trees differ, sorted; never nil.
func Changes(from, to *Tree) []conflict.FileChange {
	changes := []conflict.FileChange{}
	for path, e := range from.entries {
		if to.entries[path] != e {
			changes = append(changes, conflict.FileChange{Path: path, From: e, To: to.entries[path]})
		}
	}
	for path, e := range to.entries {
		if _, ok := from.entries[path]; !ok {
			changes = append(changes, conflict.FileChange{Path: path, To: e})
		}
	}
	slices.SortFunc(changes, func(a, b conflict.FileChange) int { return cmp.Compare(a.Path, b.Path) })
	return changes
}

// Apply returns the graph that a patch makes of another, in order. A patch that
// removes a node that does not exist, or that it also adds, is an error.
func Apply(g *conflict.Graph, p *conflict.Patch) (*conflict.Graph, error) {
	next := &conflict.Graph{Barrier: g.Barrier, Salt: g.Salt, Memo: p.Memo}
	var err error
	if next.Targets, err = apply(g.Targets, p.Targets, p.Gone, func(t conflict.Target) string { return t.Name }); err != nil {
		return nil, err
	}
	next.Definitions, err = apply(g.Definitions, p.Definitions, p.GoneDefinitions, func(d conflict.Definition) string { return d.Name })
	return Ordered(next), err
}

func apply[T any](was, changed []T, gone []string, name func(T) string) ([]T, error) {
	byName := map[string]T{}
	for _, t := range was {
		byName[name(t)] = t
	}
	for _, n := range gone {
		if _, ok := byName[n]; !ok {
			return nil, fmt.Errorf("%s is gone, but was not there", n)
		}
		delete(byName, n)
	}
	given := map[string]bool{}
	for _, t := range changed {
		n := name(t)
		if given[n] || slices.Contains(gone, n) {
			return nil, fmt.Errorf("%s is named twice", n)
		}
		given[n], byName[n] = true, t
	}
	var list []T
	for _, t := range byName {
		list = append(list, t)
	}
	return list, nil
}

// Ordered returns a graph with all lists in order and without repetitions, so
// that two graphs that mean the same are equal but for their memos.
func Ordered(g *conflict.Graph) *conflict.Graph {
	o := &conflict.Graph{Barrier: entries(g.Barrier), Salt: g.Salt, Memo: g.Memo}
	for _, t := range g.Targets {
		t.Sources, t.Inputs, t.Deps, t.Reads = entries(t.Sources), entries(t.Inputs), textsOf(t.Deps), textsOf(t.Reads)
		o.Targets = append(o.Targets, t)
	}
	slices.SortFunc(o.Targets, func(a, b conflict.Target) int { return cmp.Compare(a.Name, b.Name) })
	o.Definitions = slices.SortedFunc(slices.Values(g.Definitions), func(a, b conflict.Definition) int { return cmp.Compare(a.Name, b.Name) })
	return o
}

func entries(list []conflict.Entry) []conflict.Entry {
	return slices.Compact(slices.SortedFunc(slices.Values(list), func(a, b conflict.Entry) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Mode, b.Mode), cmp.Compare(a.OID, b.OID))
	}))
}

func textsOf(list []string) []string { return slices.Compact(slices.Sorted(slices.Values(list))) }
