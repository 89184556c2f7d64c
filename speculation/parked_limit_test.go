package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A change that no runner can build is looked at again every ten minutes, and that is no
// new wait: after parked_limit it is taken out, as everything that is parked.
func TestNoRunnerEndsAfterTheParkedLimit(t *testing.T) {
	w := quiet(t, unit, config.Rules{Admission: config.Admission{ParkedLimit: 2 * time.Hour}})
	w.infra = func(b *queue.Build) (bool, bool) { return b.Change != "", true }
	p := w.land(edit{"a/code": "one"})
	w.quiesce()
	w.mustBe(p, queue.Parked)
	for range 30 {
		w.pass(10 * time.Minute)
	}
	if ch := w.change(p); ch.Phase != queue.Cancelled {
		t.Errorf("after five hours it is %s: %+v, since %v", ch.Phase, ch.Reason, ch.Decided)
	}
}

// Builds that no runner could run use none of a change's builds up: however long the
// runner was away, the change comes back when it is there, as its comment says.
func TestNoRunnerUsesNoBuildsUp(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	away := true
	w.infra = func(b *queue.Build) (bool, bool) { return away && b.Change != "", true }
	p := w.land(edit{"a/code": "one"})
	w.quiesce()
	for range 30 {
		w.pass(10 * time.Minute)
	}
	if ch := w.mustBe(p, queue.Parked); ch.Reason.Code != queue.ReasonNoRunner {
		t.Errorf("after five hours it waits for %+v", ch.Reason)
	}
	away = false
	w.pass(10 * time.Minute)
	w.mustBe(p, queue.Landed)
	w.audit.final()
}
