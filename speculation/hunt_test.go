package speculation

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// redWorld is a world of two targets whose main is proven and then pushed to from
// outside, once for each edit; all at one time.
func redWorld(t *testing.T, steps string, retries, slots int, edits ...edit) (*world, []queue.CommitID) {
	t.Helper()
	files := tree{stepsFile: steps, barrier: "go1", unowned: "data", "a/code": "base", "b/code": "base"}
	l := law{targets: []string{"a", "b"}, needs: map[string][]string{}, rules: []rule{
		{target: "a", all: []string{"bad"}, unless: "heal"},
		{target: "b", all: []string{"worse"}},
	}}
	w := newWorld(t, l, files, rulesOf(config.Rules{Retries: retries}))
	w.begin(slots)
	if !w.core.facts.ProvenMain() {
		t.Fatal("main is not proven")
	}
	var pushed []queue.CommitID
	for _, e := range edits {
		w.commitOutside(w.commits[w.main].tree.with(e))
		pushed = append(pushed, w.main)
	}
	w.tell(queue.MainMoved{Branch: "main"})
	return w, pushed
}

func (w *world) hunt() *queue.Hunt {
	w.Helper()
	var out []*queue.Hunt
	for _, id := range derived.Sorted(w.core.s.Hunts) {
		out = append(out, w.core.s.Hunts[id])
	}
	if len(out) != 1 {
		w.Fatalf("%d hunts: %+v", len(out), out)
	}
	return out[0]
}

func culprits(h *queue.Hunt) []string {
	var out []string
	for _, x := range h.Culprits {
		out = append(out, fmt.Sprint(x.Commit, x.Targets))
	}
	slices.Sort(out)
	return out
}

func TestCulpritOfSeveralPushes(t *testing.T) {
	for retries := range 3 {
		for _, steps := range []string{unit, "unit:exit-code:targets:test"} {
			var edits []edit
			for i := range 20 {
				e := edit{"a/code": fmt.Sprint("v", i), "b/code": fmt.Sprint("v", i)}
				if i == 13 {
					e["a/code"] += " bad"
				}
				edits = append(edits, e)
			}
			w, pushed := redWorld(t, steps, retries, 4, edits...)
			for range 60 {
				w.settleDown()
				if h := w.core.s.Hunts; len(h) > 0 && w.hunt().Settled() {
					break
				}
				for _, r := range w.going() {
					w.now = w.now.Add(minute)
					w.tell(w.advance(r)...)
				}
			}
			h := w.hunt()
			if len(h.Culprits) != 1 || h.Culprits[0].Commit != pushed[13] {
				t.Fatalf("retries %d, %s: culprits %v, want %s of %v", retries, steps, culprits(h), pushed[13], pushed)
			}
			if x := h.Culprits[0]; x.Green.Commit == "" || x.Failed.Build == "" || x.Failed.Commit != pushed[13] {
				t.Errorf("retries %d, %s: evidence %+v", retries, steps, x)
			}
			t.Logf("retries %d, %s: %d builds", retries, steps, h.Builds)
		}
	}
}

func TestTwoCulprits(t *testing.T) {
	w, pushed := redWorld(t, unit, 1, 4,
		edit{"a/code": "1", "b/code": "1"}, edit{"a/code": "bad"}, edit{"a/code": "2", "b/code": "2"}, edit{"b/code": "worse"}, edit{"a/code": "3"})
	w.quiesce()
	want := []string{fmt.Sprint(pushed[1], []string{"a"}), fmt.Sprint(pushed[3], []string{"b"})}
	if got := culprits(w.hunt()); !slices.Equal(got, want) {
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("culprits %v, want %v", got, want)
		}
	}
}

func TestAFlakeAccusesNobody(t *testing.T) {
	w, _ := redWorld(t, unit, 1, 4, edit{"a/code": "1"}, edit{"a/code": "2"})
	flakes := 1
	w.flake = func(keys []queue.Key) bool { flakes--; return flakes >= 0 }
	w.quiesce()
	if !w.core.facts.ProvenMain() || len(w.core.s.Hunts) != 0 {
		t.Fatalf("main proven: %t, hunts %v", w.core.facts.ProvenMain(), w.core.s.Hunts)
	}
}

// TestAHuntReadsWhatLostTurnsKnew: what the archive shows of main when its line is
// traced counts for main, too, so that no further hunt begins for the same failure.
func TestAHuntReadsWhatLostTurnsKnew(t *testing.T) {
	w := newWorld(t, law{targets: []string{"a", "b"}, needs: map[string][]string{}},
		tree{stepsFile: "unit:exit-code:targets:test", barrier: "go1", unowned: "data", "a/code": "base", "b/code": "base"}, rulesOf(config.Rules{Retries: 1}))
	flakes := 1
	w.flake = func([]queue.Key) bool { flakes--; return flakes >= 0 }
	w.begin(2)
	if !w.core.facts.ProvenMain() {
		t.Fatal("main is not proven")
	}
	for id, r := range w.runs {
		if len(r.said) > 0 && r.build.Attempt > 1 {
			delete(w.runs, id) // the build that has passed is not known any more where it ran
		}
	}
	told := slices.IndexFunc(w.store.before, func(records map[queue.Ref][]byte) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(records)), func(r queue.Ref) bool { return r.Kind == queue.KindEntry })
	})
	w.mustLose(len(w.store.before) - told + 1)
	w.settleDown()
	if !w.core.facts.ProvenMain() || len(w.core.s.Hunts) != 0 {
		t.Fatalf("proven: %t, hunts %v", w.core.facts.ProvenMain(), w.core.s.Hunts)
	}
}

// TestAHuntRestsOnNothingForgotten: an answer that tells of a pass which was taken back
// meanwhile does not end the hunt.
func TestAHuntRestsOnNothingForgotten(t *testing.T) {
	w, _ := redWorld(t, "unit:exit-code:targets:test", 1, 4)
	p := w.open(w.main, edit{"b/code": "1"})
	w.step(w.say(p, "boss", "/queue forget a"))
	w.settleDown()
	w.drifts = []rule{{target: "a"}}
	w.tell(w.advance(w.going()[0])...)
	var ask queue.Action
	for _, a := range w.waits {
		if _, is := a.Task.(queue.Trace); is {
			ask = a
		}
	}
	told := w.trace(ask.Key, ask.Task.(queue.Trace)).(queue.Traced)
	for _, k := range told.Trails[0].Spots[0].Keys {
		told.Passed = append(told.Passed, w.store.archive[k.ID()])
	}
	first := w.hunt().ID
	w.step(w.event(told))
	if h := w.core.s.Hunts[first]; len(told.Passed) == 0 || h == nil || h.Over != 0 {
		t.Fatalf("%d passes that were taken back end the hunt %s: %+v", len(told.Passed), first, h)
	}
	w.settleDown()
	if h := w.hunt(); h.ID != first {
		t.Fatalf("hunt %s, after %s", h.ID, first)
	}
}

func TestRepairedMainEndsItsHunt(t *testing.T) {
	w, pushed := redWorld(t, unit, 0, 4, edit{"a/code": "1"}, edit{"a/code": "bad"}, edit{"a/code": "2"})
	w.quiesce()
	if got := culprits(w.hunt()); len(got) != 1 || w.hunt().Culprits[0].Commit != pushed[1] {
		t.Fatalf("culprits %v, want %s", got, pushed[1])
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "heal"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if h := w.hunt(); h.End != queue.HuntRepaired || len(h.Culprits) != 1 {
		t.Fatalf("%+v", h)
	}
	w.now = w.now.Add(2 * queue.HuntKept)
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "new"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	if len(w.core.s.Hunts) != 0 {
		t.Fatalf("hunts are kept for ever: %v", w.core.s.Hunts)
	}
}

func TestForcedPushEndsHunts(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4, edit{"a/code": "1"}, edit{"a/code": "bad"})
	w.settleDown()
	w.tell(w.advance(w.going()[0])...)
	w.settleDown()
	first := w.hunt().ID
	w.main = w.put(commit{parent: w.line(w.main)[2].id, tree: w.commits[w.main].tree.with(edit{"b/code": "other"})}).id
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	if h := w.core.s.Hunts[first]; h != nil && h.End != queue.HuntForced {
		t.Fatalf("%+v", h)
	}
}

// TestACommitThatCannotBeBuilt: what no build can tell from the culprit is named
// with it.
func TestACommitThatCannotBeBuilt(t *testing.T) {
	w, pushed := redWorld(t, unit, 0, 4, edit{"a/code": "1"}, edit{"a/code": "2"}, edit{"a/code": "bad"})
	w.infra = func(b *queue.Build) (bool, bool) { return b.Commit == pushed[1], false }
	w.settleDown()
	for range 40 {
		w.quiesce()
		if len(w.hunt().Culprits) > 0 {
			break
		}
		w.now = max(w.now+1, w.wake)
		w.tell(queue.Tick{})
	}
	x := w.hunt().Culprits[0]
	if x.Commit != pushed[2] || !slices.Equal(x.Among, pushed[1:2]) {
		t.Fatalf("%+v", x)
	}
}

// TestALostProbeWaitsBesideAnotherBuild: a build that brings no result is begun again
// with back-off, also while another one verifies a key that its commit has as well.
func TestALostProbeWaitsBesideAnotherBuild(t *testing.T) {
	w, pushed := redWorld(t, unit, 1, 4, edit{"a/code": "bad", "b/code": "worse"}, edit{"b/code": "2"})
	lost := 0
	w.infra = func(b *queue.Build) (bool, bool) {
		if b.Commit == pushed[0] {
			lost++
		}
		return b.Commit == pushed[0], false
	}
	w.settleDown()
	w.tell(w.advance(w.going()[0])...) // main fails; a runs there once more, and has the same key on the commit before
	w.settleDown()
	if lost != 1 || len(w.going()) != 1 {
		t.Fatalf("%d builds of %s at one time, beside %d", lost, pushed[0], len(w.going()))
	}
	for lost < derived.LostProbes {
		was := lost
		w.now = w.wake
		w.tell(queue.Tick{})
		if w.settleDown(); lost > was+1 || len(w.going()) != 1 {
			t.Fatalf("%d and then %d builds of %s, beside %d", was, lost, pushed[0], len(w.going()))
		}
	}
}

func TestSplit(t *testing.T) {
	for _, x := range []struct {
		n, room int
		taken   []int
		want    []int
	}{
		{n: 1, room: 1, want: []int{0}},
		{n: 3, room: 1, want: []int{1}},
		{n: 3, room: 9, want: []int{0, 1, 2}},
		{n: 8, room: 2, want: []int{2, 5}},
		{n: 255, room: 3, want: []int{63, 127, 191}},
		{n: 7, room: 2, taken: []int{3}, want: []int{1, 5}},
		{n: 7, room: 1, taken: []int{1}, want: []int{4}},
		{n: 2, room: 2, taken: []int{0, 1}},
		{n: 5, room: 0},
	} {
		if got := plan.Split(x.n, x.taken, x.room); !slices.Equal(got, x.want) {
			t.Errorf("split(%d, %v, %d) = %v, want %v", x.n, x.taken, x.room, got, x.want)
		}
	}
}

// A pass that was taken back acquits no commit: a failure since is hunted for once, and
// not for ever.
func TestHuntAfterForget(t *testing.T) {
	w, _ := redWorld(t, "unit:exit-code:targets:test", 1, 4)
	p := w.open(w.main, edit{"b/code": "1"})
	w.audit.drifting = true
	w.drifts = []rule{{target: "a", all: []string{"base"}}}
	w.step(w.say(p, "boss", "/queue forget a"))
	w.quiesce()
	if n := len(w.core.s.Hunts); n > 1 {
		t.Errorf("%d hunts", n)
	}
}
