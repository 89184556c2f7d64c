package derived

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// ParentOf returns the open change that a change is on top of, or nil.
func (fs *Order) ParentOf(ch *queue.Change) *queue.Change {
	if ch == nil || ch.Parent == 0 {
		return nil
	}
	return fs.Links.Active(ch.Parent)
}

// Beneath returns the open changes below a change in its stack, the nearest first.
func (fs *Order) Beneath(ch *queue.Change) []*queue.Change {
	var out []*queue.Change
	for p := fs.ParentOf(ch); p != nil && p != ch && len(out) <= queue.MaxStack; p = fs.ParentOf(p) {
		out = append(out, p)
	}
	return out
}

// IsBelow reports whether low is below high in a stack, directly or not.
func (fs *Order) IsBelow(low, high *queue.Change) bool {
	return len(fs.Stacked) > 0 && slices.Contains(fs.Beneath(high), low)
}

// tied reports whether a change is part of a stack.
func (fs *Order) tied(ch *queue.Change) bool {
	if ch == nil || len(fs.Stacked) == 0 {
		return false
	}
	return ch.Parent != 0 || len(fs.OnTop(ch.Number)) > 0
}

// OnTop returns the open changes that are on top of a pull request, by id.
func (fs *Order) OnTop(number int) []*queue.Change {
	var out []*queue.Change
	for _, ch := range fs.Stacked {
		if ch.Parent == number {
			out = append(out, ch)
		}
	}
	slices.SortFunc(out, func(a, b *queue.Change) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// relatives returns the changes in the order that are below a change or on top of it in
// a stack. They conflict with it for that reason alone.
func (fs *Order) relatives(ch *queue.Change) []queue.ChangeID {
	if !fs.tied(ch) {
		return nil
	}
	var out []queue.ChangeID
	for _, low := range fs.Beneath(ch) {
		if InOrder(low) {
			out = append(out, low.ID)
		}
	}
	for id, high := range fs.Stacked {
		if InOrder(high) && high != ch && fs.IsBelow(ch, high) {
			out = append(out, id)
		}
	}
	return out
}

// seekStacked is Seek if there are stacks. A change behind another is also behind all
// changes below that one, so that no path has the other without them.
func (fs *Order) seekStacked(id queue.ChangeID, most int) []queue.ChangeID {
	mine := fs.Rank[id]
	in := map[queue.ChangeID]bool{}
	for other := range fs.ConflictsOf(id) {
		if r, ok := fs.Rank[other]; !ok || r >= mine {
			continue
		}
		in[other] = true
		for _, low := range fs.Beneath(fs.s.Changes[other]) {
			if r, ok := fs.Rank[low.ID]; ok && r < mine {
				in[low.ID] = true
			}
		}
	}
	out := Sorted(in)
	slices.SortFunc(out, func(a, b queue.ChangeID) int { return cmp.Compare(fs.Rank[a], fs.Rank[b]) })
	return out[:min(len(out), most)]
}

// Upheld reports whether a change may stand behind the given members of a train:
// the change below it is one of them, or before them. In one of the forge's own stacks
// it lands alone, once the forge shows it against the queue's branch.
func (fs *Order) Upheld(ch *queue.Change, in map[queue.ChangeID]bool) bool {
	if ch.Pinned() {
		return false
	}
	if ch.Parent == 0 {
		return true
	}
	p := fs.ParentOf(ch)
	return p != nil && (in[p.ID] || p.Phase == queue.Landing)
}
