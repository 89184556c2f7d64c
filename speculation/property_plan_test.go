package speculation

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Properties of every plan, under any beliefs of changes: properties of
// whole histories in which changes come, builds end in any order, and the slots
// change. (TestAnyHistory lets everything go wrong as well.)

// drawn is a model that was drawn: any numbers, and none of them right.
func drawn(rt *rapid.T, changes int) stated {
	m := stated{good: map[int]float64{}, pairs: map[[2]int]float64{}, takes: map[int]time.Duration{}}
	chance := rapid.SampledFrom([]float64{0, 1, 0.5, 0.9, 0.999, math.NaN(), math.Inf(1), math.Inf(-1), -1, 7, math.SmallestNonzeroFloat64})
	took := rapid.SampledFrom([]time.Duration{0, -minute, time.Second, minute, time.Hour, 5 * time.Hour, 1000 * time.Hour, math.MaxInt64, math.MinInt64})
	for c := 1; c <= changes; c++ {
		m.good[c], m.takes[c] = chance.Draw(rt, "good"), took.Draw(rt, "takes")
		for b := 1; b < c; b++ {
			m.pairs[[2]int{b, c}] = chance.Draw(rt, "pair")
		}
	}
	return m
}

// play is a world that is led through a drawn history.
type play struct {
	*world
	rt     *rapid.T
	each   func()   // after each turn
	events [][]byte // of each turn, as JSON
	turns  []string // as JSON
}

func newPlay(rt *rapid.T, rules config.Rules, model stated, truth ...rule) *play {
	l, files := plain("a", "b", "c")
	l.rules = truth
	p := &play{world: newWorld(rt, l, files, rulesOf(rules)), rt: rt, each: func() {}}
	p.core.facts.Beliefs.Ask(model)
	p.audit.off = quick
	return p
}

// quick leaves out what the world checks at each turn for every history, which
// TestAnyHistory does: making the turn again, and comparing what is stored.
var quick = os.Getenv("SUBMITQUEUE_SOAK") == ""

// turn makes a turn of what is told.
func (p *play) turn(events ...queue.Event) {
	for i := range events {
		events[i].At = p.now
	}
	data, err := json.Marshal(events)
	if err != nil {
		p.rt.Fatal(err)
	}
	p.events = append(p.events, data)
	p.turns = append(p.turns, encode(p.step(events...)))
	p.each()
}

func (p *play) hear(bodies []queue.Body) {
	var events []queue.Event
	for _, b := range bodies {
		events = append(events, p.event(b))
	}
	p.turn(events...)
}

// settle carries out all actions.
func (p *play) settle() {
	for range 3000 {
		if len(p.waits) == 0 {
			return
		}
		a := p.waits[0]
		p.waits = slices.Clone(p.waits[1:])
		p.now++
		p.hear(p.carryOut(a))
	}
	p.rt.Fatalf("no end of actions")
}

// end finishes one of the builds that are going, the place says which.
func (p *play) end(place int) {
	going := p.going()
	if len(going) == 0 {
		return
	}
	r := going[place%len(going)]
	for p.now = p.now.Add(10 * time.Second); !r.over; {
		p.hear(p.advance(r))
	}
	p.settle()
}

// run opens n changes of the given edits and lets drawn things happen.
func (p *play) run(edits []edit, maxSlots int) {
	p.hear([]queue.Body{queue.Capacity{Slots: rapid.IntRange(1, maxSlots).Draw(p.rt, "slots")}})
	p.settle()
	left := keepVerdict - 4*time.Hour
	for len(edits) > 0 || rapid.IntRange(0, 9).Draw(p.rt, "more") > 1 {
		p.now = p.now.Add(time.Second)
		switch what := rapid.IntRange(0, 9).Draw(p.rt, "what"); {
		case what < 4 && len(edits) > 0:
			q := p.open(p.main, edits[0])
			edits = edits[1:]
			p.turn(p.say(q, "dev", "/land"))
			p.settle()
		case what < 8:
			p.end(rapid.IntRange(0, 8).Draw(p.rt, "build"))
		case what == 8:
			p.hear([]queue.Body{queue.Capacity{Slots: rapid.IntRange(0, maxSlots).Draw(p.rt, "slots")}})
			p.settle()
		default:
			d := min(time.Duration(rapid.IntRange(1, 400).Draw(p.rt, "minutes"))*minute, left)
			left -= d // verdicts are forgotten after a day, and looked at when all is over
			p.now = p.now.Add(d)
			p.hear([]queue.Body{queue.Tick{}})
			p.settle()
		}
	}
}

// finish lets everything end.
func (p *play) finish(slots int) {
	p.hear([]queue.Body{queue.Capacity{Slots: slots}})
	for n := 0; n < 300; n++ {
		p.settle()
		for len(p.going()) > 0 {
			p.end(0)
		}
		if !p.restless() || p.wake <= p.now {
			break
		}
		p.now = p.wake
		p.hear([]queue.Body{queue.Tick{}})
	}
	p.audit.final()
}

// drawEdits returns what changes 1 to n do: each writes its name to one or more
// targets.
func drawEdits(rt *rapid.T, n int) []edit {
	var out []edit
	for c := 1; c <= n; c++ {
		e := edit{}
		for _, t := range rapid.SampledFrom([]string{"a", "a", "b", "c", "a b", "b c", "a b c"}).Draw(rt, "targets") {
			if t != ' ' {
				e[fileOf(string(t))] = fmt.Sprintf("c%d", c)
			}
		}
		out = append(out, e)
	}
	return out
}

// logging shows the world's log where a check fails.
func logging(rt *rapid.T, w *world) {
	if rt.Failed() {
		for _, x := range w.log {
			rt.Log(x)
		}
	}
}

// Under any predicted durations and pairs, no change is overtaken by one that
// arrived later than max_overtake after it, and none at all in order of arrival; a
// change that lands before one ahead has passed with and without it (a bypass).
// A change that is put behind another by its conflict is so by a millisecond.
func TestOvertakingIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(rt, "changes")
		rules := config.Rules{MaxOvertake: time.Duration(rapid.IntRange(1, 600).Draw(rt, "max_overtake")) * minute}
		bound := rules.MaxOvertake + time.Duration(n)*time.Millisecond
		if rapid.Bool().Draw(rt, "by arrival") {
			rules.Order, bound = config.OrderArrival, 0
		}
		p := newPlay(rt, rules, drawn(rt, n))
		defer logging(rt, p.world)
		arrival := map[queue.ChangeID]queue.Instant{}
		var before []queue.ChangeID // without a verdict, until this turn
		p.each = func() {
			var order []queue.ChangeID
			for _, v := range p.core.Queue("main").Order {
				if id := v.Change.ID; v.Change.Phase == queue.Pending {
					order, arrival[id] = append(order, id), v.Change.Arrival
					for _, ahead := range order {
						if late := arrival[ahead].Sub(arrival[id]); late > bound {
							rt.Fatalf("%s is ahead of %s, which came %v before it", ahead, id, late)
						}
					}
				}
			}
			for _, id := range before {
				ch := p.core.State().Changes[id]
				if ch.Phase != queue.Landing {
					continue
				}
				for _, other := range before {
					o := p.core.State().Changes[other]
					if late := ch.Arrival.Sub(o.Arrival); late > bound && o.Phase == queue.Pending &&
						slices.Contains(p.meets(other), id) && !slices.Contains(ch.Verdict.Bypassed, other) {
						rt.Fatalf("%s lands before %s, which came %v before it and is not bypassed", id, other, late)
					}
				}
			}
			before = order
		}
		p.run(drawEdits(rt, n), 5)
		p.finish(4)
	})
}

// meets returns the changes that a pending one conflicts with, by the targets
// that the world says they touch.
func (p *play) meets(id queue.ChangeID) []queue.ChangeID {
	s := p.core.State()
	var out []queue.ChangeID
	for other, f := range s.Footprints {
		if slices.ContainsFunc(f.Affected, func(t string) bool { return slices.Contains(s.Footprints[id].Affected, t) }) {
			out = append(out, other)
		}
	}
	return out
}

// Never more builds than slots are started, a change has never more than its
// cap, of which each build takes its part, and an hour never more than its own.
func TestBudgetIsKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(rt, "changes")
		rules := papers() // speculates on everything
		rules.Spare = config.SpareAlways
		rules.BuildsPerChange = rapid.IntRange(1, 8).Draw(rt, "builds_per_change")
		rules.BuildsPerHour = rapid.SampledFrom([]int{0, 2, 5, 9}).Draw(rt, "builds_per_hour")
		if rapid.Bool().Draw(rt, "pre-emption") {
			rules.Off = nil
		}
		p := newPlay(rt, rules, drawn(rt, n), rule{target: "a", all: []string{"c2"}}, rule{target: "b", all: []string{"c1", "c3"}})
		defer logging(rt, p.world)
		of := map[queue.ChangeID]int{}
		known := map[queue.BuildID]bool{}
		var started []queue.Instant
		p.each = func() {
			s := p.core.State()
			fresh := 0
			for _, id := range derived.Sorted(s.Builds) {
				b := s.Builds[id]
				if known[id] {
					continue
				}
				known[id] = true
				fresh++
				started = append(started, p.now)
				if b.Change == "" {
					continue
				}
				ch, cap := s.Changes[b.Change], float64(rules.BuildsPerChange)
				if whole := len(b.Keys()) >= len(s.Footprints[b.Change].Affected); whole {
					of[b.Change]++
				}
				if of[b.Change] > rules.BuildsPerChange || ch.Spent < float64(of[b.Change])-1e-9 || ch.Spent >= cap+1 {
					rt.Fatalf("%d whole builds of %s, which has spent %g of %g", of[b.Change], b.Change, ch.Spent, cap)
				}
			}
			if fresh > 0 && len(s.Builds) > s.Slots {
				rt.Fatalf("%d builds in %d slots, %d of them new", len(s.Builds), s.Slots, fresh)
			}
			recent := 0
			for _, at := range started {
				if p.now.Sub(at) < time.Hour {
					recent++
				}
			}
			if limit := rules.BuildsPerHour; limit > 0 && recent > limit {
				rt.Fatalf("%d builds within an hour", recent)
			}
		}
		p.run(drawEdits(rt, n), 5)
		p.finish(4)
	})
}

// The same events make the same turns, byte for byte: a history that is written
// down and read again by a core that knows nothing of the first. (TestAnyHistory
// makes each turn from what is stored, too.)
func TestSameEventsSameTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 6).Draw(rt, "changes")
		model := drawn(rt, n)
		rules := config.Rules{Spare: rapid.SampledFrom([]config.Spare{config.SpareAlways, config.SpareNever}).Draw(rt, "spare")}
		p := newPlay(rt, rules, model, rule{target: "a", all: []string{"c1", "c2"}}, rule{target: "c", all: []string{"c3"}})
		defer logging(rt, p.world)
		p.run(drawEdits(rt, n), 5)
		p.finish(4)
		again := NewWith(queue.NewState("main"), model)
		for i, data := range p.events {
			var events []queue.Event
			if err := json.Unmarshal(data, &events); err != nil {
				rt.Fatal(err)
			}
			if got := encode(Step(again, events)); got != p.turns[i] {
				rt.Fatalf("turn %d of %d is another: %s\nwas %s", i, len(p.events), got, p.turns[i])
			}
		}
	})
}

// Under any beliefs main is green at each commit; and if no two changes are red together, so
// that the order does not matter, the verdicts are the truth: red changes are rejected, the
// others land.
func TestAnyBeliefsSameVerdicts(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(rt, "changes")
		bad := map[int]bool{}
		var truth []rule
		for c := 1; c <= n; c++ {
			if bad[c] = rapid.IntRange(0, 3).Draw(rt, "bad") == 3; bad[c] {
				for _, target := range []string{"a", "b", "c"} { // wherever it is
					truth = append(truth, rule{target: target, all: []string{fmt.Sprintf("c%d", c)}})
				}
			}
		}
		rules := config.Rules{Spare: rapid.SampledFrom([]config.Spare{config.SpareAlways, config.SpareNever}).Draw(rt, "spare"),
			Order: rapid.SampledFrom([]config.Order{config.OrderArrival, config.OrderFinish}).Draw(rt, "order"), BuildsPerChange: 1000,
			Off: rapid.SliceOfNDistinct(rapid.SampledFrom(config.Ingredients()), 0, 8, rapid.ID).Draw(rt, "off")}
		p := newPlay(rt, rules, drawn(rt, n), truth...)
		defer logging(rt, p.world)
		p.run(drawEdits(rt, n), 5)
		p.finish(4)
		for c, q := range p.pulls {
			want := queue.Landed
			if bad[c] {
				want = queue.Rejected
			}
			p.mustBe(q, want)
		}
		for _, c := range p.line(p.main) {
			if !p.wholly(c.tree) {
				rt.Fatalf("%s is on main and red", c.id)
			}
		}
	})
}

// Independent changes with slots for all of them: each is built exactly once,
// under any beliefs and any order of the builds' ends.
func TestIndependentChangesAreBuiltOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(rt, "changes")
		l, files := plain(strings.Split("a b c d e f g h", " ")...)
		l.rules = []rule{{target: "b", all: []string{"new"}}, {target: "e", all: []string{"new"}}}
		rules := config.Rules{Spare: rapid.SampledFrom([]config.Spare{config.SpareAlways, config.SpareNever}).Draw(rt, "spare"),
			Off: rapid.SliceOfNDistinct(rapid.SampledFrom(config.Ingredients()), 0, 8, rapid.ID).Draw(rt, "off")}
		w := newWorld(rt, l, files, rulesOf(rules))
		defer logging(rt, w)
		w.core.facts.Beliefs.Ask(drawn(rt, n))
		w.audit.off = quick
		w.begin(n)
		var pulls []*pull
		for _, target := range l.targets[:n] {
			pulls = append(pulls, w.land(edit{fileOf(target): "new"}))
			if rapid.Bool().Draw(rt, "settle") {
				w.settleDown()
			}
		}
		for w.settleDown(); len(w.going()) > 0; w.settleDown() {
			going := w.going()
			w.tell(w.advance(going[rapid.IntRange(0, len(going)-1).Draw(rt, "build")])...)
		}
		w.waitOut()
		w.audit.final()
		for i, p := range pulls {
			w.mustBuilds(p, 1)
			if bad := l.targets[i] == "b" || l.targets[i] == "e"; bad {
				w.mustBe(p, queue.Rejected)
			} else {
				w.mustBe(p, queue.Landed)
			}
		}
	})
}

// Durations that no build has are taken for the nearest that one may have, so
// that nothing that is computed from them turns round. (It once did: a build was
// stopped for another for ever, because the first was late only while it ran.)
func TestAbsurdDurations(t *testing.T) {
	s := newStage(t, config.Rules{Spare: config.SpareAlways}, stated{takes: map[int]time.Duration{1: math.MinInt64, 2: math.MaxInt64, 3: -minute, 4: minute}})
	s.changes("a", "a", "a", "a")
	for n, want := range map[int]time.Duration{1: 0, 2: predict.Longest, 3: 0, 4: minute} {
		if got := s.change(s.pulls[n]).Predicted; got != want {
			t.Errorf("change %d is predicted to take %v; want %v", n, got, want)
		}
	}
	s.schedule(4)
	s.calm()
	s.mustAll(queue.Landed, queue.Landed, queue.Landed, queue.Landed)
}
