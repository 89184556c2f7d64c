package predict_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

func TestDurationFollowsWhatIsSeen(t *testing.T) {
	if got := predict.Duration(nil); got != predict.Unseen {
		t.Errorf("nothing seen: %s, want %s", got, predict.Unseen)
	}
	d := predict.Observe(nil, "unit/core", 10*time.Second)
	if got := predict.Duration(d); got != 10*time.Second {
		t.Errorf("one observation: %s", got)
	}
	before := *d
	for range 40 {
		d = predict.Observe(d, "unit/core", 20*time.Second)
	}
	if got := predict.Duration(d); got < 19*time.Second || got > 20*time.Second {
		t.Errorf("after forty of 20 s: %s", got)
	}
	if first := predict.Observe(&before, "unit/core", 20*time.Second); first.Mean != 15*time.Second || first.N != 2 {
		t.Errorf("two observations: %+v", first)
	}
	if before.N != 1 || before.Mean != 10*time.Second {
		t.Errorf("the history that was passed has changed: %+v", before)
	}
}

func TestPriorKnowsNothing(t *testing.T) {
	a, b := &queue.Change{ID: "1.a", Author: "ann"}, &queue.Change{ID: "2.b", Author: "bob"}
	if predict.Default.Good(a) != predict.Default.Good(b) {
		t.Error("the prior tells changes apart")
	}
}
