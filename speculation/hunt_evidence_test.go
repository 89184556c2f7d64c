package speculation

import (
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// accused returns of what a commit is accused, as step/target.
func (w *world) accused(commit queue.CommitID) []string {
	var out []string
	for _, id := range derived.Sorted(w.core.s.Hunts) {
		for _, t := range w.core.s.Hunts[id].Trails {
			for _, target := range t.Targets {
				if t.Named == commit {
					out = with(out, t.Step+"/"+target)
				}
			}
		}
	}
	return out
}

// endAtOnce has a build say all that it has to say in one turn.
func (w *world) endAtOnce(r *run) {
	var all []queue.Body
	for !r.over {
		all = append(all, w.advance(r)...)
	}
	w.tell(all...)
}

// A pass that somebody takes back while a hunt goes on is no longer what the hunt begins at: the
// commit that was red already is not made the culprit.
func TestForgottenPassAccusesNobody(t *testing.T) {
	w, pushed := redWorld(t, "unit:exit-code:targets:test", 1, 4, edit{"a/code": "1"})
	w.audit.drifting = true
	w.drifts = []rule{{target: "a"}} // in truth a is red on main's former tip, too: its pass there was false
	w.settleDown()
	w.tell(w.advance(w.going()[0])...) // a fails once on main
	for range 100 {
		if h := w.core.s.Hunts; len(h) > 0 && len(w.hunt().Line) > 0 {
			break
		}
		w.now++
		w.work(0)
	}
	if h := w.hunt(); h.Trails[0].Good != 0 || len(h.Culprits) > 0 {
		t.Fatalf("%+v", h)
	}
	p := w.open(w.main, edit{"b/code": "1"})
	w.step(w.say(p, "boss", "/queue forget a"))
	w.quiesce()
	if got := w.accused(pushed[0]); len(got) > 0 {
		t.Errorf("%s is accused of %v, since it has passed before: that was taken back", pushed[0], got)
	}
}

// On an older commit no runner can run the command any more. That says nothing of the commit, and
// the one that broke main is found.
func TestToolIsMissingOnAnOlderCommit(t *testing.T) {
	w, pushed := redWorld(t, "unit:exit-code:targets:test", 0, 4, edit{"a/code": "1"}, edit{"a/code": "2"}, edit{"a/code": "bad"})
	for range 60 {
		w.settleDown()
		if len(w.core.s.Hunts) > 0 && len(w.hunt().Culprits) > 0 {
			break
		}
		going := w.going()
		if len(going) == 0 {
			w.now = max(w.now+1, w.wake)
			w.tell(queue.Tick{})
			continue
		}
		r := going[0]
		w.now = w.now.Add(minute)
		if b := r.build; b.Commit == pushed[0] {
			r.over = true
			r.said = append(r.said, queue.JobDone{Build: b.ID, Step: b.Jobs[0].Step.Digest(), Outcome: queue.JobInfra, Tool: true, Host: "h1", Alone: true, Tail: "go1.9: not found"},
				queue.BuildDone{Build: b.ID, Outcome: queue.JobInfra, Host: "h1", Alone: true})
			w.tell(r.said[len(r.said)-2:]...)
			continue
		}
		w.tell(w.advance(r)...)
	}
	for i, commit := range pushed {
		if got := w.accused(commit); len(got) > 0 != (i == 2) {
			t.Errorf("%d of %v is accused of %v", i, pushed, got)
		}
	}
}

// One commit breaks b and edits a, the next one mends b and breaks a. Main's run of a and b together
// on the first is heard of when main is at the second already: it says nothing of a alone.
func TestFailureOfMoreThanATrail(t *testing.T) {
	w, _ := redWorld(t, "unit:exit-code:targets:test", 0, 4)
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "1", "b/code": "worse"}))
	first := w.main
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	r := w.going()[0]
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad", "b/code": "-worse"}))
	second := w.main
	w.tell(queue.MainMoved{Branch: "main"})
	// main has been read, but its keys there are not known yet
	for {
		i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, ok := a.Task.(queue.Observe); return ok })
		if i < 0 {
			break
		}
		w.now++
		w.work(i)
	}
	if w.core.s.Main.Tip != second || w.core.s.Main.Surveyed == second {
		t.Fatal("main is surveyed")
	}
	for !r.over {
		w.tell(w.advance(r)...)
	}
	w.quiesce()
	if a, b := w.accused(first), w.accused(second); slices.Contains(a, "unit/a") || !slices.Contains(b, "unit/a") {
		t.Errorf("the first is accused of %v, the second, which broke a, of %v", a, b)
	}
}

// Main is run in two parts, each of which fails without a word of targets. The first commit broke b
// and the second a: a build of the first for both would accuse it of both.
func TestOneProbeForTwoTrails(t *testing.T) {
	w, _ := redWorld(t, "unit:exit-code:targets:test", 0, 1)
	w.divides = func(b *queue.Build, keys int) int {
		if b.Worth.Kind == queue.WorthHunt {
			return 0
		}
		return 1
	}
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "1", "b/code": "worse"}))
	first := w.main
	w.commitOutside(w.commits[w.main].tree.with(edit{"a/code": "bad", "b/code": "2"}))
	second := w.main
	w.tell(queue.MainMoved{Branch: "main"})
	w.settleDown()
	w.endAtOnce(w.going()[0])
	w.quiesce()
	if a, b := w.accused(first), w.accused(second); !slices.Equal(a, []string{"unit/b"}) || !slices.Equal(b, []string{"unit/a"}) {
		t.Errorf("the first, which broke b, is accused of %v, the second, which broke a, of %v", a, b)
	}
}

// So does a hunt whose ground has drifted: it begins at another pass, or at none.
func TestDriftedPassAccusesNobody(t *testing.T) {
	w, _ := redWorld(t, unit, 0, 4, edit{"a/code": "1"}, edit{"a/code": "bad"})
	w.settleDown()
	w.tell(w.advance(w.going()[0])...)
	for len(w.core.s.Hunts) == 0 || len(w.hunt().Line) == 0 {
		w.now++
		w.work(0)
	}
	h := w.hunt()
	good := h.Trails[0].Spots[h.Trails[0].Good].Keys[0]
	w.core.judging.unprove(good, "unit", []queue.Failure{{At: w.now}})
	if len(h.Line) > 0 || h.Trails[0].Good >= 0 {
		t.Errorf("it begins at what has drifted: %+v", h.Trails)
	}
}
