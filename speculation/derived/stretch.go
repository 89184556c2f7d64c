package derived

import (
	"math"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Stretch is a build as far as the clock is concerned: when it began, or is expected to begin,
// and how long it is expected to take from there.
type Stretch struct {
	From queue.Instant
	Took time.Duration
}

// EndsBefore returns the chance that a build which begins now and takes so long ends before
// another: the exact integral over both distributions (predict.Before), with the spread of the
// builds of this queue so far. A build that runs has not ended by now.
func (fs *Beliefs) EndsBefore(took time.Duration, other Stretch) float64 {
	return predict.Before(fs.finish(Stretch{fs.Now, took}), fs.finish(other))
}

// finish returns when a stretch ends, in seconds from now.
func (fs *Beliefs) finish(x Stretch) predict.Finish {
	_, sigma := predict.Pace(fs.s.Learned.Pace, x.Took)
	return predict.Finish{Start: x.From.Sub(fs.Now).Seconds(), Took: predict.Dist{Mu: math.Log(max(x.Took.Seconds(), 1)), Sigma: sigma}}
}
