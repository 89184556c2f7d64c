package speculation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// TestGateAgainstNaiveTwin goes through every chain of up to three links over
// two keys, every outcome and every ledger, and asks a rule that says the same
// in other words: walk the line and stop at the first thing that is wrong.
func TestGateAgainstNaiveTwin(t *testing.T) {
	k := []queue.Key{{Step: "s", Target: "a", Hash: "1"}, {Step: "s", Target: "b", Hash: "1"}}
	outcomes := []queue.LinkOutcome{queue.Merged, queue.MergeFailed, queue.MergeNothing}
	var chains [][]*queue.Link
	var grow func(chain []*queue.Link)
	grow = func(chain []*queue.Link) {
		chains = append(chains, chain)
		if len(chain) == 3 {
			return
		}
		for _, o := range outcomes {
			for parent := range 2 { // on the one before, or somewhere else
				for mask := range 4 {
					l := &queue.Link{Parent: queue.CommitID(fmt.Sprint("m", len(chain)*(1-parent)+9*parent)), Outcome: o}
					if o == queue.Merged {
						l.Commit = queue.CommitID(fmt.Sprint("m", len(chain)+1))
					}
					for i := range k {
						if mask&(1<<i) != 0 {
							l.Keys = append(l.Keys, k[i])
						}
					}
					grow(append(slices.Clone(chain), l))
				}
			}
		}
	}
	grow(nil)
	n := 0
	for _, chain := range chains {
		for ledger := range 4 {
			passed := func(x queue.Key) bool { return ledger&(1<<slices.Index(k, x)) != 0 }
			missing, ok := Gate("m0", "", chain, passed)
			if got, want := ok && len(missing) == 0, naiveGate("m0", chain, passed); got != want {
				t.Fatalf("Gate lets %+v pass: %t; want %t", chain, got, want)
			}
			n++
		}
	}
	if n < 10000 {
		t.Errorf("only %d cases", n)
	}
}

func naiveGate(main queue.CommitID, chain []*queue.Link, passed func(queue.Key) bool) bool {
	if len(chain) == 0 {
		return false
	}
	first, rest := chain[0], chain[1:]
	if first.Parent != main || first.Outcome != queue.Merged {
		return false
	}
	for _, k := range first.Keys {
		if !passed(k) {
			return false
		}
	}
	return len(rest) == 0 || naiveGate(first.Commit, rest, passed)
}

// TestOrderIsBounded: the order is total, does not depend on how the state came
// about, and under any prediction no change is overtaken by one that arrived more
// than max_overtake later.
func TestOrderIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := time.Duration(rapid.Int64Range(0, int64(8*time.Hour)).Draw(rt, "max_overtake"))
		order := rapid.SampledFrom([]config.Order{config.OrderFinish, config.OrderArrival}).Draw(rt, "order")
		c := New(queue.NewState("main"))
		c.s.Main.Config = &config.Config{Queue: rulesOf(config.Rules{Order: order, MaxOvertake: limit})}
		for i := range rapid.IntRange(1, 12).Draw(rt, "changes") {
			ch := &queue.Change{ID: queue.ChangeID(fmt.Sprint(i)), Phase: queue.Pending,
				Arrival:  queue.Instant(rapid.Int64Range(1, 1e8).Draw(rt, "arrival")),
				Foreseen: queue.Foreseen{Predicted: time.Duration(rapid.Int64().Draw(rt, "predicted"))}}
			ch.Virtual = c.landing.virtual(ch)
			c.s.Changes[ch.ID] = ch
			c.touchChange(ch)
		}
		c.landing.sortOrder()
		first := slices.Clone(c.facts.Order.IDs)
		again := New(c.s)
		again.landing.sortOrder()
		if !slices.Equal(first, again.facts.Order.IDs) || len(first) != len(c.s.Changes) {
			rt.Fatalf("order %v, made again %v", first, again.facts.Order.IDs)
		}
		bound := c.facts.Rules().MaxOvertake
		for i, a := range first {
			for _, b := range first[i+1:] {
				x, y := c.s.Changes[a], c.s.Changes[b]
				if late := x.Arrival.Sub(y.Arrival); late > bound || order == config.OrderArrival && late > 0 {
					rt.Fatalf("%s is ahead of %s, which arrived %v before it", a, b, late)
				}
			}
		}
	})
}
