package speculation

import (
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

func TestWhenAJobRan(t *testing.T) {
	now := queue.At(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))
	at := func(d time.Duration) queue.Instant { return now.Add(d) }
	b := &queue.Build{At: at(-10 * minute), Started: at(-9 * minute)}
	for name, x := range map[string]struct {
		began, ended queue.Instant // as told
		want         span
		pass, fail   queue.Instant // when it began, for a control
	}{
		"nothing is told":          {0, 0, span{at(-9 * minute), now}, at(-9 * minute), at(-9 * minute)},
		"the second job":           {at(-2 * minute), at(-minute), span{at(-2 * minute), at(-minute)}, at(-9 * minute), at(-2 * minute)},
		"a life before":            {at(-70 * minute), at(-65 * minute), span{at(-70 * minute), at(-65 * minute)}, at(-70 * minute), at(-9 * minute)},
		"a clock that is ahead":    {at(5 * minute), at(6 * minute), span{at(-9 * minute), now}, at(-9 * minute), at(-9 * minute)},
		"a clock of 1970":          {1, 2, span{at(-9 * minute), now}, at(-9 * minute), at(-9 * minute)},
		"it ended before it began": {at(-minute), at(-2 * minute), span{at(-9 * minute), at(-2 * minute)}, at(-9 * minute), at(-9 * minute)},
	} {
		c := New(queue.NewState("main"))
		c.facts.Now = now
		got := c.judging.ranIn(b, queue.JobDone{Began: x.began, Ended: x.ended})
		if got != x.want || got.passBegan(b) != x.pass || got.failureBegan(b) != x.fail {
			t.Errorf("%s: %+v, began %v and %v", name, got, got.passBegan(b), got.failureBegan(b))
		}
	}
}

// TestWhatIsToldAgainIsAsOldAsItIs: a build of a change has failed, the queue does not
// hear of it, and its runner reports it two hours later: it is no evidence by then.
func TestWhatIsToldAgainIsAsOldAsItIs(t *testing.T) {
	w := quiet(t, "unit:exit-code:targets:test", config.Rules{})
	w.drifts = []rule{{target: "a"}}
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land"))
	w.settleDown()
	was := w.going()[0]
	w.advance(was) // and the answer is not heard
	w.drifts = nil
	w.now = w.now.Add(2 * time.Hour)
	w.mustRestart()
	w.settleDown()
	if e := w.core.s.Ledger[queue.OpaqueID(was.build.Keys())]; e == nil || e.Expires(w.now) != 0 {
		t.Errorf("what failed two hours ago counts: %+v", e)
	}
	if w.quiesce(); w.change(p).Phase != queue.Landed {
		t.Errorf("the change is %s", w.change(p).Phase)
	}
}

// TestAPassOfBeforeItWasForgotten: turns are lost, the passes of a target are
// forgotten, and a build is asked for again that had run before that.
func TestAPassOfBeforeItWasForgotten(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land"))
	w.settleDown()
	was := w.going()[0]
	out := w.advance(was)
	w.step(w.say(p, "boss", "/queue forget b"))
	w.settleDown()
	at := w.now
	w.now = w.now.Add(minute)
	b := w.core.s.Builds[was.build.ID]
	b.At = w.now // asked for again
	w.core.s.Main.Forgotten[0].Target, w.core.s.Main.Forgotten[0].At = "a", at
	w.audit.off = true
	w.tell(out...)
	for _, k := range was.build.Keys() {
		if w.core.facts.Ledger.Passed(k) {
			t.Errorf("%s has passed by a run that was before it was forgotten", short([]queue.Key{k}))
		}
	}
	if w.quiesce(); w.change(p).Phase != queue.Landed || w.change(p).Infra != 0 {
		t.Errorf("%s, %d lost builds", w.change(p).Phase, w.change(p).Infra)
	}
}

// TestAPassThatEndedBeforeItWasForgotten: of a run it is told only when it has ended,
// before its build was asked for, and its keys were forgotten in between.
func TestAPassThatEndedBeforeItWasForgotten(t *testing.T) {
	c := New(queue.NewState("main"))
	c.facts.Now = queue.At(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC))
	c.s.Main.Forgotten = []queue.Forgotten{{Target: "a", At: c.facts.Now.Add(-10 * minute)}}
	b := &queue.Build{At: c.facts.Now.Add(-5 * minute)}
	k := queue.Key{Step: "unit", Target: "a"}
	if !c.judging.tooOld(k, c.judging.shownIn(b, k, queue.JobDone{Ended: c.facts.Now.Add(-20 * minute)})) {
		t.Error("a pass of before it was forgotten counts")
	}
	if c.judging.tooOld(k, c.judging.shownIn(b, k, queue.JobDone{Ended: c.facts.Now.Add(-minute)})) {
		t.Error("a pass of after that does not count")
	}
}

// TestABuildOfBeforeItWasForgotten: a build has run, the turn that asked for it is lost,
// and passes are forgotten before it is asked for again: it is another build, since the
// clock of the first one's runner may be wrong.
func TestABuildOfBeforeItWasForgotten(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land"))
	w.settleDown()
	was := w.going()[0].build
	l, keys := w.core.s.Links[was.Link], was.Keys()
	made := func() queue.BuildID {
		again := *l
		again.Attempts = was.Attempt
		return w.core.landing.buildID(&again, keys)
	}
	if got := made(); got != was.ID {
		t.Fatalf("the build %s is asked for again as %s", was.ID, got)
	}
	w.step(w.say(p, "boss", "/queue forget c"))
	w.settleDown()
	if got := made(); got != was.ID {
		t.Errorf("passes of another target were forgotten, and the build %s is asked for again as %s", was.ID, got)
	}
	w.step(w.say(p, "boss", "/queue forget a"))
	w.settleDown()
	if got := made(); got == was.ID {
		t.Errorf("the build %s of before its passes were forgotten is asked for again", got)
	}
}
