package derived

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// LiveBuild holds the facts derived of a build of the state.
type LiveBuild struct {
	*queue.Build
	Facts   []*Fact       // of all its keys; none once it is cancelling
	Credit  float64       // what it is worth to the plan under way
	Wanted  bool          // the plan has given it credit
	Subject *queue.Change // the change that it is for
	Asked   bool          // an action has it run
	Checked Sight         // when it was last seen not to be refuted
	seat    *Node         // of Subject
	seating int           // the Seating that seat is of
}

// SeatOf returns the node of the change that a live build is for, or nil.
func (fs *Builds) SeatOf(b *LiveBuild) *Node {
	if at := fs.Order.Seating(); b.seat == nil || b.seating != at {
		b.seat, b.seating = fs.Futures.Node(b.Change), at
	}
	return b.seat
}

// Sight says on which facts a build was looked at.
type Sight struct {
	Link      *queue.Link // nil if it has not been made again yet
	Decisions int
}

// Recheck has the next plan check again whether a build is refuted.
func (fs *Builds) Recheck(b *queue.Build) { fs.Live[b].Checked = Sight{} }

// IndexBuild takes in a new build, and a stored one.
func (fs *Builds) IndexBuild(b *queue.Build) {
	live := &LiveBuild{Build: b, Subject: fs.s.Changes[b.Change]}
	fs.Live[b] = live
	at, _ := slices.BinarySearchFunc(fs.Building, b.ID, func(x *LiveBuild, id queue.BuildID) int { return CompareIDs(x.ID, id) })
	fs.Building = slices.Insert(fs.Building, at, live)
	for _, id := range b.For() {
		fs.BuildsOf[id]++
	}
	fs.Links.assumes(b.Chain)
	if !b.Cancel {
		fs.TakeKeys(live)
	}
}

// TakeKeys takes in that a build verifies its keys.
func (fs *Builds) TakeKeys(b *LiveBuild) {
	for _, k := range b.Keys() {
		if fs.Ledger.Forgotten(k, b.Build) {
			continue // its result for this key does not count
		}
		f := fs.Ledger.use(k.ID())
		b.Facts = append(b.Facts, f)
		fs.Ledger.busied(f, b.Build)
	}
}

// RemoveBuild takes in that a build has ended, and deletes its record.
func (fs *Builds) RemoveBuild(b *queue.Build) {
	fs.UnindexBuild(b)
	live := fs.Live[b]
	delete(fs.Live, b)
	fs.Building = slices.DeleteFunc(fs.Building, func(x *LiveBuild) bool { return x == live })
	for _, id := range b.For() {
		if fs.BuildsOf[id]--; fs.BuildsOf[id] == 0 {
			delete(fs.BuildsOf, id)
		}
	}
	fs.Links.assumesNot(b.Chain)
	delete(fs.s.Builds, b.ID)
	fs.Links.Untidied(b.Change)
	for _, id := range b.Also {
		fs.Links.Untidied(id)
	}
}

// assumes counts a link or a live build that assumes changes to land.
func (fs *Links) assumes(chain []queue.ChangeID) {
	for _, id := range chain {
		fs.AssumedBy[id]++
	}
}

// assumesNot takes back what assumes has counted.
func (fs *Links) assumesNot(chain []queue.ChangeID) {
	for _, id := range chain {
		if fs.AssumedBy[id]--; fs.AssumedBy[id] == 0 {
			delete(fs.AssumedBy, id)
			if fs.TurnedDown(id) {
				fs.Left()
			}
		}
	}
}

// UnindexBuild takes in that a build no longer verifies its keys.
func (fs *Builds) UnindexBuild(b *queue.Build) {
	live := fs.Live[b]
	for _, f := range live.Facts {
		if f.Build == b {
			fs.Ledger.busied(f, nil)
		}
		fs.Ledger.release(f)
	}
	live.Facts = nil
}

// CompareIDs compares two ids by their bytes.
func CompareIDs[T ~string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Whole reports whether a build runs only steps on the whole tree.
func (b *LiveBuild) Whole() bool {
	return !slices.ContainsFunc(b.Jobs, func(j queue.Job) bool { return j.Step.Scope != config.ScopeRepository })
}

const MaxDepth = 512 // changes ahead beyond which no path is followed

const idleDrop = 0.7 // part of the thresholds that is dropped when slots are idle and predictions are bad

// BusyShare is the share of busy slots from which builds count as expensive: thresholds go
// back to those of a queue with predictions that come true, and speculation is capped.
const BusyShare = 0.8

// IdleShare is the share of busy slots up to which a build delays no other one.
const IdleShare = 0.5

// Busy returns the share of slots that are busy; 1 if there are no slots.
func (fs *Facts) Busy() float64 {
	if fs.s.Slots == 0 {
		return 1
	}
	return float64(len(fs.s.Builds)) / float64(fs.s.Slots)
}

// kept is how many whole builds of the cap are kept for builds on the target branch as it is
// while most slots are idle: one, one more if it fails, and one if main has moved meanwhile.
const kept = 3

// Allowance is how many times over the work of a change may be built. With sure it is all
// that the cap allows. For builds on assumptions it is three quarters of that, half if most
// slots are busy, and all but three builds, or three quarters of a small cap, if most are
// idle: a cap must not leave slots empty while changes wait for each other. The rest is kept
// for builds on the target branch as it is: else a change would end without a verdict if all
// its builds were spent on assumptions that did not come true.
func (fs *Facts) Allowance(sure bool) float64 {
	limit := float64(fs.Rules().BuildsPerChange)
	switch {
	case sure:
		return limit
	case fs.Busy() >= BusyShare:
		return max(1, limit/2)
	case fs.Busy() <= IdleShare:
		return max(1, limit*3/4, limit-kept)
	}
	return max(1, limit*3/4)
}

// Earn notes that a live build is worth something to the plan.
func (b *LiveBuild) Earn(value float64) { b.Credit, b.Wanted = max(b.Credit, value), true }

// Thresholds follow the measured accuracy of predictions: if they are often wrong, more
// futures must be built, and many more while less than half of the slots are busy. The
// busier the slots are beyond that, the fewer. (A queue that answers bad predictions by
// more builds when it has no slots for them gets slower and slower.)
func (fs *Facts) Thresholds() (worth, single float64) {
	worse := min(1, max(0, (0.955-fs.Beliefs.Accuracy())/(0.955-0.88)))
	if fs.Beliefs.Model.Cold() {
		worse = 1 // an average says little of the change at hand
	}
	if fs.Without(config.IngredientAdaptive) {
		worse = 0
	}
	busy := fs.Busy()
	worse *= max(0, min(1, (BusyShare-busy)/(BusyShare-IdleShare)))
	worth, single = fs.Rules().Threshold*(1-worse*2/3), 0.4-worse*0.25
	if busy < IdleShare {
		worth, single = worth*(1-worse*idleDrop), single*(1-worse*idleDrop)
	}
	if fs.Without(config.IngredientTargetThreshold) {
		single = 0
	}
	return worth, single
}

// Expected is when a live build is expected to end; a build that takes longer than
// predicted is expected to need a tenth of its predicted time more.
func (fs *Builds) Expected(b *queue.Build) queue.Instant {
	began := b.Started
	if began == 0 {
		began = fs.Now
	}
	took := fs.PredictBuild(b)
	if end := began.Add(took); end > fs.Now {
		return end
	}
	return fs.Now.Add(took / 10)
}

// PredictBuild predicts how long a build takes from its start.
func (fs *Builds) PredictBuild(b *queue.Build) time.Duration {
	if b.Predicted > 0 {
		return b.Predicted
	}
	return fs.Beliefs.Pace(fs.WorkOf(b))
}

// WorkOf adds up the predicted durations of a build's targets.
func (fs *Builds) WorkOf(b *queue.Build) time.Duration {
	var total time.Duration
	for _, j := range b.Jobs {
		for _, k := range j.Keys {
			total += fs.Beliefs.Duration(j.Step.Name, k.Target)
		}
	}
	return total
}

// Window is how many pending changes are planned for: enough to fill the slots
// three times over, and two rollups where there are some.
func (fs *Facts) Window() int {
	n := 3*fs.s.Slots + 8
	if r := fs.Rules(); r.Batch == config.BatchRollup {
		n += 2 * r.BatchMax
	}
	return n
}

// Without returns the keys that are not among those to drop.
func Without(keys, drop []queue.Key) []queue.Key {
	if len(drop) == 0 {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return slices.Contains(drop, k) })
}
