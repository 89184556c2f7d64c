package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Mind is what the plan remembers of a pending change.
type Mind struct {
	Base   float64        // chance that it lands, but for strong pairs
	strong []derived.Edge // those of edges that count on their own
	busyIn int            // plan that the next two are of
	began  queue.Instant  // when the first of its live builds began
	ends   queue.Instant  // when the last of them is expected to end

	// Of the plan under way: its number, the chance that the change lands as the
	// plan has seen it, when its fate is expected to be known, and the last
	// future that took it.
	Plan  int
	Odds  float64
	End   queue.Instant
	taken int
	Said  Answer // why no build of its likeliest future begins

	// The likeliest future: which outcome of each change ahead it takes, and how
	// likely that is.
	Takes   []bool
	chance  []float64
	Likely  Future
	marks   []derived.Mark // assumption keys of likely
	Deal    Deal
	flips   []flip // those nearest to likely
	flipped bool   // flips are up to date
}

// MindOf returns what the plan remembers of a pending change.
func MindOf(n *derived.Node) *Mind {
	m, _ := n.Memory.(*Mind)
	if m == nil {
		m = &Mind{}
		n.Memory = m
	}
	return m
}

// Leave implements Memory.
func (m *Mind) Leave(at, of int) {
	if len(m.Takes) == of {
		m.Takes, m.chance = slices.Delete(m.Takes, at, at+1), slices.Delete(m.chance, at, at+1)
	}
	m.Deal.Leave(at)
}
