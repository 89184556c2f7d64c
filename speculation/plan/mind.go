package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Mind is the plan's memory of a pending change.
type Mind struct {
	Base   float64         // chance that it lands, without strong pairs
	strong []derived.Edge  // those of its edges that count on their own
	busyIn int             // the plan that the next two fields are of
	ends   queue.Instant   // when the last of its live builds is expected to end
	busy   derived.Stretch // that build

	// Of the plan under way: its number, the chance that the change lands as the
	// plan has seen it, when its verdict is expected, and the last future that assumed
	// that it lands.
	Plan  int
	Odds  float64
	End   queue.Instant
	last  derived.Stretch // the build, of the change or of one ahead, that ends then
	taken int
	Said  Answer // why no build of its likeliest future begins

	// The likeliest future: which outcome of each change ahead it takes, and how
	// likely that is.
	Takes   []bool
	chance  []float64
	rows    []float64 // by edge: the share of the targets that it shares
	Likely  Future
	marks   []derived.Mark // assumption keys of Likely
	Deal    Deal
	flips   []flip // the futures nearest to Likely
	flipped bool   // flips are up to date
}

// MindOf returns the plan's memory of a pending change.
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
