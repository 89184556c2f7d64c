package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// mind is what the plan remembers of a pending change.
type mind struct {
	base   float64       // chance that it lands, but for strong pairs
	strong []edge        // those of edges that count on their own
	busyIn int           // plan that the next two are of
	began  queue.Instant // when the first of its live builds began
	ends   queue.Instant // when the last of them is expected to end

	// Of the plan under way: its number, the chance that the change lands as the
	// plan has seen it, when its fate is expected to be known, and the last
	// future that took it.
	plan  int
	odds  float64
	end   queue.Instant
	taken int
	said  answer // why no build of its likeliest future begins

	// The likeliest future: which outcome of each change ahead it takes, and how
	// likely that is.
	takes   []bool
	chance  []float64
	likely  future
	marks   []mark // assumption keys of likely
	deal    deal
	flips   []flip // those nearest to likely
	flipped bool   // flips are up to date
}

// mindOf returns what the plan remembers of a pending change.
func mindOf(n *node) *mind {
	m, _ := n.memory.(*mind)
	if m == nil {
		m = &mind{}
		n.memory = m
	}
	return m
}

// Leave implements Memory.
func (m *mind) Leave(at, of int) {
	if len(m.takes) == of {
		m.takes, m.chance = slices.Delete(m.takes, at, at+1), slices.Delete(m.chance, at, at+1)
	}
	m.deal.leave(at)
}
