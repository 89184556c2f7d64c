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

// drawLanes draws the lanes of a queue, with waits of up to a few hours.
func drawLanes(pick dice) config.Rules {
	var r config.Rules
	for i := range 1 + pick(4, "lanes") {
		r.Lanes = append(r.Lanes, config.Lane{Name: fmt.Sprint("lane", i), Benefit: []float64{3, 1, 0.5}[i%3], Least: "write",
			MaxWait: time.Duration(1+pick(3*3600, "max_wait")) * time.Second})
	}
	names := r.LaneNames()
	r.DefaultLane = names[pick(len(names), "default lane")]
	return r
}

// allowance is how much later a change of one lane may come and still be ahead
// of one of another by their lanes alone, written down as the documentation says
// it: lane by lane.
func allowance(r config.Rules, ahead, behind string) time.Duration {
	var sum time.Duration
	names := r.LaneNames()
	for i := slices.Index(names, ahead) + 1; i <= slices.Index(names, behind); i++ {
		sum += r.Lanes[i].MaxWait
	}
	for i := slices.Index(names, behind) + 1; i <= slices.Index(names, ahead); i++ {
		sum -= r.Lanes[i].MaxWait
	}
	return sum
}

// TestLanesAreBounded: with lanes, too, the order is total, the same however the
// state came about, and without circles; a change is overtaken only by those that
// came within what the lanes between theirs may hold it up, and max_overtake;
// and a change of a higher lane does go before those that have not waited that
// long.
func TestLanesAreBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := drawLanes(shrinking(rt))
		r.MaxOvertake = time.Duration(rapid.Int64Range(1, int64(8*time.Hour)).Draw(rt, "max_overtake"))
		r.Order = rapid.SampledFrom([]config.Order{config.OrderFinish, config.OrderArrival}).Draw(rt, "order")
		bound := r.MaxOvertake
		if r.Order == config.OrderArrival {
			bound = 0
		}
		c := New(queue.NewState("main"))
		c.s.Main.Config = &config.Config{Queue: rulesOf(r)}
		for i := range rapid.IntRange(1, 12).Draw(rt, "changes") {
			ch := &queue.Change{ID: queue.ChangeID(fmt.Sprint(i)), Phase: queue.Pending,
				Lane:     rapid.SampledFrom(r.LaneNames()).Draw(rt, "lane"),
				Arrival:  queue.Instant(rapid.Int64Range(1, 1e8).Draw(rt, "arrival")),
				Foreseen: queue.Foreseen{Predicted: time.Duration(rapid.Int64().Draw(rt, "predicted"))}}
			ch.Virtual = c.landing.virtual(ch)
			c.s.Changes[ch.ID] = ch
			c.touchChange(ch)
		}
		c.landing.sortOrder()
		again := New(c.s)
		again.landing.sortOrder()
		if !slices.Equal(c.facts.Order.IDs, again.facts.Order.IDs) || len(c.facts.Order.IDs) != len(c.s.Changes) {
			rt.Fatalf("order %v, made again %v", c.facts.Order.IDs, again.facts.Order.IDs)
		}
		for i, a := range c.facts.Order.IDs {
			for _, b := range c.facts.Order.IDs[i+1:] {
				x, y := c.s.Changes[a], c.s.Changes[b]
				if late := x.Arrival.Sub(y.Arrival); late > allowance(r, x.Lane, y.Lane)+bound {
					rt.Fatalf("%s of %s is ahead of %s of %s, which came %v before it", a, x.Lane, b, y.Lane, late)
				}
			}
		}
	})
}

// Lanes that no command names do not change the order.
func TestDefaultLaneHasNoHeadStart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		r := drawLanes(shrinking(rt))
		c := New(queue.NewState("main"))
		c.s.Main.Config = &config.Config{Queue: rulesOf(r)}
		ch := &queue.Change{Lane: r.DefaultLane, Arrival: 1e6, Foreseen: queue.Foreseen{Predicted: time.Minute}}
		with := c.landing.virtual(ch)
		c.s.Main.Config = &config.Config{Queue: rulesOf(config.Rules{})}
		if without := c.landing.virtual(ch); with != without {
			rt.Fatalf("%v with lanes, %v without", with, without)
		}
	})
}

func TestLanesLeftOut(t *testing.T) {
	r := rulesOf(config.Rules{Lanes: config.DefaultLanes(), DefaultLane: "normal",
		Projects: []config.Project{{Name: "a", Targets: []string{"a"}, Benefit: 2}, {Name: "b", Targets: []string{"b"}, Benefit: 0.5}},
		Quotas:   []config.Quota{{Name: "all", Builds: 1, Per: config.PerAuthor}}})
	for i := range r.Lanes {
		r.Lanes[i].MaxWait = time.Hour
	}
	s := queue.NewState("main")
	c := New(s)
	s.Main.Config = &config.Config{Queue: r}
	add := func(id, lane string, f *queue.Footprint) *queue.Change {
		ch := &queue.Change{ID: queue.ChangeID(id), Lane: lane, Arrival: 1e9}
		s.Changes[ch.ID] = ch
		if f != nil {
			s.Footprints[ch.ID] = f
		}
		return ch
	}
	urgent := add("1.x", "high", &queue.Footprint{Write: []string{"a", "b"}})
	slow := add("2.x", "low", &queue.Footprint{Write: []string{"b"}})
	plain := add("3.x", "", nil)
	for _, test := range []struct {
		ch   *queue.Change
		want float64
	}{{urgent, 6}, {slow, 0.25}, {plain, 1}, {add("4.x", "normal", &queue.Footprint{All: true}), 2}, {add("5.x", "gone", &queue.Footprint{Write: []string{"c"}}), 1}} {
		for range 2 {
			if got := c.facts.Benefit(test.ch); got != test.want {
				t.Errorf("a build for %s is worth %v times as much, want %v", test.ch.ID, got, test.want)
			}
		}
	}
	if d := c.landing.virtual(urgent).Sub(c.landing.virtual(slow)); d != -2*time.Hour {
		t.Errorf("high is %v after low", d)
	}
	s.Footprints[slow.ID] = &queue.Footprint{Write: []string{"a"}}
	if got := c.facts.Benefit(slow); got != 1 {
		t.Errorf("with another footprint it is worth %v", got)
	}
	s.Main.Config = &config.Config{Queue: r}
	s.Main.Config.Queue.Off = []config.Ingredient{config.IngredientLanes, config.IngredientBenefit, config.IngredientQuotas}
	if c.landing.virtual(urgent) != c.landing.virtual(slow) || c.facts.Benefit(urgent) != 1 || len(c.facts.Quotas.PortionsOf(urgent)) != 0 {
		t.Error("what is left out still counts")
	}
}
