package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// maxOpen bounds the undecided changes ahead that affect one target: all 2^maxOpen
// futures of the target are followed.
const maxOpen = 8

// Regardless reports whether a change has one outcome in all futures of the
// undecided changes ahead that a train does not hold: verified if each of its
// targets passes in all futures, failed if one fails in all (BLRD, "Bypassing
// Large Diffs", 2023, taken per target). Futures that
// cannot be the final one count, too: the commits in between need them.
func (fs *Futures) Regardless(n *Node, in map[queue.ChangeID]bool) Status {
	if !fs.within(n, in) {
		return Unknown
	}
	marks, open := fs.openAt(n, in)
	all := Verified
	for i, m := range marks {
		switch fs.inAll(m, open[i]) {
		case Failed:
			return Failed
		case Unknown:
			all = Unknown
		}
	}
	return all
}

// Passes reports whether Regardless returns Verified. It is quicker if it does not: it
// begins with the target that has not passed the last time.
func (fs *Futures) Passes(n *Node, in map[queue.ChangeID]bool) bool {
	if !fs.within(n, in) || n.unproven < len(n.X.Targets) && !fs.passesAt(n, n.unproven, in) {
		return false
	}
	marks, open := fs.openAt(n, in)
	for i, m := range marks {
		if fs.inAll(m, open[i]) != Verified {
			n.unproven = i
			return false
		}
	}
	return true
}

// passesAt reports whether one target of a change passes in all futures.
func (fs *Futures) passesAt(n *Node, at int, in map[queue.ChangeID]bool) bool {
	t := n.X.Targets[at]
	m := fs.Assumed.At(t) ^ n.X.Mark
	for id := range in { // some members may be behind it in the order
		if x := fs.AffectedBy(id); x != nil && id != n.ID && x.Touches(t) {
			m ^= x.Mark
		}
	}
	open := fs.open[:0]
	for _, e := range fs.Edges(n) {
		if _, shared := slices.BinarySearch(e.Shared, at); shared && !in[e.To.ID] {
			open = append(open, e.To.X.Mark)
		}
	}
	fs.open = open
	return fs.inAll(m, open) == Verified
}

// within reports whether the outcome of a change can be the same in all futures of the
// undecided changes ahead that a train does not hold.
func (fs *Futures) within(n *Node, in map[queue.ChangeID]bool) bool {
	return len(fs.Order.FirstAhead(n.ID)) <= MaxDepth && // else there may be others ahead than there are edges
		fs.Order.Upheld(n.Ch, in) // else the change below it in its stack has to land first
}

// openAt returns, for each target of a change, its assumption key where only the changes of
// the train are ahead, and the marks of the other changes ahead that affect it.
func (fs *Futures) openAt(n *Node, in map[queue.ChangeID]bool) (marks []Mark, open [][]Mark) {
	size := len(n.X.Targets)
	for len(fs.opens) < size {
		fs.opens = append(fs.opens, nil)
	}
	open = fs.opens[:size]
	for i := range open {
		open[i] = open[i][:0]
	}
	for _, e := range fs.Edges(n) {
		if !in[e.To.ID] {
			for _, p := range e.Shared {
				open[p] = append(open[p], e.To.X.Mark)
			}
		}
	}
	fs.scratch = Resize(fs.scratch, size)
	marks = fs.scratch
	for i, t := range n.X.Targets {
		marks[i] = fs.Assumed.At(t) ^ n.X.Mark
	}
	for id := range in { // some members may be behind it in the order
		if x := fs.AffectedBy(id); x != nil && id != n.ID {
			for i, t := range n.X.Targets {
				if x.Touches(t) {
					marks[i] ^= x.Mark
				}
			}
		}
	}
	return marks, open
}

// inAll returns the status that a target has in all futures over the given changes, or
// Unknown.
func (fs *Futures) inAll(m Mark, open []Mark) Status {
	if len(open) > maxOpen || len(open) > 0 && fs.Without(config.IngredientBypass) {
		return Unknown
	}
	first := Unknown
	for mask := range 1 << len(open) {
		at := m
		for i, x := range open {
			if mask&(1<<i) != 0 {
				at ^= x
			}
		}
		st, _ := fs.Look(at)
		switch {
		case st == Unknown, mask > 0 && st != first:
			return Unknown
		}
		first = st
	}
	return first
}
