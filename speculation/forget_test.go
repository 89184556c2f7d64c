package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A change whose passes are forgotten has them built again, and lands after that.
func TestWhatIsForgottenIsBuiltAgain(t *testing.T) {
	for _, words := range []string{"a", "step=unit", "a step=unit", "key"} {
		t.Run(words, func(t *testing.T) {
			w := quiet(t, unit, config.Rules{})
			p := w.open(w.main, edit{"a/code": "one"})
			w.step(w.say(p, "boss", "/queue pause while we look"), w.say(p, "dev", "/land"))
			w.quiesce()
			ch := w.change(p)
			if n := ch.Builds; n != 1 || ch.Phase.Final() {
				t.Fatalf("%d builds, %s", n, ch.Phase)
			}
			if words == "key" {
				words = "key=" + string(w.core.s.Links[queue.LinkOf(w.main, ch.ID)].Keys[0].ID())[:12]
			}
			w.step(w.say(p, "boss", "/queue forget "+words))
			w.settleDown()
			if b := w.core.State().Builds; len(b) == 0 {
				t.Fatalf("nothing is built after %s was forgotten", words)
			}
			w.step(w.say(p, "boss", "/queue resume"))
			w.quiesce()
			if ch = w.change(p); ch.Phase != queue.Landed || ch.Builds != 2 {
				t.Errorf("%s after %d builds", ch.Phase, ch.Builds)
			}
			w.audit.final()
		})
	}
}

// A key that main rests on is unproven once it is forgotten, and is proven by a build;
// other forgotten keys leave main proven, without one.
func TestForgettingWhatMainRestsOn(t *testing.T) {
	w := quiet(t, unit, config.Rules{External: config.ExternalHold})
	p := w.land(edit{"a/code": "one"})
	w.quiesce()
	w.step(w.say(p, "boss", "/queue forget nothing-has-this-name"))
	w.settleDown()
	if !w.core.facts.ProvenMain() || len(w.core.s.Builds) > 0 {
		t.Errorf("main is proven: %t; builds: %d", w.core.facts.ProvenMain(), len(w.core.s.Builds))
	}
	w.step(w.say(p, "boss", "/queue forget a"))
	w.settleDown()
	root := w.core.facts.Root()
	if root == nil || len(root.Keys) != 1 || root.Keys[0].Target != "a" {
		t.Fatalf("unproven on main: %+v", root)
	}
	next := w.land(edit{"b/code": "two"})
	w.settleDown()
	if w.change(next).Phase.Final() {
		t.Error("it landed on main that is not proven")
	}
	w.quiesce()
	if !w.core.facts.ProvenMain() || w.change(next).Phase != queue.Landed {
		t.Errorf("main is proven: %t; the next is %s", w.core.facts.ProvenMain(), w.change(next).Phase)
	}
	w.audit.final()
}

// A build that was asked for before counts for nothing that was forgotten, nor is
// it waited for; the same goes for what the archive says late.
func TestWhatWasAskedForBeforeIsNotHeard(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "one", "b/code": "two"})
	w.settleDown()
	first := w.going()[0]
	w.step(w.say(p, "boss", "/queue forget a"))
	w.settleDown()
	if n := len(w.going()); n != 3 {
		t.Fatalf("%d builds, want the first for b, another for a, and one for what main has of a", n)
	}
	for !first.over {
		w.tell(w.advance(first)...)
	}
	w.settleDown()
	for _, e := range w.core.s.Ledger {
		if e.Passed != 0 && e.Keys[0].Target == "a" && e.By == first.build.ID {
			t.Errorf("the first build has proven %+v", *e)
		}
	}
	if w.change(p).Phase.Final() || w.change(p).Infra != 0 {
		t.Errorf("it is %s, %d builds came to nothing", w.change(p).Phase, w.change(p).Infra)
	}
	w.quiesce()
	if w.change(p).Phase != queue.Landed {
		t.Errorf("it is %s", w.change(p).Phase)
	}
	w.audit.final()

	old := queue.Entry{ID: "old", Keys: []queue.Key{{Step: "s", Target: "a", Hash: "h"}}, Passed: 1}
	w.core.judging.readArchived(old)
	w.core.mainline.prove([]queue.Entry{old})
	if w.core.s.Ledger["old"] != nil || slices.ContainsFunc(w.core.turn.Archive, func(e queue.Entry) bool { return e.ID == "old" }) {
		t.Error("a pass from before came back")
	}
}

// A build that can show nothing any more is stopped.
func TestBuildOfForgottenKeysIsStopped(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "one"})
	w.settleDown()
	first := w.going()[0].build.ID
	w.step(w.say(p, "boss", "/queue forget a"))
	w.work(slices.IndexFunc(w.waits, func(a queue.Action) bool { _, is := a.Task.(queue.Inspect); return is }))
	if b := w.core.s.Builds[first]; !b.Cancel {
		t.Error("it goes on")
	}
	w.quiesce()
	if ch := w.change(p); ch.Phase != queue.Landed || ch.Infra != 0 {
		t.Errorf("%s, %d", ch.Phase, ch.Infra)
	}
	w.audit.final()
}

// A landing that is written goes on; main is looked at again after it.
func TestForgettingInTheMidstOfALanding(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "one"})
	for w.core.s.Push == nil {
		if len(w.waits) > 0 {
			w.work(0)
		} else {
			w.tell(w.advance(w.going()[0])...)
		}
	}
	w.step(w.say(p, "boss", "/queue forget a"))
	i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, is := a.Task.(queue.Inspect); return is })
	w.work(i)
	if w.core.s.Push == nil || len(w.core.s.Main.Forgotten) != 1 {
		t.Fatalf("push %v, forgotten %v", w.core.s.Push, w.core.s.Main.Forgotten)
	}
	w.settleDown()
	if ch := w.change(p); ch.Phase != queue.Landed || w.core.facts.ProvenMain() {
		t.Errorf("%s; main is proven: %t", ch.Phase, w.core.facts.ProvenMain())
	}
	w.quiesce()
	if !w.core.facts.ProvenMain() {
		t.Error("main is not proven again")
	}
	w.audit.final()
}

// A failure without a target, from a time when main's unproven keys were not known, counts
// while that is so, each time anew: the change waits for main, and no build is asked for
// that could fail in the same way only.
func TestForgettingPutsAFailureUnderTheCloudAgain(t *testing.T) {
	w := quiet(t, byStep, config.Rules{})
	w.audit.flaky = true
	p := w.land(edit{"a/code": "one"})
	w.settleDown()
	forget := func(words string) { // main is not surveyed yet
		w.step(w.say(p, "boss", "/queue forget "+words))
		w.work(slices.IndexFunc(w.waits, func(a queue.Action) bool { _, is := a.Task.(queue.Inspect); return is }))
		if m := w.core.s.Main; m.Surveyed == m.Tip {
			t.Fatal("main counts as surveyed")
		}
	}
	waits := func() bool {
		l := w.core.s.Links[queue.LinkOf(w.main, w.change(p).ID)]
		return w.core.facts.Links.State(l).Status == derived.Failed && len(w.core.s.Builds) == 0
	}

	forget("step=lint")
	w.flake = func([]queue.Key) bool { return true }
	w.tell(w.advance(w.going()[0])...)
	w.flake = nil
	if !waits() {
		t.Fatal("it does not wait for main")
	}
	w.settleDown()
	again := w.going()
	if len(again) != 1 || waits() {
		t.Fatalf("%d builds, now that main is known to be proven", len(again))
	}
	forget("step=vet")
	again[0].over = true
	w.tell(queue.BuildDone{Build: again[0].build.ID, Outcome: queue.JobInfra, Detail: "machine lost"})
	if !waits() {
		t.Errorf("builds that are asked for meanwhile: %d", len(w.core.s.Builds))
	}
	w.quiesce()
	if ch := w.change(p); ch.Phase != queue.Landed || ch.Builds != 3 {
		t.Errorf("%s after %d builds", ch.Phase, ch.Builds)
	}
	w.audit.final()
}

// As much as is remembered can be forgotten; more is refused.
func TestTooMuchIsForgotten(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.land(edit{"a/code": "one"})
	w.quiesce()
	for i := range queue.ForgottenMost + 1 {
		w.step(w.say(p, "boss", "/queue forget t"+string(rune('a'+i/26))+string(rune('a'+i%26))))
		w.settleDown()
	}
	if n := len(w.core.s.Main.Forgotten); n != queue.ForgottenMost {
		t.Errorf("%d are remembered", n)
	}
	if why := w.core.s.Pulls[p.number].Notice; why.Code != queue.ReasonForgotten {
		t.Errorf("the last was answered with %+v", why)
	}
	w.now = w.now.Add(queue.ArchiveTTL)
	w.step(w.say(p, "boss", "/queue forget a"))
	w.settleDown()
	if n := len(w.core.s.Main.Forgotten); n != 1 {
		t.Errorf("%d are remembered a month later", n)
	}
}
