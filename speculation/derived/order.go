package derived

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// InOrder reports whether a change takes part in the order.
func InOrder(ch *queue.Change) bool {
	return ch.Phase == queue.Pending || ch.Phase == queue.Landing
}

// Enroll takes in that a change may stand in the order, with a footprint.
func (fs *Order) Enroll(id queue.ChangeID, f *queue.Footprint) {
	fs.changed(id)
	fs.Index.Put(id, *f)
	fs.Futures.noteVerified(id)
	fs.staleAhead(id)
	if len(f.Edges) > 0 {
		// Every pair is evaluated with the added edges of all pending changes.
		fs.StaleAll()
		clear(fs.Conflicting)
		return
	}
	delete(fs.Conflicting, id)
	for _, with := range fs.Index.With(id) {
		if m := fs.Conflicting[with]; m != nil {
			m[id] = true
		}
	}
	if fs.tied(fs.s.Changes[id]) {
		for _, with := range fs.relatives(fs.s.Changes[id]) {
			if m := fs.Conflicting[with]; m != nil {
				m[id] = true
			}
		}
		fs.StaleAll()
	}
	if place, known := fs.Rank[id]; known {
		fs.ForgetAhead(id, place)
	}
}

// Strike takes back what Enroll has taken in.
func (fs *Order) Strike(id queue.ChangeID) {
	fs.departed(id, fs.Rank[id])
	fs.Futures.forgetNode(id)
	delete(fs.Futures.Verified, id)
	fs.Index.Remove(id)
	if f := fs.s.Footprints[id]; f != nil && len(f.Edges) > 0 {
		fs.StaleAll()
		clear(fs.Conflicting)
		return
	}
	delete(fs.Conflicting, id)
	for _, m := range fs.Conflicting {
		delete(m, id)
	}
}

// ConflictsOf returns the changes that conflict with one. The caller does not modify it.
func (fs *Order) ConflictsOf(id queue.ChangeID) map[queue.ChangeID]bool {
	if m, ok := fs.Conflicting[id]; ok {
		return m
	}
	m := map[queue.ChangeID]bool{}
	for _, with := range fs.Index.With(id) {
		m[with] = true
	}
	for _, with := range fs.relatives(fs.s.Changes[id]) {
		m[with] = true
	}
	fs.Conflicting[id] = m
	return m
}

// Sort brings the order up to date: by virtual finish time, then by arrival, then by number.
func (fs *Order) Sort() {
	fs.sorted = true
	pending := make([]*queue.Change, 0, len(fs.Pending)+len(fs.moved))
	for _, ch := range slices.Concat(fs.Pending, fs.moved) {
		if ch.Phase == queue.Pending {
			pending = append(pending, ch)
		}
	}
	fs.moved = fs.moved[:0]
	slices.SortFunc(pending, func(x, y *queue.Change) int {
		switch {
		case x.Virtual != y.Virtual:
			return cmp.Compare(x.Virtual, y.Virtual)
		case x.Arrival != y.Arrival:
			return cmp.Compare(x.Arrival, y.Arrival)
		}
		return cmp.Or(cmp.Compare(x.Number, y.Number), cmp.Compare(x.ID, y.ID))
	})
	pending = slices.Compact(pending)
	if slices.Equal(pending, fs.Pending) {
		return
	}
	fs.Pending = pending
	fs.seating++
	fs.news++
	before := fs.Rank
	fs.IDs = make([]queue.ChangeID, len(pending))
	fs.Rank = make(map[queue.ChangeID]int, len(pending))
	for i, ch := range pending {
		fs.IDs[i], fs.Rank[ch.ID] = ch.ID, i
	}
	for i, id := range fs.IDs {
		if _, was := before[id]; !was {
			fs.ForgetAhead(id, i)
		}
	}
	for id := range before {
		if ch := fs.s.Changes[id]; ch != nil && ch.Phase == queue.Landing {
			fs.departed(id, 0) // the other changes that are gone were taken out when they left
		}
	}
}

// ForgetAhead drops the cached lists that a change at a place is in or may come into. A
// change that stays in the order keeps its place relative to the others.
func (fs *Order) ForgetAhead(id queue.ChangeID, place int) {
	if fs.tied(fs.s.Changes[id]) {
		fs.StaleAll() // it is also in lists of changes that it does not conflict with
		return
	}
	fs.staleAhead(id)
	for other := range fs.ConflictsOf(id) {
		if fs.Rank[other] >= place {
			fs.staleAhead(other)
		}
	}
}

// departed takes a change that leaves the order out of the cached lists it is in.
func (fs *Order) departed(id queue.ChangeID, place int) {
	fs.staleAhead(id)
	if fs.tied(fs.s.Changes[id]) {
		defer fs.StaleAll() // it is also in lists of changes that it does not conflict with
	}
	for other := range fs.ConflictsOf(id) {
		fs.Beliefs.Rethink(other)
		if r, ok := fs.Rank[other]; ok && r < place {
			continue
		}
		list, known := fs.AheadOf[other]
		at := slices.Index(list.ids, id)
		if !known || at < 0 {
			continue
		}
		if list.more && len(list.ids) <= MaxDepth+1 {
			fs.staleAhead(other) // there may be more changes than are left in the list
			continue
		}
		if at == 0 {
			list.ids = list.ids[1:]
		} else {
			list.ids = slices.Delete(list.ids, at, at+1)
		}
		fs.AheadOf[other] = list
		if n := fs.Futures.Nodes[other]; n != nil && n.Made {
			if at := slices.IndexFunc(n.Edges, func(e Edge) bool { return e.To.ID == id }); at >= 0 {
				if n.Memory != nil {
					n.Memory.Leave(at, len(n.Edges))
				}
				n.Edges = slices.Delete(n.Edges, at, at+1)
				n.Shape, n.Fair, n.Needed, n.Dealt = false, false, false, false
			}
			n.Made = len(list.ids) <= MaxDepth
		}
	}
}

func (fs *Order) staleAhead(id queue.ChangeID) {
	delete(fs.AheadOf, id)
	if n := fs.Futures.Nodes[id]; n != nil {
		n.Made = false
	}
}

// StaleAll drops the cached lists of all changes ahead.
func (fs *Order) StaleAll() {
	clear(fs.AheadOf)
	for _, n := range fs.Futures.Nodes {
		n.Made = false
	}
}

// Ahead returns, in order, the pending, undecided changes before a change that conflict
// with it.
func (fs *Order) Ahead(id queue.ChangeID) []queue.ChangeID { return fs.Seek(id, len(fs.IDs)) }

// FirstAhead returns the first MaxDepth+1 of Ahead: enough to see that there are more
// than any path follows. The result belongs to the core.
func (fs *Order) FirstAhead(id queue.ChangeID) []queue.ChangeID {
	list, known := fs.AheadOf[id]
	if !known {
		const enough = 2*MaxDepth + 2 // so that some changes may leave before the list is made again
		list.ids = fs.Seek(id, enough)
		list.more = len(list.ids) == enough
		fs.AheadOf[id] = list
	}
	return list.ids[:min(len(list.ids), MaxDepth+1)]
}

// Behind counts the undecided changes that wait for one: those that conflict with it and come
// after it in the order.
func (fs *Order) Behind(id queue.ChangeID) int {
	mine, ok := fs.Rank[id]
	if !ok {
		return 0
	}
	n := 0
	for with := range fs.ConflictsOf(id) {
		if rank, waits := fs.Rank[with]; waits && rank > mine {
			n++
		}
	}
	return n
}

// AheadList is the beginning of the list of changes ahead of a change.
type AheadList struct {
	ids  []queue.ChangeID
	more bool // there may be more
}

// Seek returns the changes in order that conflict with one and come before it, at most max
// of them.
func (fs *Order) Seek(id queue.ChangeID, max int) []queue.ChangeID {
	mine, ok := fs.Rank[id]
	if !ok {
		return nil
	}
	if len(fs.Stacked) > 0 {
		return fs.seekStacked(id, max)
	}
	var out []queue.ChangeID
	conflicts := fs.ConflictsOf(id)
	if len(conflicts) > mine/4 {
		for _, other := range fs.IDs[:mine] {
			if len(out) == max {
				break
			}
			if conflicts[other] {
				out = append(out, other)
			}
		}
		return out
	}
	for other := range conflicts {
		if r, ok := fs.Rank[other]; ok && r < mine {
			out = append(out, other)
		}
	}
	slices.SortFunc(out, func(a, b queue.ChangeID) int { return cmp.Compare(fs.Rank[a], fs.Rank[b]) })
	return out[:min(len(out), max)]
}

// Duration predicts how long verifying a target takes under a step.
func (fs *Beliefs) Duration(step, target string) time.Duration {
	d := fs.s.Durations
	return predict.Duration(d[DurationID(step, target)], d[AreaID(step, predict.Area(target))], d[StepID(step)], d[AllID])
}

// DurationID is the id under which the history of a target's durations in a step is kept.
func DurationID(step, target string) string { return step + "\x00" + target }

// AreaID, StepID and AllID are the ids of the histories above those of targets: of an
// area, of a step, and of all targets.
func AreaID(step, area string) string { return step + "\x00\x00" + area }

// StepID is the id of the history of a step.
func StepID(step string) string { return step + "\x00" }

// AllID is the id of the history of all targets of all steps.
const AllID = ""

// Predict returns the expected duration of a change's first build.
func (fs *Beliefs) Predict(ch *queue.Change, f *queue.Footprint) time.Duration {
	if fs.s.Main.Config == nil {
		return 0
	}
	if d, ok := fs.Model.Duration(ch); ok {
		return min(max(d, 0), predict.Longest)
	}
	if ch.Guess.Took > 0 {
		return predict.BlendTime(fs.s.Learned.Credit.Took, ch.Guess.Took, ch.Guess.Usual)
	}
	return fs.estimate(f)
}

// estimate returns how long building a footprint takes by the histories of its targets.
func (fs *Beliefs) estimate(f *queue.Footprint) time.Duration { return fs.Pace(fs.work(f)) }

// Pace returns how long a build takes if the durations of its targets add up to work.
func (fs *Beliefs) Pace(work time.Duration) time.Duration {
	took, _ := predict.Pace(fs.s.Learned.Pace, work)
	return took
}

// work adds up the durations of a footprint's targets in all steps.
func (fs *Beliefs) work(f *queue.Footprint) time.Duration {
	var total time.Duration
	for _, s := range fs.s.Main.Config.Steps {
		if s.Scope == config.ScopeRepository {
			total += fs.Duration(s.Name, config.TargetTree)
			continue
		}
		for _, t := range f.Affected {
			if s.Covers(t) {
				total += fs.Duration(s.Name, t)
			}
		}
	}
	return total
}

// Landable reports whether only keys on the whole tree may be left to pass.
func Landable(s Status) bool { return s == Verified || s == TreeKeysOnly }

// Held reports whether main lets only repairs land until its unproven keys have
// passed.
func (fs *Order) Held() bool {
	root := fs.Root()
	return fs.External() == config.ExternalHold && root != nil && !fs.Ledger.onlyDrift(root)
}
