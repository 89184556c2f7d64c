package speculation

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A day has room for so many emergencies, counted back from now.
func TestEmergenciesOfADay(t *testing.T) {
	const hour = queue.Instant(time.Hour / time.Millisecond)
	s := queue.NewState("main")
	s.Main.Config = &config.Config{Queue: config.Rules{Admission: config.Admission{NowPerDay: 2}}}
	c := New(s)
	for _, test := range []struct {
		nows []queue.Instant // hours
		now  queue.Instant
		want queue.Instant // when there is room again; 0: now
		left int
	}{
		{nil, 30, 0, 0},
		{[]queue.Instant{29}, 30, 0, 1},
		{[]queue.Instant{20, 29}, 30, 44, 2},
		{[]queue.Instant{6, 29}, 30, 0, 1},
		{[]queue.Instant{1, 2}, 30, 0, 0},
		{[]queue.Instant{10, 20, 29}, 30, 44, 3}, // the limit was lowered
	} {
		s.Main.Nows = nil
		for _, at := range test.nows {
			s.Main.Nows = append(s.Main.Nows, queue.Emergency{By: "ada", At: at * hour})
		}
		c.facts.Now = test.now * hour
		c.dirty = map[queue.Ref]bool{}
		why := c.entering.nowLeft()
		if why.Until != test.want*hour || (why.Code == "") != (test.want == 0) || len(s.Main.Nows) != test.left {
			t.Errorf("%v at %d: %+v, %d left", test.nows, test.now, why, len(s.Main.Nows))
		}
	}
}

// A command with another method makes another change, in the place of the one
// there was.
func TestAnotherMethodKeepsThePlace(t *testing.T) {
	w := quiet(t, unit, config.Rules{Landing: config.Landing{Methods: []config.Method{config.MethodMerge, config.MethodRebase}},
		Lanes: []config.Lane{{Name: "low"}, {Name: "high", Least: "write"}}, DefaultLane: "low"})
	first, second := w.land(edit{"a/code": "one"}), w.open(w.main, edit{"a/code": "two"})
	w.settleDown()
	w.step(w.say(second, "dev", "/land priority=high"))
	w.settleDown()
	w.step(w.say(second, "boss", "/land now it burns"))
	w.settleDown()
	before := *w.change(second)
	w.step(w.say(second, "dev", "/land method=rebase"))
	w.settleDown()
	now := w.change(second)
	if now.ID == before.ID || now.Method != config.MethodRebase || now.Lane != "high" || now.Now == nil || now.Arrival != before.Arrival {
		t.Errorf("it was %+v, and is %+v", before, *now)
	}
	w.quiesce()
	if a, b := w.change(first), w.change(second); a.Phase != queue.Landed || b.Phase != queue.Landed || a.Line.Seq < b.Line.Seq {
		t.Errorf("%s as %d, %s as %d", a.Phase, a.Line.Seq, b.Phase, b.Line.Seq)
	}
	if n := len(w.core.State().Main.Nows); n != 1 {
		t.Errorf("%d emergencies are counted", n)
	}
	w.audit.final()
}

// A command that comes before the verdict, and asks for another method than the one
// that has failed by then, is followed: its author has not seen the verdict, and it
// is none on what he asks for. The same command once more has its answer, also where the
// verdict has closed what it is about, as it does in a plain repository.
func TestAnotherMethodIsNotAnsweredByAVerdict(t *testing.T) {
	for _, c := range []struct {
		words  string
		closed bool
		want   int
	}{{"/land method=rebase", false, 2}, {"/land method=merge", false, 1}, {"/land", false, 1}, {"/land", true, 1}} {
		t.Run(fmt.Sprintf("%s closed %t", c.words, c.closed), func(t *testing.T) {
			w := quiet(t, unit, config.Rules{Landing: config.Landing{Methods: []config.Method{config.MethodMerge, config.MethodRebase}}}, rule{target: "a", all: []string{"bad"}})
			p := w.open(w.main, edit{"a/code": "bad"})
			w.step(w.say(p, "dev", "/land"))
			w.settleDown()
			w.step(w.say(p, "dev", c.words))
			i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, ok := a.Task.(queue.Inspect); return ok })
			look := w.waits[i] // its answer comes after the verdict
			w.waits = slices.Delete(w.waits, i, i+1)
			for _, r := range w.going() {
				w.tell(w.advance(r)...)
			}
			w.settleDown()
			if got := w.phases(p); !strings.HasPrefix(got, "rejected") {
				t.Fatal(got)
			}
			p.open = !c.closed
			w.waits = append(w.waits, look)
			w.quiesce()
			if n, q := len(w.core.State().Changes), w.core.State().Pulls[p.number]; n != c.want || q.Notice.Code != "" {
				t.Errorf("%d changes, want %d; it is told %+v", n, c.want, q.Notice)
			}
		})
	}
}

// A refusal closes a request in a plain repository. A command that was given before that
// changes nothing of the answer, although there is no such request any more.
func TestRefusalThatClosesStands(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	p := w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land retry"))
	w.step(w.say(p, "dev", "/land retry"))
	w.settleDown()
	first := w.core.State().Pulls[p.number].Notice
	if first.Code == "" || first.Code == queue.ReasonNotOpen {
		t.Fatalf("it is told %+v", first)
	}
	w = quiet(t, unit, config.Rules{})
	p = w.open(w.main, edit{"a/code": "one"})
	w.step(w.say(p, "dev", "/land retry"), w.say(p, "dev", "/land"))
	for w.core.State().Pulls[p.number] == nil || w.core.State().Pulls[p.number].Notice.Code == "" {
		i := slices.IndexFunc(w.waits, func(a queue.Action) bool { _, ok := a.Task.(queue.Inspect); return ok })
		a := w.waits[i]
		w.waits = slices.Delete(w.waits, i, i+1)
		w.tell(w.carryOut(a)...)
	}
	p.open = false
	w.quiesce()
	if got := w.core.State().Pulls[p.number].Notice; got.Code != first.Code || len(w.core.State().Requests) > 0 {
		t.Errorf("it is told %+v, first %+v; requests %v", got, first, w.core.State().Requests)
	}
	w.step(w.say(p, "dev", "/land"))
	w.quiesce()
	if got := w.core.State().Pulls[p.number].Notice; got.Code != queue.ReasonNotOpen {
		t.Errorf("after another command it is told %+v", got)
	}
}
