package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Early boarding: a change whose own build is about to end boards the train
// before that, so that its step on the whole tree is under way meanwhile. It
// delays nobody behind it, whose own step takes as long; if it fails, they are
// built again. So it has to be likely to pass, and it takes free slots only. The
// gate asks of it what it asks of everyone.

const (
	likelyPass = 0.8  // chance from which a change boards early
	overrun    = 1.25 // times its prediction after which a build is not expected to end soon
)

// dueBy returns when a live build is expected to end, or 0 where that is not
// within the time that main's steps on the whole tree take: they begin no
// earlier; and when that will have changed.
func (c *Core) dueBy(b *queue.Build, within time.Duration) (end, next queue.Instant) {
	if b.Started == 0 || b.Cancel {
		return 0, 0
	}
	took := c.predictBuild(b)
	end = b.Started.Add(took)
	begin, last := end.Add(-within), b.Started.Add(time.Duration(float64(took)*overrun))
	switch {
	case c.now < begin:
		return 0, begin
	case c.now > last:
		return 0, 0
	}
	return max(end, c.now), last + 1
}

// due reports whether all that is missing of a link, but for the whole tree, is
// being verified and will soon be known.
func (c *Core) due(l *queue.Link) bool {
	if c.without(queue.IngredientEarly) || !c.hasTreeSteps() || c.good(l.Change) < likelyPass {
		return false
	}
	st := c.state(l)
	if st.status != unknown {
		return false
	}
	within := c.treeTime()
	return !slices.ContainsFunc(without(st.missing, st.tree), func(k queue.Key) bool {
		f := c.facts[k.ID()]
		if f == nil || f.build == nil {
			return true
		}
		end, _ := c.dueBy(f.build, within)
		return end == 0
	})
}

// early returns the changes that could board early, as they are expected to be
// through: nobody knows yet whether their own targets pass. It asks to be woken
// when there may be others.
func (c *Core) early() []queue.ChangeID {
	if c.without(queue.IngredientEarly) || !c.hasTreeSteps() {
		return nil
	}
	ends := map[queue.ChangeID]queue.Instant{}
	within := c.treeTime()
	for _, live := range c.building {
		id := live.Change
		if _, pending := c.rank[id]; !pending || live.whole() || c.good(id) < likelyPass {
			continue
		}
		end, next := c.dueBy(live.Build, within)
		c.wakeAt(next)
		if end != 0 && !c.verified[id] {
			ends[id] = max(ends[id], end)
		}
	}
	out := sorted(ends)
	slices.SortStableFunc(out, func(a, b queue.ChangeID) int {
		return cmp.Or(cmp.Compare(ends[a], ends[b]), cmp.Compare(c.rank[a], c.rank[b]))
	})
	return out
}

// whole reports whether a build is of steps on the whole tree only.
func (b *liveBuild) whole() bool {
	return !slices.ContainsFunc(b.Jobs, func(j queue.Job) bool { return j.Step.Scope != queue.ScopeRepository })
}
