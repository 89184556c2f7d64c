package speculation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// proposal is what a plan can ask for: the words that it has. There is none for landing,
// rejecting, or writing that something has passed; a change whose builds are used up is
// parked by apply, and a rollup is a wish that the train need not follow. So no plan,
// however wrong, gives a verdict.
type proposal interface{ proposal() }

type (
	// start is a build that is worth its slot.
	start struct {
		link      queue.LinkID
		also      []queue.ChangeID // built by it, too, besides those of the link
		keys      []queue.Key
		value     float64
		worth     queue.Worth
		predicted time.Duration
		build     *queue.Build // by apply: the one that was started
	}
	// stop ends a build that can tell nothing any more, or whose slot is worth more to another.
	stop struct{ build queue.BuildID }
	// merge is a chain of merges that has to be made before something can be built.
	merge struct{ want }
	// together joins changes into a rollup, in the place of the first.
	together struct{ members []queue.ChangeID }
	// part gives up the rollup of a change. unsettled: the order is to be looked at again.
	part struct {
		rollup    queue.ChangeID
		unsettled bool
	}
	// probe asks for the link by which a commit of main's line is built for a hunt.
	probe struct {
		hunt   string
		commit int // of its line
	}
	// pause begins the wait before what is red in a root link is built again.
	pause struct{ root queue.LinkID }
	// hourOver forgets builds that were started more than an hour ago.
	hourOver struct{}
	// usedUp says that a change has had all builds that it may have.
	usedUp struct{ change queue.ChangeID }
)

func (*start) proposal()   {}
func (stop) proposal()     {}
func (merge) proposal()    {}
func (together) proposal() {}
func (part) proposal()     {}
func (probe) proposal()    {}
func (pause) proposal()    {}
func (hourOver) proposal() {}
func (usedUp) proposal()   {}

// members returns the changes that a build is for.
func (x *start) members(l *queue.Link) []queue.ChangeID {
	b := queue.Build{Change: l.Change, Also: l.With}
	if len(b.Also) == 0 {
		b.Also = x.also
	}
	return b.For()
}

// apply carries out what a plan proposes. Plans write by this function and no other.
func (c *Core) apply(x proposal) {
	switch x := x.(type) {
	case *start:
		c.startBuild(x)
	case stop:
		c.stopBuild(c.s.Builds[x.build])
	case merge:
		c.wants = append(c.wants, x.want)
	case together:
		c.joinRollup(x.members)
	case part:
		c.dissolve(c.s.Changes[x.rollup])
		c.again = c.again || x.unsettled
	case probe:
		c.makeProbeLink(c.s.Hunts[x.hunt], x.commit)
	case pause:
		c.wakeAt(c.pauseRoot(x.root))
	case hourOver:
		for len(c.s.Spent) > 0 && c.now.Sub(c.s.Spent[0]) >= time.Hour {
			c.s.Spent = c.s.Spent[1:]
			c.touch(queue.KindMeta, queue.MetaSpent)
		}
	case usedUp:
		ch := c.s.Changes[x.change]
		c.park(ch, queue.Reason{Code: queue.ReasonBuildCap, Names: []string{fmt.Sprint(ch.Builds)}}, 0)
		c.again = true
	default:
		panic(fmt.Sprintf("speculation: nobody applies a %T", x))
	}
}

// startBuild asks for a build.
func (c *Core) startBuild(x *start) {
	l := c.s.Links[x.link]
	l.Attempts++
	c.touch(queue.KindLink, string(l.ID))
	b := &queue.Build{
		ID: c.buildID(l, x.keys), Link: l.ID, Change: l.Change, Commit: l.Commit,
		Attempt: l.Attempts, At: c.now, Value: x.value, Worth: x.worth, Predicted: x.predicted,
	}
	set := l.Steps
	if part := l.PartOf(x.keys[0]); part != nil {
		b.Commit, set = part.Commit, part.Steps
	}
	b.Main, b.Chain = c.under(l)
	b.Also = slices.Clone(l.With)
	if len(b.Also) == 0 {
		b.Also = x.also
	}
	b.Avoid, b.Shun = c.failedOn(x.keys), c.benched()
	for _, st := range c.s.Steps[set].Steps {
		d := st.Digest()
		var keys []queue.Key
		for _, k := range x.keys {
			if k.Step == d {
				keys = append(keys, k)
			}
		}
		if len(keys) > 0 {
			b.Jobs = append(b.Jobs, queue.Job{Step: st, Keys: keys, Clouded: l.Change != "" && c.clouded(st.Name)})
		}
	}
	c.s.Builds[b.ID], x.build = b, b
	c.indexBuild(b)
	c.touch(queue.KindBuild, string(b.ID))
	for _, id := range b.For() {
		c.s.Changes[id].Builds++
		c.touch(queue.KindChange, string(id)) // it stays where it is in the order
	}
	c.countBuild(l, x.keys)
	c.ask(queue.Run{Build: b.ID})
	c.noteBuild(b, queue.Note{What: "build-asked", Worth: b.Worth})
}

// countBuild counts a build that has been started for whoever bounds how often.
func (c *Core) countBuild(l *queue.Link, keys []queue.Key) {
	m := &c.s.Main
	switch h := c.huntOf(l.ID); {
	case h != nil:
		h.Builds++
		c.touchHunt(h)
	case c.aside(l):
		c.ranControls(keys)
	case l.Change != "" || c.state(l).status != failed:
	case l == c.nextRoot():
		if m.Next.Retry <= c.now {
			m.Next.Backoff++
			c.pauseRoot(l.ID)
		}
	default:
		m.Backoff++
		c.pauseRoot(l.ID)
	}
	if c.rules().BuildsPerHour > 0 {
		c.s.Spent = append(c.s.Spent, c.now)
		c.touch(queue.KindMeta, queue.MetaSpent)
	}
}

// pauseRoot has what is red in a root link wait, the longer the more often it was built,
// and returns for how long.
func (c *Core) pauseRoot(root queue.LinkID) queue.Instant {
	m := &c.s.Main
	retry, tries := &m.Retry, m.Backoff
	if n := m.Next; n != nil && n.Root == root {
		retry, tries = &n.Retry, n.Backoff
	}
	*retry = c.now.Add(backoff(tries))
	c.touchMain()
	return *retry
}

func (c *Core) stopBuild(b *queue.Build) {
	b.Cancel = true
	c.unindexBuild(b)
	c.touch(queue.KindBuild, string(b.ID))
	c.ask(queue.Stop{Build: b.ID})
}

// joinRollup joins changes, which take their place in the order behind the first.
func (c *Core) joinRollup(group []queue.ChangeID) {
	first := c.s.Changes[group[0]]
	for _, id := range group {
		ch := c.s.Changes[id]
		ch.Rollup = first.ID
		ch.Virtual = first.Virtual
		c.touchChange(ch)
		c.note(queue.Note{Change: id, Number: ch.Number, What: "rollup", Reason: queue.Reason{Names: idStrings(group)}})
	}
	for _, id := range group {
		c.forgetAhead(id, 0)
	}
	c.sortOrder()
	for _, id := range group {
		c.forgetAhead(id, 0)
	}
	group = slices.Clone(group)
	slices.SortFunc(group, func(a, b queue.ChangeID) int { return cmp.Compare(c.rank[a], c.rank[b]) })
	c.rollups[first.ID] = group
	c.again = true
}
