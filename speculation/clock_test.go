package speculation

import (
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// An owner's clock ran hours ahead. The next one goes on by its own: what was asked
// for in that future is given up when its deadline has passed by the right clock.
func TestStateOfAClockThatRanAhead(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	right := w.now
	w.now = w.now.Add(5 * time.Hour)
	w.step(w.say(w.open(w.main, edit{"a/code": "fine"}), "dev", "/land"))
	if len(w.core.State().Actions) == 0 {
		t.Fatal("nothing is under way")
	}
	c := w.store.load(w)
	if c.NotAfter(right); c.facts.Now > right.Add(maxAhead) {
		t.Fatalf("time stands still until %v", c.facts.Now.Time())
	}
	Step(c, []queue.Event{{ID: "tick", At: right.Add(2 * time.Minute), Body: queue.Tick{}}})
	patience := time.Duration(0)
	for _, a := range c.State().Actions {
		patience = max(patience, a.Deadline.Sub(c.facts.Now))
	}
	if patience > 2*time.Hour {
		t.Errorf("the last deadline is in %v", patience)
	}
	turn := Step(c, []queue.Event{{ID: "tock", At: c.facts.Now.Add(patience + time.Second), Body: queue.Tick{}}})
	if len(turn.Ended) == 0 {
		t.Error("nothing is given up though every deadline has passed")
	}
}

// A change with an arrival in the future counts as having come now: it is not behind all
// that comes until then, and parked changes come back.
func TestChangesOfAClockThatRanAhead(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	right := w.now
	w.now = w.now.Add(40 * 24 * time.Hour)
	pending, parked := w.open(w.main, edit{"a/code": "fine"}), w.open(w.main, edit{"b/code": "fine"})
	for _, p := range []int{pending.number, parked.number} {
		w.step(w.say(w.pulls[p], "dev", "/land"))
		w.settleDown()
	}
	s := w.store.load(w).s
	for _, ch := range s.Changes {
		if ch.Number == parked.number {
			ch.Phase, ch.Reason, ch.Decided, ch.Until = queue.Parked, queue.Reason{Code: queue.ReasonInfra}, w.now, w.now.Add(15*time.Minute)
		}
	}
	c := Resume(s, right, predict.Default)
	turn := Step(c, []queue.Event{{ID: "tick", At: right.Add(2 * time.Minute), Body: queue.Tick{}}})
	if !slices.Contains(turn.Changed, queue.Ref{Kind: queue.KindChange, ID: string(c.facts.Links.Active(pending.number).ID)}) {
		t.Error("it is not stored")
	}
	for _, number := range []int{pending.number, parked.number} {
		ch := c.facts.Links.Active(number)
		if ch.Arrival > c.facts.Now || ch.Virtual > c.facts.Now.Add(24*time.Hour) || ch.Decided > c.facts.Now || ch.Until > c.facts.Now.Add(15*time.Minute) {
			t.Errorf("#%d: arrived in %v, virtual in %v, decided in %v, looked at again in %v", number, ch.Arrival.Sub(c.facts.Now), ch.Virtual.Sub(c.facts.Now), ch.Decided.Sub(c.facts.Now), ch.Until.Sub(c.facts.Now))
		}
	}
	for _, b := range c.s.Builds {
		if b.At > c.facts.Now || b.Started > c.facts.Now {
			t.Errorf("build %s was asked for in %v, and began in %v", b.ID, b.At.Sub(c.facts.Now), b.Started.Sub(c.facts.Now))
		}
	}
	if len(c.s.Builds) == 0 {
		t.Error("nothing is being built")
	}
}

// The forge's times stay as they are: what it tells later is compared with them.
func TestForgesTimesAfterAClockThatRanAhead(t *testing.T) {
	w := quiet(t, unit, config.Rules{})
	right := w.now
	w.now = w.now.Add(time.Hour)
	p := w.open(w.main, edit{"a/code": "fine"})
	w.step(w.say(p, "boss", "/queue pause"))
	w.settleDown()
	w.step(w.saidAt(p, "boss", "/land", right.Add(30*time.Second)))
	w.settleDown()
	c := Resume(w.store.load(w).s, right, predict.Default)
	Step(c, []queue.Event{{ID: "moved", At: right.Add(time.Minute), Body: queue.HeadMoved{Number: p.number, Head: p.head, By: "mallory", Made: right.Add(10 * time.Second)}}})
	if c.facts.Links.Active(p.number) == nil {
		t.Error("it is taken out for a push that was made before the command")
	}
}
