package derived

import (
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
	if len(fs.Order.FirstAhead(n.ID)) > MaxDepth {
		return Unknown // there may be others ahead than there are edges
	}
	if !fs.Order.Upheld(n.Ch, in) {
		return Unknown // the change below it in its stack has to land first
	}
	edges := fs.Edges(n)
	size := len(n.X.Targets)
	for len(fs.opens) < size {
		fs.opens = append(fs.opens, nil)
	}
	open := fs.opens[:size]
	for i := range open {
		open[i] = open[i][:0]
	}
	for _, e := range edges {
		if !in[e.To.ID] {
			for _, p := range e.Shared {
				open[p] = append(open[p], e.To.X.Mark)
			}
		}
	}
	fs.scratch = Resize(fs.scratch, size)
	marks := fs.scratch
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
