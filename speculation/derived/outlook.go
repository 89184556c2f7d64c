package derived

import (
	"math"
	"time"
)

// Span predicts how long building a part of a change takes: less than the
// whole, but not less than what is built in a row takes, as far as that is known.
func (n *Node) Span(part Work) time.Duration {
	whole := n.Ch.Predicted.Seconds()
	took := max((1-FixedShare)*part.Share*whole, part.Row*n.cost)
	return time.Duration(math.Round(min(whole, FixedShare*whole+took)*1e3)) * time.Millisecond
}

// FixedShare is the share of a build's time that does not shrink with its
// targets: fetching, setting up.
const FixedShare = 0.12
