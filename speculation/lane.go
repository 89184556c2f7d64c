package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// Lanes are head starts. A change counts as arrived earlier by its lane's head
// start (config.Rules.HeadStart), and the order is by that alone. So it is total
// and without circles for any lanes, and the order of two changes stays as it was
// when the later of them was analyzed. A change of a higher lane goes
// before a change of a lower lane unless that one has waited for longer than the
// difference of the two head starts. So one lane holds up the next by at most
// lane_max_wait, for any number of changes. The default lane's head start is 0, so that
// a queue without commands for lanes is in the same order as one without lanes, and a
// queue that gets lanes keeps its order.

func (c *entering) headStart(ch *queue.Change) time.Duration {
	if ch.Now != nil {
		return nowStart
	}
	if c.facts.Without(config.IngredientLanes) {
		return 0
	}
	return c.facts.Rules().HeadStart(ch.Lane)
}

// laneRefused says why a command may not use the lane that it names, if so.
// Lanes and their permissions are main's, like all permissions.
func (c *entering) laneRefused(r *queue.Request, b queue.Inspected) queue.Reason {
	name := r.Command.Lane
	if name == "" || c.s.Main.Config == nil {
		return queue.Reason{}
	}
	lane, known := c.facts.Rules().Lane(name)
	switch {
	case !known:
		return queue.Reason{Code: queue.ReasonUnknownLane, Names: append([]string{name}, c.facts.Rules().LaneNames()...)}
	case !r.Own && !lane.Least.Allows(c.role(r, b), r.User, b.Teams):
		return queue.Reason{Code: queue.ReasonNoPermission, Names: []string{r.User, string(lane.Least), name}}
	}
	return queue.Reason{}
}

// toLane puts a change into the lane that a command names, if any: to the place that it
// would have if it had come in that lane.
func (c *entering) toLane(ch *queue.Change, r *queue.Request) {
	if lane := r.Command.Lane; lane != "" {
		c.changeLane(ch, lane, r.User)
	}
}

// changeLane puts a change into a lane, because somebody asked for it or because of a
// change on top of it.
func (c *entering) changeLane(ch *queue.Change, lane, by string) {
	if lane == ch.Lane || ch.Phase == queue.Landing {
		return
	}
	ch.Lane = lane
	c.touchChange(ch)
	c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: "moved", Reason: queue.Reason{Names: []string{by, lane}}})
	if ch.Virtual == 0 {
		return // its place is found when it has been analyzed
	}
	ch.Virtual, ch.Lead = c.landing.virtual(ch), 0
	if ch.Phase == queue.Pending {
		c.landing.stayBehind(ch)
		for _, other := range derived.Sorted(c.facts.Order.ConflictsOf(ch.ID)) {
			if o := c.s.Changes[other]; o != nil && o.Phase == queue.Pending && o.Arrival < ch.Arrival {
				breaks := c.facts.Beliefs.PairChance(other, ch.ID)
				if c.settling.clash(other, ch.ID) {
					breaks = 1
				}
				c.yield(ch, o, breaks)
			}
		}
	}
	c.facts.Order.StaleAll()
}

// yield puts a change behind another of the same lane that it probably breaks with.
// Among changes of different lanes it moves none: the bound on how long a lane may hold
// up another stays.
func (c *entering) yield(ch, to *queue.Change, breaks float64) {
	if breaks > plan.ProbablyBreaks && !c.facts.Order.IsBelow(ch, to) && to.Lane == ch.Lane && to.Virtual >= ch.Virtual && c.facts.Rules().Order != config.OrderArrival {
		ch.Virtual = to.Virtual + 1
	}
}

// shownLane is a change's lane, or "" for the default lane, of which people need not be
// told.
func (c *entering) shownLane(ch *queue.Change) string {
	if ch.Lane == c.facts.Rules().DefaultLane {
		return ""
	}
	return ch.Lane
}
