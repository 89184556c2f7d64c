package sim_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/speculation/sim"
)

// The figures of the issue: of 50 injected red mains at least 49 have the right culprit,
// with evidence complete within two build times of the slowest step in the median.
func TestRedMainsNameTheirCulprits(t *testing.T) {
	t.Parallel()
	r, err := sim.InjectRedMains(t.Context(), 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(r)
	if r.Right < 49 || r.Spans[len(r.Spans)/2] > 2 {
		t.Error(r)
	}
	if r.Reverts != r.Right {
		t.Errorf("%d reverts are proven of %d", r.Reverts, r.Right)
	}
}
