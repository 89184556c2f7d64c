package predict_test

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

func TestDurationFollowsWhatIsSeen(t *testing.T) {
	of := func(d *queue.Duration) time.Duration { return predict.Duration(d, nil, nil, d) }
	if got := predict.Duration(nil, nil, nil, nil); got != predict.Unseen {
		t.Errorf("nothing seen: %s, want %s", got, predict.Unseen)
	}
	d := predict.Observe(nil, "unit/core", 10*time.Second)
	if got := of(d); got < 8*time.Second || got > 10*time.Second {
		t.Errorf("one observation: %s", got)
	}
	before := *d
	for range 40 {
		d = predict.Observe(d, "unit/core", 20*time.Second)
	}
	if got := of(d); got < 18*time.Second || got > 20*time.Second {
		t.Errorf("after forty of 20 s: %s", got)
	}
	if first := predict.Observe(&before, "unit/core", 20*time.Second); first.Mean != 15*time.Second || first.N != 2 {
		t.Errorf("two observations: %+v", first)
	}
	if before.N != 1 || before.Mean != 10*time.Second {
		t.Errorf("the history that was passed has changed: %+v", before)
	}
}

// A target that nobody has run is taken to be like the others of its area, else of its
// step, else like all; what was seen of it counts more than all of these.
func TestDurationsOfTheUnseen(t *testing.T) {
	level := func(took time.Duration) *queue.Duration {
		var d *queue.Duration
		for range 50 {
			d = predict.ObserveLevel(d, "", took)
		}
		return d
	}
	all, step, area := level(time.Minute), level(2*time.Minute), level(4*time.Minute)
	last := predict.Unseen
	for i, got := range []time.Duration{
		predict.Duration(nil, nil, nil, all), predict.Duration(nil, nil, step, all), predict.Duration(nil, area, step, all),
		predict.Duration(predict.Observe(nil, "", 8*time.Minute), area, step, all),
	} {
		want := time.Minute << i
		if got <= last || got < want*8/10 || got > want*11/10 {
			t.Errorf("%d levels: %s after %s, want about %s", i+1, got, last, want)
		}
		last = got
	}
}

func TestAreas(t *testing.T) {
	for target, want := range map[string]string{"//a/b:c": "//a/b", "//a/b/c": "//a/b", "example.com/x/y": "example.com/x", "lone": "", "/": "", ":x": ""} {
		if got := predict.Area(target); got != want {
			t.Errorf("%q is in %q, want %q", target, got, want)
		}
	}
}

// Builds whose targets run side by side take less than these added up, and short ones
// more by what it takes to set up: both are learned by the size of a build.
func TestPaceFollowsWhatIsSeen(t *testing.T) {
	took := func(work time.Duration) time.Duration { return 4*time.Minute + work/8 }
	var paces []queue.Pace
	if got, sigma := predict.Pace(paces, time.Hour); got != time.Hour || sigma < 0.5 {
		t.Errorf("nothing seen: %s, %g", got, sigma)
	}
	for i := range 200 {
		work := time.Minute << (i % 10)
		paces = predict.ObservePace(paces, work, took(work))
	}
	for work := time.Minute; work < 500*time.Minute; work *= 3 {
		got, sigma := predict.Pace(paces, work)
		if ratio := float64(got) / float64(took(work)); ratio < 0.6 || ratio > 1.5 || sigma > 0.8 {
			t.Errorf("%s of work take %s, predicted %s (%g)", work, took(work), got, sigma)
		}
	}
	if got := predict.ObservePace(paces, 0, time.Minute); len(got) != len(paces) {
		t.Error("a build of nothing tells something")
	}
}

func TestRatesFollowWhatIsSeen(t *testing.T) {
	var r queue.Rate
	if got := predict.GoodRate(r, 0.9); got < 0.89 || got > 0.91 {
		t.Errorf("nothing seen: %g", got)
	}
	for i := range 1000 {
		r = predict.SeeGood(r, float64(min(i%4, 1))) // three of four
	}
	if got := predict.GoodRate(r, 0.9); got < 0.73 || got > 0.78 {
		t.Errorf("three of four: %g", got)
	}
	if r.Of > 300 {
		t.Errorf("%g are remembered", r.Of)
	}
	p := predict.SeePairs(queue.Rate{}, 200, 10000)
	if got := predict.PairRate(p, 0.004); got < 0.016 || got > 0.022 {
		t.Errorf("one pair in fifty: %g", got)
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
