package speculation

import (
	"fmt"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Before a queue has any result, a change of few targets goes before one of many, for at most
// an hour, and behind one that it does not merge with.
func TestPlacesBeforeAnyResult(t *testing.T) {
	var targets []string
	all := edit{doc: "mine"}
	for i := range 40 {
		targets = append(targets, fmt.Sprintf("t%02d", i))
		all[fileOf(targets[i])] = "large"
	}
	l, files := plain(targets...)
	w := newWorld(t, l, files, rulesOf(config.Rules{}))
	w.textual = true
	w.tell(queue.Capacity{})
	w.settleDown()
	land := func(after time.Duration, e edit) *pull {
		w.now = w.now.Add(after)
		p := w.land(e)
		w.settleDown()
		return p
	}
	large := land(0, all)
	soon := land(30*time.Minute, edit{fileOf("t00"): "soon"})
	clash := land(0, edit{doc: "yours"})
	late := land(30*time.Minute, edit{fileOf("t01"): "late"})
	at := func(p *pull) queue.Instant { return w.mustBe(p, queue.Pending).Virtual }
	if at(soon) > at(large) || at(clash) < at(large) || at(late) < at(large) {
		t.Errorf("the large one stands at %d, the small one at %d, the one that does not merge with it at %d, the one after an hour at %d",
			at(large), at(soon), at(clash), at(late))
	}
	if took := w.change(large).Predicted; took >= unseenMost {
		t.Errorf("it is said to take %s", took)
	}
}

// Changes that came at the same moment, as all do that a new server finds with its label, stand in
// the order of their numbers.
func TestPlacesOfOneMoment(t *testing.T) {
	c := New(queue.NewState("main"))
	c.s.Main.Config = &config.Config{Queue: rulesOf(config.Rules{Order: config.OrderArrival})}
	for n := range 12 {
		ch := &queue.Change{ID: queue.ChangeID(fmt.Sprintf("%d.abc", n)), Number: n, Phase: queue.Pending, Arrival: 5}
		ch.Virtual = c.landing.virtual(ch)
		c.s.Changes[ch.ID] = ch
		c.touchChange(ch)
	}
	c.landing.sortOrder()
	for n, id := range c.facts.Order.IDs {
		if c.s.Changes[id].Number != n {
			t.Fatalf("the order is %v", c.facts.Order.IDs)
		}
	}
}
