package plan

import (
	"math"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// stretch is a build as far as the clock is concerned: when it began, or is expected to begin,
// and how long it takes from there.
type stretch struct {
	from queue.Instant
	took time.Duration
}

// finish returns when a stretch ends, in seconds from now. Its spread is that of the builds of
// this queue so far.
func (p *planning) finish(x stretch) predict.Finish {
	_, sigma := predict.Pace(p.s.Learned.Pace, x.took)
	return predict.Finish{Start: x.from.Sub(p.facts.Now).Seconds(), Took: predict.Dist{Mu: math.Log(max(x.took.Seconds(), 1)), Sigma: sigma}}
}

// outruns returns the chance that a build which begins now and takes so long ends before a
// change ahead is decided. That is when the last build ends that the change waits for, of its
// own or of the changes ahead of it: the exact integral over both distributions, where a build
// that runs has not ended by now (predict.Before).
func (p *planning) outruns(took time.Duration, ahead *derived.Node) float64 {
	m := MindOf(ahead)
	left, runs := m.End.Sub(p.facts.Now), p.facts.Now.Sub(m.last.from)
	if m.Plan != p.Plans || p.facts.Futures.Verified[ahead.ID] || left <= 0 || took <= 0 {
		return 0
	}
	if runs > 0 { // the longer a build runs beyond its time, the longer it will probably run on
		step := max(m.last.took/4, runs/4, time.Second)
		p.lookAt(m.last.from.Add((runs/step + 1) * step))
	}
	if 2*left < took && runs < took {
		return 0 // or nearly so: not worth an integral
	}
	return predict.Before(p.finish(stretch{p.facts.Now, took}), p.finish(m.last))
}
