package plan

import (
	"time"

	"github.com/submitqueue/submitqueue/speculation/derived"
)

// outruns returns the chance that a build which begins now and takes so long ends before a
// change ahead is decided. That is when the last build ends that the change waits for, of its
// own or of the changes ahead of it.
func (p *planning) outruns(took time.Duration, ahead *derived.Node) float64 {
	m := MindOf(ahead)
	left, runs := m.End.Sub(p.facts.Now), p.facts.Now.Sub(m.last.From)
	if m.Plan != p.Plans || p.facts.Futures.Verified[ahead.ID] || left <= 0 || took <= 0 {
		return 0
	}
	if runs > 0 { // the longer a build runs beyond its time, the longer it will probably run on
		step := max(m.last.Took/4, runs/4, time.Second)
		p.lookAt(m.last.From.Add((runs/step + 1) * step))
	}
	if 2*left < took && runs < took {
		return 0 // or nearly so: not worth an integral
	}
	r := race{took, m.last}
	first, known := p.raced[r]
	if !known {
		first = p.facts.Beliefs.EndsBefore(took, m.last)
		p.raced[r] = first
	}
	return first
}

// race is a build that begins now and takes so long, beside another. In the line of a hot target all
// changes wait for the same few builds, so that a plan asks for the outcome of a race again and again.
type race struct {
	took  time.Duration
	other derived.Stretch
}
