package plan

import (
	"github.com/submitqueue/submitqueue/queue"
)

// mayRun reports whether the commits of a link may be built: it is cleared, and so is
// all that it stands on and that is not on main.
func (p *slots) mayRun(l *queue.Link) bool {
	for ; l != nil && l.Change != ""; l = p.facts.Links.LinkTo(l.Parent) {
		if ch := p.s.Changes[l.Change]; ch != nil && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == l.Commit {
			return true
		}
		if !p.facts.Links.Cleared(l) {
			return false
		}
	}
	return true
}
