package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// stackTake corrects which outcome of a change ahead a likeliest future takes. The
// changes below in its stack land. A change on top of one that does not land does not
// land either.
func (p *planning) stackTake(n *derived.Node, edges []derived.Edge, i int, q float64) (take bool, chance float64) {
	if edges[i].Below {
		return true, max(q, leastUpheld)
	}
	if !p.carried(edges, MindOf(n).Takes, i) {
		return false, 1
	}
	return q >= 0.5, max(q, 1-q)
}

// leastUpheld is the least chance that a change below in a stack is given, since there
// is no future without it.
const leastUpheld = 0.01

// carried reports whether a future has the parent of the change at an edge, if that
// parent is among the changes ahead.
func (p *planning) carried(edges []derived.Edge, takes []bool, i int) bool {
	below := p.facts.Order.ParentOf(edges[i].To.Ch)
	if below == nil {
		return true
	}
	at := slices.IndexFunc(edges, func(e derived.Edge) bool { return e.To.ID == below.ID })
	return at < 0 || takes[at]
}

// sound reports whether a future is possible: with each change it has all changes below
// it.
func (p *planning) sound(edges []derived.Edge, takes []bool) bool {
	if len(p.facts.Order.Stacked) == 0 {
		return true
	}
	for i := range edges {
		if edges[i].Below && !takes[i] || takes[i] && !p.carried(edges, takes, i) {
			return false
		}
	}
	return true
}

// fall takes out of a future the changes on top of one that does not land in it, and
// reports whether there are any.
func (p *planning) fall(edges []derived.Edge, takes []bool, i int) bool {
	if len(p.facts.Order.Stacked) == 0 || takes[i] {
		return false
	}
	any := false
	for j := range edges {
		if takes[j] && p.facts.Order.IsBelow(edges[i].To.Ch, edges[j].To.Ch) {
			takes[j], any = false, true
		}
	}
	return any
}

// dropVoid takes a change that does not merge, and all changes on top of it, out of a
// base; ok is false if last is among them.
func (p *planning) dropVoid(base []queue.ChangeID, void, last queue.ChangeID) (_ []queue.ChangeID, ok bool) {
	low := p.s.Changes[void]
	if p.facts.Order.IsBelow(low, p.s.Changes[last]) {
		return nil, false
	}
	return slices.DeleteFunc(slices.Clone(base), func(x queue.ChangeID) bool {
		return x == void || p.facts.Order.IsBelow(low, p.s.Changes[x])
	}), true
}
