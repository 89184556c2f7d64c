package conflict

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Delta is how the targets of two trees differ, each list sorted by name.
type Delta struct{ Added, Changed, Removed []string }

// DeltaOf compares the targets of two trees.
func DeltaOf(from, to *Snapshot) Delta {
	var d Delta
	had := make(map[string]queue.Digest, len(from.Targets()))
	for _, t := range from.Targets() {
		had[t.Target] = t.Hash
	}
	for _, t := range changedTargets(from.Targets(), to.Targets()) {
		if _, ok := had[t.Target]; ok {
			d.Changed = append(d.Changed, t.Target)
		} else {
			d.Added = append(d.Added, t.Target)
		}
	}
	d.Removed = Gone(from, to)
	return d
}

// Edge says that one node depends on another.
type Edge struct{ From, To string }

// Shape is how the graphs of two trees differ.
type Shape struct {
	Nodes bool   // nodes come or go, internal ones included
	Added []Edge // of nodes that are in both; sorted
	Gone  []Edge // the same
}

// ShapeOf compares two graphs.
func ShapeOf(from, to *Description) Shape {
	s := Shape{Nodes: !slices.EqualFunc(from.Nodes, to.Nodes, func(a, b Node) bool { return a.Name == b.Name })}
	for i := range to.Nodes {
		n := &to.Nodes[i]
		old := from.Node(n.Name)
		if old == nil {
			continue
		}
		for _, d := range missing(n.Deps, old.Deps) {
			s.Added = append(s.Added, Edge{n.Name, d})
		}
		for _, d := range missing(old.Deps, n.Deps) {
			s.Gone = append(s.Gone, Edge{n.Name, d})
		}
	}
	return s
}

// Altered reports whether there is any difference.
func (s Shape) Altered() bool { return s.Nodes || len(s.Added)+len(s.Gone) > 0 }
