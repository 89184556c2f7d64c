package speculation

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// quarantining is a world in which bad turns a target red, with a on main in quarantine.
func quarantining(t *testing.T, steps string) *world {
	files := tree{stepsFile: steps, barrier: "go1", unowned: "data"}
	l := law{targets: []string{"a", "b"}}
	for _, n := range l.targets {
		files[fileOf(n)] = "base"
		l.rules = append(l.rules, rule{target: n, all: []string{"bad"}})
	}
	w := newWorld(t, l, files, rulesOf(config.Rules{Retries: 1}))
	w.begin(4)
	return w
}

// A failure in quarantine refuses no change, of a step that names targets and of one that
// does not; it is counted, shown in the proof, and in no archive. A failure beside it counts.
func TestQuarantine(t *testing.T) {
	for _, steps := range []string{unit, "unit:exit-code:targets:test"} {
		t.Run(steps, func(t *testing.T) {
			w := quarantining(t, steps+" ~a")
			p := w.land(edit{"a/code": "bad", "b/code": "fine"})
			w.waitOut()
			ch := w.mustBe(p, queue.Landed)
			if !slices.Equal(ch.Verdict.Excused, []string{"a"}) {
				t.Errorf("proof %+v", ch.Verdict)
			}
			s := w.core.State()
			if d := s.Durations[derived.DurationID("unit", "a")]; d == nil || d.Excused != 1 || d.Failed != 0 {
				t.Errorf("a is written down as %+v", d)
			}
			for _, e := range w.store.archive {
				if e.Excused != 0 {
					t.Errorf("in the archive: %+v", e)
				}
			}
			if !w.core.facts.ProvenMain() || len(s.Hunts) > 0 {
				t.Errorf("main is not proven, or somebody is looked for: %+v", s.Main)
			}
			other := w.land(edit{"b/code": "bad"})
			w.waitOut()
			w.mustBe(other, queue.Rejected)
			w.audit.final()
		})
	}
}

// What fails in quarantine and has never passed is written down as well.
func TestQuarantineOfWhatHasNeverPassed(t *testing.T) {
	for _, steps := range []string{unit, "unit:exit-code:targets:test"} {
		l, files := plain("a", "b")
		files[stepsFile], files["b/code"] = steps+" ~b", "deleted"
		l.rules = []rule{{target: "b", all: []string{"bad"}}}
		w := newWorld(t, l, files, rulesOf(config.Rules{Retries: 1}))
		w.begin(4)
		p := w.land(edit{"b/code": "-deleted bad"})
		w.waitOut()
		w.mustBe(p, queue.Landed)
		if d := w.core.State().Durations[derived.DurationID("unit", "b")]; d == nil || d.Excused != 1 || d.ShakenIn == "" {
			t.Errorf("b is written down as %+v", d)
		}
	}
}

// A change cannot excuse its own failure, nor lift a quarantine while its target fails; an
// administrator who does either past the queue is believed.
func TestQuarantineIsOfTheBase(t *testing.T) {
	w := quarantining(t, unit)
	own := w.land(edit{"a/code": "bad", stepsFile: "~a"})
	w.waitOut()
	w.mustBe(own, queue.Rejected)
	sound := w.land(edit{stepsFile: "~a"})
	w.waitOut()
	w.mustBe(sound, queue.Landed)
	red := w.land(edit{"a/code": "bad"})
	w.waitOut()
	w.mustBe(red, queue.Landed)
	lift := w.land(edit{stepsFile: "-~a"})
	w.waitOut()
	w.mustBe(lift, queue.Rejected)
	w.commitOutside(w.commits[w.main].tree.with(edit{stepsFile: "-~a"}))
	w.tell(queue.MainMoved{Branch: "main"})
	w.quiesce()
	w.now = w.now.Add(time.Hour)
	w.tell(queue.Tick{})
	w.quiesce()
	if got := w.core.Queue("main").Red; !slices.Equal(got, []string{"a"}) {
		t.Errorf("lifted past the queue, and main is red in %q", got)
	}
}

// A change behind one that adds an entry has its failures excused once that has landed,
// though they were shown before.
func TestQuarantineOfAChangeBehind(t *testing.T) {
	w := quarantining(t, unit)
	w.step(w.say(w.open(w.main, edit{}), "boss", "/queue pause wait"))
	w.quiesce()
	adds := w.land(edit{stepsFile: "~a", "a/code": "fine"})
	w.quiesce()
	p := w.land(edit{"a/code": "bad"})
	w.quiesce()
	w.step(w.say(p, "boss", "/queue resume"))
	w.waitOut()
	w.mustBe(adds, queue.Landed)
	w.mustBe(p, queue.Landed)
	w.audit.final()
}

// With its last day an entry ends: main is verified anew, at that moment, and what fails
// there is red as if there had been no quarantine.
func TestQuarantineEnds(t *testing.T) {
	w := quarantining(t, unit+" ~a@2026-01-05")
	p := w.land(edit{"a/code": "bad"})
	w.waitOut()
	w.mustBe(p, queue.Landed)
	turn := w.step(w.event(queue.Tick{}))
	midnight := queue.At(time.Date(2026, 1, 6, 0, 0, 0, 0, time.UTC))
	for turn.Wake != 0 && turn.Wake < midnight {
		w.now = turn.Wake
		turn = w.step(w.event(queue.Tick{}))
		w.quiesce()
	}
	if turn.Wake != midnight || len(w.core.Queue("main").Red) > 0 {
		t.Fatalf("a turn is asked for at %v, and main is red in %q", turn.Wake.Time(), w.core.Queue("main").Red)
	}
	w.now = midnight
	turn = w.step(w.event(queue.Tick{}))
	if !slices.ContainsFunc(turn.Notes, func(n queue.Note) bool {
		return n.What == "quarantine-over" && strings.Join(n.Reason.Names, " ") == "a"
	}) {
		t.Errorf("noted: %+v", turn.Notes)
	}
	w.quiesce()
	w.now = w.now.Add(time.Hour)
	w.tell(queue.Tick{})
	w.quiesce()
	if got := w.core.Queue("main").Red; !slices.Equal(got, []string{"a"}) {
		t.Errorf("main is red in %q", got)
	}
	late := w.land(edit{"a/code": "bad more"})
	w.waitOut()
	if ch := w.change(late); ch.Phase == queue.Landed {
		t.Errorf("landed after the last day: %+v", ch)
	}
}
