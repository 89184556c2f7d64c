package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A target that has failed and passed within one run has passed, on its second attempt, and
// is written down as flaky; the others of the run are not.
func TestFlakedWithinARun(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	w.reruns = func(target string) bool { return target == "a" }
	p := w.land(edit{"a/code": "fine", "b/code": "fine"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	s := w.core.State()
	for target, want := range map[string]int{"a": 1, "b": 0} {
		d := s.Durations[derived.DurationID("unit", target)]
		if d == nil || (want == 0) != (d.Flakes == 0) || (want == 0) != (d.Flaked == 0) || d.Failed != 0 {
			t.Errorf("%s: %+v, want %d flakes", target, d, want)
		}
	}
	tried := map[string]int{}
	for _, e := range s.Ledger {
		if len(e.Failures) > 0 {
			t.Errorf("written down as a failure: %+v", e)
		}
		for _, k := range e.Keys {
			tried[k.Target] = max(tried[k.Target], e.Tries)
		}
	}
	if tried["a"] != tried["b"]+1 {
		t.Errorf("attempts %v", tried)
	}
	w.audit.final()
}
