package speculation

import (
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// A pair of changes has the chance that the rates of now give it, also where one has been
// ahead of the other for long: else a server plans otherwise once it has been restarted.
func TestChancesOfPairsFollowTheRates(t *testing.T) {
	s := newStage(t, config.Rules{Order: config.OrderArrival}, stated{good: map[int]float64{1: 0.9, 2: 0.9}})
	s.changes("a", "a")
	c := s.core
	c.facts.Beliefs.Ask(predict.New())
	n := c.facts.Futures.Node(s.id(2))
	c.facts.Order.StaleAll()
	before := c.facts.Futures.Edges(n)[0].Q
	c.s.Learned.Pair = predict.SeePairs(c.s.Learned.Pair, 50, 100)
	c.facts.Order.StaleAll()
	after := c.facts.Futures.Edges(n)[0].Q
	if want := c.facts.Beliefs.PairChance(s.id(1), s.id(2)); after != want || after <= before {
		t.Errorf("the chance of the pair is %v, was %v; want %v", after, before, want)
	}
}

// A change whose push is under way is asked about its merges when it stands in the order
// again, and not forgotten meanwhile.
func TestMergesAreAskedForAfterALostPush(t *testing.T) {
	s := newStage(t, config.Rules{Order: config.OrderArrival}, stated{good: map[int]float64{1: 0.9}})
	s.changes("a")
	c, id := s.core, s.id(1)
	was := c.s.Changes[id].Phase
	c.s.Changes[id].Phase = queue.Landing
	c.settling.unasked[id] = true
	c.settling.askPairs()
	if !c.settling.unasked[id] {
		t.Error("nobody will ask about the merges of a change whose push may be lost")
	}
	c.s.Changes[id].Phase = was
	c.settling.askPairs()
	if c.settling.unasked[id] {
		t.Error("a change in the order is looked at again and again")
	}
}
