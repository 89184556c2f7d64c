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

func TestFailuresFade(t *testing.T) {
	if predict.Fail(nil, 1) != nil {
		t.Error("there is a history of nothing")
	}
	var d *queue.Duration
	see := func(failed float64) {
		d = predict.Fail(predict.Observe(d, "unit/core", time.Second), failed)
	}
	see(1)
	if d.Failed != 1 {
		t.Errorf("one failure of one: %g", d.Failed)
	}
	for range 9 {
		see(0)
	}
	if d.Failed < 0.09 || d.Failed > 0.11 {
		t.Errorf("one failure of ten: %g", d.Failed)
	}
	for range 200 {
		see(0)
	}
	if d.Failed > 0.001 {
		t.Errorf("long ago: %g", d.Failed)
	}
}
