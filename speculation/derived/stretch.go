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
	return predict.Finish{Start: x.From.Sub(fs.Now).Seconds(), Took: fs.Lasting(x.Took)}
}

// Lasting returns the distribution, in seconds, of how long a build takes that is expected to
// take so long.
func (fs *Beliefs) Lasting(took time.Duration) predict.Dist {
	_, sigma := predict.Pace(fs.s.Learned.Pace, took)
	return predict.Dist{Mu: math.Log(max(took.Seconds(), 1)), Sigma: sigma}
}
