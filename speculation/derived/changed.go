package derived

import (
	"github.com/submitqueue/submitqueue/queue"
)

// Changed takes in that a record of the state has changed, is new, or is gone. No fact
// depends on requests, pull requests, actions, or records for models alone.
func (fs *Facts) Changed(r queue.Ref) {
	switch r.Kind {
	case queue.KindRequest, queue.KindPull, queue.KindAction, queue.KindAuthor, queue.KindArea, queue.KindPromises, queue.KindModel:
		return
	case queue.KindChange:
		if !fs.Order.changed(queue.ChangeID(r.ID)) {
			return // no plan has it yet
		}
	case queue.KindOutcomes:
		fs.Beliefs.unheard[r.ID] = true
	}
	fs.news++
}

// Rejudge has all links judged again: a failure may count differently than before,
// since main has changed, or is now known to have changed.
func (fs *Facts) Rejudge() { fs.version++ }

// Decided takes in that a change is decided or on its way, or that less is known of one.
func (fs *Facts) Decided() { fs.decisions++ }

// Decisions returns how often Decided was called.
func (fs *Facts) Decisions() int { return fs.decisions }

// SetNow says what time it is.
func (fs *Facts) SetNow(at queue.Instant) { fs.Now = at }

// Freshness tells whether, between two turns of one core, records or keys have changed
// in a way that plans and comments may see.
type Freshness struct{ news, version int }

// Freshness returns the present Freshness of the facts.
func (fs *Facts) Freshness() Freshness { return Freshness{fs.news, fs.version} }

// changed takes in that the record of a change has changed, and reports whether that
// matters to a plan.
func (fs *Order) changed(id queue.ChangeID) bool {
	ch := fs.s.Changes[id]
	if ch == nil || ch.Phase.Final() {
		delete(fs.Open, id)
		delete(fs.Stacked, id)
		delete(fs.trying, id)
	} else {
		fs.Open[id] = ch
		if delete(fs.trying, id); ch.Phase == queue.Trying {
			fs.trying[id] = ch
		}
		if delete(fs.Stacked, id); ch.Parent != 0 {
			fs.Stacked[id] = ch
		}
	}
	fs.sorted = false
	if ch == nil {
		return true
	}
	fs.moved = append(fs.moved, ch)
	_, ranked := fs.Rank[id]
	return ranked || ch.Phase != queue.Analyzing
}

// Sorted reports whether the order is up to date.
func (fs *Order) Sorted() bool { return fs.sorted }

// Seating counts how often the members of the order, or their places, have changed.
func (fs *Order) Seating() int { return fs.seating }

// Serial returns how many links have been taken in.
func (fs *Links) Serial() int { return fs.serial }

// Distrust has all assumptions made anew: footprints that they rest on no longer hold,
// or hold again.
func (fs *Futures) Distrust() { fs.Assumed.stale = true }

// Distrusted reports whether all assumptions are to be made anew.
func (fs *Futures) Distrusted() bool { return fs.Assumed.stale }

// Forget drops the assumptions on a change when its footprint is gone.
func (fs *Futures) Forget(id queue.ChangeID) {
	delete(fs.Verified, id)
	delete(fs.Assumed.By, id)
	delete(fs.Assumed.Seen, id)
}

// Anew returns how often all assumptions have been made anew.
func (fs *Futures) Anew() int { return fs.anew }

// Refresh makes all assumptions anew if a footprint has changed, and reports whether one
// has.
func (fs *Futures) Refresh() bool {
	if !fs.Assumed.stale {
		return false
	}
	fs.Reassume()
	fs.news++
	return true
}
