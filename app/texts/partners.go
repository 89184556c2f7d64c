package texts

import (
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Partners returns the changes that a change is built or lands with, in whole sentences
// of plain text; "" where it is on its own.
func (w Words) Partners(v queue.View) string {
	var said []string
	p, voice := v.Partners(), w.plain(v.Change)
	switch {
	case len(p.Rollup) == 0:
	case v.Change.Phase == queue.Landed:
		said = append(said, voice.landedWith(p.Rollup))
	default:
		said = append(said, voice.rollup(p.Rollup))
	}
	if len(p.Shares) > 0 {
		said = append(said, "It shares a build with "+voice.refs(Strings(p.Shares))+". Each has its own verdict, and lands by itself.")
	}
	return strings.Join(said, " ")
}

// rollup says which changes a change is to land with, while there is no verdict.
func (w quote) rollup(with []queue.ChangeID) string {
	return "Many changes wait for few builds, so it is built with " + w.refs(Strings(with)) +
		" and is to land together with them in one merge. Each has its own verdict: if that merge fails, it is split until it is known through whom."
}

// landedWith says which changes a change has landed with.
func (w quote) landedWith(with []queue.ChangeID) string {
	return "It landed together with " + w.refs(Strings(with)) + " in one merge; the checks are of that merge."
}
