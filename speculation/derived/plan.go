package derived

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

const MaxDepth = 512 // changes ahead beyond which no path is followed

const idleShare = 0.7 // part of the thresholds that idle slots do without, where predictions are bad

// Earn notes that a live build is worth something to somebody.
func (b *LiveBuild) Earn(value float64) { b.Credit, b.Wanted = max(b.Credit, value), true }

// Thresholds follow the measured accuracy of predictions: where they are often
// wrong more futures must be built (planner.md 9, rule 6), and while less than
// half of the slots are busy many more.
func (fs *Facts) Thresholds() (worth, single float64) {
	worse := min(1, max(0, (0.955-fs.Beliefs.Accuracy())/(0.955-0.88)))
	if fs.Without(config.IngredientAdaptive) {
		worse = 0
	}
	worth, single = fs.Rules().Threshold*(1-worse*2/3), 0.4-worse*0.25
	if 2*len(fs.s.Builds) < fs.s.Slots {
		worth, single = worth*(1-worse*idleShare), single*(1-worse*idleShare)
	}
	if fs.Without(config.IngredientTargetThreshold) {
		single = 0
	}
	return worth, single
}

// Expected is when a live build is expected to end; one that takes longer than
// predicted is taken to need a tenth more.
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
	var total time.Duration
	for _, j := range b.Jobs {
		for _, k := range j.Keys {
			total += fs.Beliefs.Duration(j.Step.Name, k.Target)
		}
	}
	return total
}

// Window is how many pending changes are planned for: enough to fill the slots
// three times over.
func (fs *Facts) Window() int { return 3*fs.s.Slots + 8 }

func Without(keys, drop []queue.Key) []queue.Key {
	if len(drop) == 0 {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return slices.Contains(drop, k) })
}
