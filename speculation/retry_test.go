package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// matched has builds of changes come to nothing by their log, on a host, while told to.
func matched(t *testing.T, bad func(*queue.Build) bool) *world {
	w := quiet(t, unit, config.Rules{InfraRetries: 3, BuildsPerChange: 100})
	w.hosts = hosts{names: []string{"m1", "m2", "m3"}}
	fleetOf(w)
	w.infra = func(b *queue.Build) (bool, bool) { return b.Change != "" && bad(b), false }
	w.matched = true
	return w
}

// A run that its step calls no result is run again, and is no failure.
func TestMatchedLogIsNoVerdict(t *testing.T) {
	left := 2
	w := matched(t, func(*queue.Build) bool { left--; return left >= 0 })
	p := w.land(edit{"a/code": "fine"})
	w.waitOut()
	if ch := w.mustBe(p, queue.Landed); ch.Red != 0 || ch.Builds != 3 {
		t.Errorf("%d builds, %d red", ch.Builds, ch.Red)
	}
	for _, e := range w.core.State().Ledger {
		if len(e.Failures) > 0 {
			t.Errorf("written down as a failure: %+v", e)
		}
	}
	for id, d := range w.core.State().Durations {
		if d.Failed != 0 || d.Flaked != 0 {
			t.Errorf("%q: failed %v, flaked %v", id, d.Failed, d.Flaked)
		}
	}
	w.audit.final()
}

// At the bound it is parked, for people to see, and no host is to blame. It goes on once
// somebody asks.
func TestMatchedLogIsBounded(t *testing.T) {
	still := true
	w := matched(t, func(*queue.Build) bool { return still })
	p := w.land(edit{"a/code": "fine"})
	w.quiesce()
	ch := w.mustBe(p, queue.Parked)
	if ch.Reason.Code != queue.ReasonInfra || ch.Reason.Detail != "step unit has failed, and its log matches retry_on: reset" || ch.Builds != 3 {
		t.Errorf("%+v after %d builds", ch.Reason, ch.Builds)
	}
	for name, h := range w.core.State().Hosts {
		if h.Bench != nil {
			t.Errorf("%s is benched", name)
		}
	}
	still = false
	w.now = w.now.Add(time.Second)
	w.step(w.say(p, "dev", "/land retry"))
	w.waitOut()
	w.mustBe(p, queue.Landed)
	w.audit.final()
}
