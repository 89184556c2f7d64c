package speculation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

const learns = "unit:go-test-json:targets:test:learn"

// limitsOf returns the builds of a pull request in which a job had a limit, and of all.
func limitsOf(w *world, p *pull) (limited, all int) {
	for _, r := range w.runs {
		if !r.build.IsFor(w.change(p).ID) {
			continue
		}
		all++
		if slices.ContainsFunc(r.build.Jobs, func(j queue.Job) bool { return j.Limit != nil }) {
			limited++
		}
	}
	return limited, all
}

// A step whose runs take a minute is ended after three: a run that takes longer is no
// failure, and passes with the whole time-out.
func TestLearnedTimeoutIsNoVerdict(t *testing.T) {
	w := quiet(t, learns, config.Rules{Retries: 0, BuildsPerChange: 100})
	landSome(w, 10)
	p := w.land(edit{"b/code": "early"})
	w.waitOut()
	if limited, all := limitsOf(w, p); limited != 0 || all == 0 {
		t.Errorf("after ten runs %d of %d builds have a limit", limited, all)
	}
	landSome(w, 12)
	w.took = map[string]time.Duration{"a": 7 * minute}
	p = w.land(edit{"a/code": "slow"})
	w.waitOut()
	ch := w.mustBe(p, queue.Landed)
	if limited, all := limitsOf(w, p); limited != 1 || all != 2 {
		t.Errorf("%d of %d builds have a limit", limited, all)
	}
	if ch.Red != 0 || ch.Infra != 0 || !slices.Equal(ch.Cut, []string{"unit"}) {
		t.Errorf("%d red, %d infrastructure, cut %q", ch.Red, ch.Infra, ch.Cut)
	}
	for _, e := range w.core.State().Ledger {
		if len(e.Failures) > 0 {
			t.Errorf("written down as a failure: %+v", e)
		}
	}
	var said []string
	for _, line := range w.log {
		if _, more, ok := strings.Cut(line, "step-cut"); ok {
			said = append(said, more)
		}
	}
	if len(said) != 1 || !strings.Contains(said[0], "[unit 3m12s 1m4s 2") || !strings.Contains(said[0], " 10m]") {
		t.Errorf("said: %q", said)
	}
	w.audit.final()
}

// A run that hangs fails by the step's whole time-out, as often as without a learned one.
func TestLearnedTimeoutOfWhatHangs(t *testing.T) {
	w := quiet(t, learns, config.Rules{Retries: 0, BuildsPerChange: 100}, rule{target: "b", all: []string{"hangs"}})
	landSome(w, 22)
	sound := w.keysOf(w.commits[w.main].tree)
	w.timeout = func(keys []queue.Key) bool { return keys[0].Target == "b" && !slices.Contains(sound, keys[0]) }
	p := w.land(edit{"b/code": "hangs"})
	w.waitOut()
	ch := w.change(p)
	limited, all := limitsOf(w, p)
	if ch.Phase != queue.Rejected || limited != 1 || all != 3 || ch.Red != 2 {
		t.Errorf("%s: %+v; %d of %d builds have a limit, %d red", ch.Phase, ch.Reason, limited, all, ch.Red)
	}
}

// A report that a job was ended by a limit that it did not have is not believed.
func TestCutWithoutLimit(t *testing.T) {
	w := quiet(t, learns, config.Rules{Retries: 1, BuildsPerChange: 100})
	p := w.land(edit{"a/code": "fine"})
	w.settleDown()
	var r *run
	for _, x := range w.going() {
		if x.build.IsFor(w.change(p).ID) {
			r = x
		}
	}
	j := r.build.Jobs[0]
	w.tell(queue.JobDone{Build: r.build.ID, Step: j.Step.Digest(), Outcome: queue.JobTimeout, Cut: true, Took: minute})
	if ch := w.change(p); len(ch.Cut) != 0 {
		t.Errorf("cut: %q", ch.Cut)
	}
	if e := w.core.State().Ledger[opaqueID(j.Keys)]; e == nil || len(e.Failures) != 1 || !e.Failures[0].Timeout {
		t.Errorf("%+v", e)
	}
}

func TestShortly(t *testing.T) {
	for d, want := range map[time.Duration]string{2 * time.Hour: "2h", 90 * time.Minute: "1h30m", 192 * time.Second: "3m12s", 10 * time.Minute: "10m", 10 * time.Second: "10s",
		0: "0s", 10*time.Hour + time.Second: "10h0m1s"} {
		if got := shortly(d); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
