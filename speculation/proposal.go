package speculation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

type ()

// apply carries out a proposal of a plan. It is the only way by which a plan changes
// the state.
func (c *Core) apply(x plan.Proposal) {
	switch x := x.(type) {
	case *plan.Start:
		c.startBuild(x)
	case plan.Stop:
		c.stopBuild(c.s.Builds[x.Build])
	case plan.Merge:
		c.landing.wants = append(c.landing.wants, x.Want)
	case plan.Together:
		c.joinRollup(x.Members)
	case plan.Part:
		c.landing.dissolve(c.s.Changes[x.Rollup])
		c.again = c.again || x.Unsettled
	case plan.Divide:
		c.divide(x.First, x.Rest)
	case plan.Free:
		c.free(x.Members, x.By)
	case plan.Probe:
		c.hunting.makeProbeLink(c.s.Hunts[x.Hunt], x.Commit)
	case plan.Pause:
		c.wakeAt(c.pauseRoot(x.Root))
	case plan.HourOver:
		for len(c.s.Spent) > 0 && c.facts.Now.Sub(c.s.Spent[0]) >= time.Hour {
			c.s.Spent = c.s.Spent[1:]
			c.touch(queue.KindMeta, queue.MetaSpent)
		}
	case plan.UsedUp:
		ch := c.s.Changes[x.Change]
		c.settling.park(ch, queue.Reason{Code: queue.ReasonBuildCap, Names: []string{fmt.Sprint(ch.Builds)}}, 0)
		c.again = true
	default:
		panic(fmt.Sprintf("speculation: unknown proposal %T", x))
	}
}

// startBuild asks for a build.
func (c *Core) startBuild(x *plan.Start) {
	l := c.s.Links[x.Link]
	l.Attempts++
	c.touch(queue.KindLink, string(l.ID))
	b := &queue.Build{
		ID: c.landing.buildID(l, x.Keys), Link: l.ID, Change: l.Change, Commit: l.Commit,
		Attempt: l.Attempts, At: c.facts.Now, Value: x.Value, Worth: x.Worth, Predicted: x.Predicted,
	}
	set := l.Steps
	if part := l.PartOf(x.Keys[0]); part != nil {
		b.Commit, set = part.Commit, part.Steps
	}
	b.Main, b.Chain = c.facts.Links.Under(l)
	b.Also = slices.Clone(l.With)
	if len(b.Also) == 0 {
		b.Also = x.Also
	}
	b.Avoid, b.Shun = c.benching.failedOn(x.Keys), c.benching.benched()
	for _, st := range c.s.Steps[set].Steps {
		d := st.Digest()
		var keys []queue.Key
		for _, k := range x.Keys {
			if k.Step == d {
				keys = append(keys, k)
			}
		}
		for _, keys := range c.judging.apart(st, keys) {
			b.Jobs = append(b.Jobs, queue.Job{Step: st, Keys: keys, Clouded: l.Change != "" && c.facts.Ledger.Clouded(st.Name), Limit: c.limit(b, st, keys)})
		}
	}
	c.s.Builds[b.ID], x.Build = b, b
	c.facts.Builds.IndexBuild(b)
	c.touch(queue.KindBuild, string(b.ID))
	for _, id := range b.For() {
		c.s.Changes[id].Builds++
		c.s.Changes[id].Spent += x.Shares[id]
		c.touch(queue.KindChange, string(id)) // it stays where it is in the order
	}
	c.countBuild(l, x.Keys)
	c.upkeep.ask(queue.Run{Build: b.ID})
	c.landing.noteBuild(b, queue.Note{What: "build-asked", Worth: b.Worth})
}

// countBuild counts a started build in the records that bound the number of builds.
func (c *Core) countBuild(l *queue.Link, keys []queue.Key) {
	m := &c.s.Main
	switch h := c.hunting.huntOf(l.ID); {
	case h != nil:
		h.Builds++
		c.hunting.touchHunt(h)
	case c.judging.aside(l):
		c.judging.ranControls(keys)
	case l.Change != "" || c.facts.Links.State(l).Status != derived.Failed:
	case l == c.facts.NextRoot():
		if m.Next.Retry <= c.facts.Now {
			m.Next.Backoff++
			c.pauseRoot(l.ID)
		}
	default:
		m.Backoff++
		c.pauseRoot(l.ID)
	}
	if c.facts.Rules().BuildsPerHour > 0 {
		c.s.Spent = append(c.s.Spent, c.facts.Now)
		c.touch(queue.KindMeta, queue.MetaSpent)
	}
}

// pauseRoot sets the time before which the red keys of a root link are not built again,
// and returns it. The pause grows with the number of builds.
func (c *Core) pauseRoot(root queue.LinkID) queue.Instant {
	m := &c.s.Main
	retry, tries := &m.Retry, m.Backoff
	if n := m.Next; n != nil && n.Root == root {
		retry, tries = &n.Retry, n.Backoff
	} else {
		m.Unfit = 0 // a red key is not run again because a runner comes
	}
	*retry = c.facts.Now.Add(backoff(tries))
	c.touchMain()
	return *retry
}

func (c *Core) stopBuild(b *queue.Build) {
	b.Cancel = true
	c.facts.Builds.UnindexBuild(b)
	c.touch(queue.KindBuild, string(b.ID))
	c.upkeep.ask(queue.Stop{Build: b.ID})
}

// buildID names the next build of a link. A link that was forgotten and made
// again counts its attempts anew; the time tells the two apart. A build that is asked for
// after passes of its keys were taken back gets a new name. Under the old name, which lost
// turns may have used, the runner would only repeat the old result.
func (c *landing) buildID(l *queue.Link, keys []queue.Key) queue.BuildID {
	made := string(l.ID) + "@" + strconv.FormatInt(int64(l.At), 10)
	var back queue.Instant
	for _, f := range c.s.Main.Forgotten {
		if slices.ContainsFunc(keys, func(k queue.Key) bool {
			st, _ := c.facts.Links.Step(l, k)
			return f.Covers(k, st.Name)
		}) {
			back = max(back, f.At)
		}
	}
	if back != 0 {
		made += "@" + strconv.FormatInt(int64(back), 10)
	}
	return queue.NewBuildID(queue.LinkID(made), keys, l.Attempts)
}
