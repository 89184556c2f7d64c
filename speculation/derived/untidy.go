package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Tells reports whether a link tells something of a target. A change of the link that
// was turned down voids the targets that it affects (Source.Known).
func (i *LinkInfo) Tells() bool {
	return slices.ContainsFunc(i.Sources, func(s Source) bool { return s.Known != nil })
}

// Untidied takes in that there may be links of changes that no future needs; "" stands for
// main's own.
func (fs *Links) Untidied(ids ...queue.ChangeID) {
	for _, id := range ids {
		fs.untidy[id] = true
	}
}

// Left takes in that a record has left the state that links of any change were kept for.
func (fs *Links) Left() { fs.left = true }

// HasLeft reports whether Left was called since Tidied.
func (fs *Links) HasLeft() bool { return fs.left }

// Untidy returns, in order, the changes that Untidied was told since Tidied.
func (fs *Links) Untidy() []queue.ChangeID { return Sorted(fs.untidy) }

// Tidied resets what Untidied and Left have taken in.
func (fs *Links) Tidied() {
	fs.left = false
	clear(fs.untidy)
}

// Reached reports whether a link lies on a chain that begins at main's tip.
func (fs *Links) Reached(l *queue.Link) bool {
	gap := fs.s.Main.Line.Seq - l.Since.Seq
	if gap > len(l.Chain) {
		return false
	}
	return slices.Equal(l.Chain[:gap], fs.Futures.Assumed.Line[l.Since.Seq:fs.s.Main.Line.Seq])
}

// TurnedDown reports whether a change will not land: it is decided and has not landed, or is
// forgotten.
func (fs *Links) TurnedDown(id queue.ChangeID) bool {
	ch := fs.s.Changes[id]
	return ch == nil || ch.Phase.Final() && ch.Phase != queue.Landed
}
