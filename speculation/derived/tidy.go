package derived

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Tells reports whether a link tells something of what targets are like without those
// who have landed beside it: of whom that holds, their footprints say.
func (i *LinkInfo) Tells() bool {
	return slices.ContainsFunc(i.Sources, func(s Source) bool { return s.Known != nil })
}

// Reached reports whether a link lies on a chain that begins at main's tip.
func (fs *Links) Reached(l *queue.Link) bool {
	gap := fs.s.Main.Line.Seq - l.Since.Seq
	if gap > len(l.Chain) {
		return false
	}
	return slices.Equal(l.Chain[:gap], fs.Futures.Assumed.Line[l.Since.Seq:fs.s.Main.Line.Seq])
}

func (fs *Links) TurnedDown(id queue.ChangeID) bool {
	ch := fs.s.Changes[id]
	return ch == nil || ch.Phase.Final() && ch.Phase != queue.Landed
}
