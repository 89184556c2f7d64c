package queue_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

// People read the numbers of a plan: no exponents, two digits.
func TestNextSaysNumbers(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 1e-9: "<0.001", 0.00123: "0.0012", 0.299: "0.3", 12.34: "12", 1234: "1234"} {
		n := queue.Next{Code: queue.ReasonWaitsUnlikely, Value: value, Threshold: 0.3, Until: 7}
		if d := cmp.Diff(queue.Reason{Code: queue.ReasonWaitsUnlikely, Names: []string{want, "0.3"}, Until: 7}, n.Reason()); d != "" {
			t.Errorf("%v (-want +got):\n%s", value, d)
		}
	}
}
