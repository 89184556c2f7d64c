package app

import (
	"math"
	"testing"
)

// The interval of half of ten, of none and of all, by the formula; and of nothing.
func TestWilson(t *testing.T) {
	for _, c := range []struct {
		share     float64
		n         int
		low, high float64
	}{{0.5, 10, 0.2366, 0.7634}, {0, 10, 0, 0.2775}, {1, 10, 0.7225, 1}, {0, 0, 0, 1}} {
		low, high := wilson(c.share, c.n)
		if math.Abs(low-c.low) > 1e-4 || math.Abs(high-c.high) > 1e-4 {
			t.Errorf("%v of %d: %v to %v", c.share, c.n, low, high)
		}
	}
}
