package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Early boarding: a change boards the train when its own build is about to end, so that
// its step on the whole tree is under way meanwhile. It is behind all proven changes,
// and behind those that become proven before it does; in that case its step was run in
// vain. So it has to be likely to pass, and it takes free slots only. The gate asks of
// it the same as of every change.

const (
	likelyPass = 0.8  // chance from which a change boards early
	apart      = 10   // part of a build's time by which others must end before or after it
	overrun    = 1.25 // times its prediction after which a build is not expected to end soon
)

// dueBy returns when a live build is expected to end, and the time when that answer
// changes. The end is 0 where it is further away than within, the time that main's
// steps on the whole tree take: they begin no earlier.
func (c *landing) dueBy(b *queue.Build, within time.Duration) (end, next queue.Instant) {
	if b.Started == 0 || b.Cancel {
		return 0, 0
	}
	took := c.facts.Builds.PredictBuild(b)
	end = b.Started.Add(took)
	begin, last := end.Add(-within), b.Started.Add(time.Duration(float64(took)*overrun))
	switch {
	case c.facts.Now < begin:
		return 0, begin
	case c.facts.Now > last:
		return 0, 0
	}
	return max(end, c.facts.Now), last + 1
}

// due reports whether all missing keys of a link, other than those of the whole tree,
// are being verified and will soon be known.
func (c *landing) due(l *queue.Link) bool {
	if c.facts.Without(config.IngredientEarly) || !c.facts.TreeSteps.HasTreeSteps() || c.facts.Beliefs.Good(l.Change) < likelyPass {
		return false
	}
	st := c.facts.Links.State(l)
	if st.Status != derived.Unknown {
		return false
	}
	within := c.facts.TreeSteps.TreeTime()
	return !slices.ContainsFunc(derived.Without(st.Missing, st.Tree), func(k queue.Key) bool {
		f := c.facts.Ledger.Keys[k.ID()]
		if f == nil || f.Build == nil {
			return true
		}
		end, _ := c.dueBy(f.Build, within)
		return end == 0
	})
}

// early returns the changes that could board early, in the order in which their builds
// are expected to end. It is open whether their own targets pass. But no other change
// is expected to be proven so shortly before or after one of them that their order may
// differ. early asks to be woken when there may be others.
func (c *landing) early() []queue.ChangeID {
	if c.facts.Without(config.IngredientEarly) || !c.facts.TreeSteps.HasTreeSteps() {
		return nil
	}
	type ride struct {
		id   queue.ChangeID
		end  queue.Instant
		due  bool
		near time.Duration
	}
	var rides []ride
	within := c.facts.TreeSteps.TreeTime()
	for _, live := range c.facts.Builds.Building {
		id := live.Change
		if _, pending := c.facts.Order.Rank[id]; !pending || live.Cancel || live.Whole() {
			continue
		}
		due, next := c.dueBy(live.Build, within)
		c.wakeAt(next)
		if c.facts.Futures.Verified[id] {
			continue
		}
		r := ride{id, c.facts.Builds.Expected(live.Build), due != 0 && c.facts.Beliefs.Good(id) >= likelyPass, c.facts.Builds.PredictBuild(live.Build) / apart}
		if at := slices.IndexFunc(rides, func(o ride) bool { return o.id == id }); at < 0 {
			rides = append(rides, r)
		} else if rides[at].end < r.end {
			rides[at] = r
		}
	}
	slices.SortFunc(rides, func(a, b ride) int {
		return cmp.Or(cmp.Compare(a.end, b.end), cmp.Compare(c.facts.Order.Rank[a.id], c.facts.Order.Rank[b.id]))
	})
	var out []queue.ChangeID
	for i, r := range rides {
		if !r.due || i > 0 && r.end.Sub(rides[i-1].end) < r.near || i+1 < len(rides) && rides[i+1].end.Sub(r.end) < r.near {
			break
		}
		out = append(out, r.id)
	}
	return out
}
