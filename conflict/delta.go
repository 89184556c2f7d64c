package conflict

import "slices"

// Delta is how the targets of two trees differ, each list sorted by name.
type Delta struct{ Added, Changed, Removed []string }

// DeltaOf compares the targets of two trees.
func DeltaOf(from, to *Snapshot) Delta {
	var d Delta
	diff := compare(from, to)
	var added, changed []uint32
	for _, id := range diff.write {
		switch {
		case !diff.change.verifiable(id):
		case diff.main.verifiable(id):
			changed = append(changed, id)
		default:
			added = append(added, id)
		}
	}
	n := diff.main.names
	d.Added, d.Changed, d.Removed = n.texts(added), n.texts(changed), n.texts(diff.gone())
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

// missing returns the names that the sorted list has and the other sorted list has not.
func missing(list, other []string) []string {
	var out []string
	for _, s := range list {
		for len(other) > 0 && other[0] < s {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != s {
			out = append(out, s)
		}
	}
	return out
}
