package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// fact is what is known of one key: its ledger entry and the live build that
// was asked for it. Every link that has the key shares it. Facts are derived
// memory; there is one for each key that a link or a live build has.
type fact struct {
	id       queue.Digest
	entry    *queue.Entry   // nil: nothing is known
	build    *queue.Build   // live, asked for it and not cancelling
	sets     []queue.Digest // failed sets that hold it, sorted
	behind   []stake        // the assumption keys it is behind
	uses     int            // links and builds that have it
	decisive bool           // its own failures decide
}

// stake is an assumption key that a fact is behind, and by how many sources.
type stake struct {
	known *known
	by    int
}

// bear takes in that a fact is behind an assumption key by so many sources more.
func (f *fact) bear(k *known, by int) {
	at := slices.IndexFunc(f.behind, func(s stake) bool { return s.known == k })
	if at < 0 {
		at = len(f.behind)
		f.behind = append(f.behind, stake{known: k})
	}
	if f.behind[at].by += by; f.behind[at].by == 0 {
		f.behind = slices.Delete(f.behind, at, at+1)
	}
}

func (f *fact) passed() bool { return f.entry != nil && f.entry.Passed != 0 }

// use returns the fact of a key for one more link or build.
func (c *Core) use(id queue.Digest) *fact {
	f := c.facts[id]
	if f == nil {
		f = &fact{id: id, entry: c.s.Ledger[id], sets: c.sets[id]}
		c.facts[id] = f
		c.weighFailures(f)
	}
	f.uses++
	return f
}

func (c *Core) release(f *fact) {
	if f.uses--; f.uses == 0 {
		delete(c.facts, f.id)
		delete(c.failing, f)
		if f.entry != nil {
			c.spare[f.id] = true
		}
	}
}

// weighFailures brings decisive up to date and says whether it has changed.
func (c *Core) weighFailures(f *fact) bool {
	was := f.decisive
	f.decisive = f.entry != nil && f.entry.Decisive(c.now, c.rules().Retries)
	if f.decisive {
		c.failing[f] = true
	} else {
		delete(c.failing, f)
	}
	return f.decisive != was
}

// weighSet remembers when the oldest failure of a set fades. Entries of one key are
// no sets.
func (c *Core) weighSet(id queue.Digest, e *queue.Entry) {
	if at := e.Expires(c.now); e.IsSet() && at != 0 {
		c.failingSets[id] = at
	}
}

// fade takes back failures that have expired, and returns when the next of the others
// does; 0: none will.
func (c *Core) fade() (next queue.Instant) {
	later := func(at queue.Instant) {
		if at > c.now {
			next = queue.Earliest(next, at)
		}
	}
	var over []*fact
	for f := range c.failing {
		if f.entry.Decisive(c.now, c.rules().Retries) {
			later(f.entry.Expires(c.now))
		} else {
			over = append(over, f)
		}
	}
	for _, f := range over {
		c.changed(f)
	}
	for id, at := range c.failingSets {
		e := c.s.Ledger[id]
		if e != nil && at > c.now {
			later(at)
			continue
		}
		delete(c.failingSets, id)
		if e != nil {
			c.learned(id, e) // which remembers the next of its failures
			later(c.failingSets[id])
		}
	}
	return next
}

// learned takes in that an entry has changed: of one key, or of a set.
func (c *Core) learned(id queue.Digest, e *queue.Entry) {
	c.version++
	if f := c.facts[id]; f != nil {
		f.entry = c.s.Ledger[id]
		c.changed(f)
	} else if c.s.Ledger[id] != nil {
		c.spare[id] = true
	}
	if e == nil || !e.IsSet() {
		return
	}
	if c.s.Ledger[id] != nil {
		c.weighSet(id, e)
	}
	for _, k := range e.Keys {
		if f := c.facts[k.ID()]; f != nil {
			c.changed(f)
		}
	}
}

// changed tells those that rest on a key that more, or less, is known of it.
func (c *Core) changed(f *fact) {
	c.version++
	c.weighFailures(f)
	for _, s := range f.behind {
		c.refresh(s.known)
		c.stir(s.known.target)
	}
}

// busied takes in that a build has begun or ceased to verify a key.
func (c *Core) busied(f *fact, b *queue.Build) {
	f.build = b
	for _, s := range f.behind {
		s.known.asked = false
		c.stir(s.known.target)
	}
}

// linkInfo is what is derived of one link.
type linkInfo struct {
	facts   []*fact  // of its keys, in order
	sources []source // by target of its change; none where it tells nothing of assumptions
	change  *queue.Change
	state   linkState
	at      basis // that state was made on
	rest    footing
}

// basis is what links are judged by beside themselves. How far main is proven is of it,
// since that says what a failure under a cloud counts for (weighed).
type basis struct {
	version  int          // of the ledger, and of who has landed
	surveyed bool         // it is known what main has unproven
	root     queue.LinkID // that, if it is anything
}

func (c *Core) basis() basis {
	m := &c.s.Main
	return basis{version: c.version, surveyed: m.Surveyed == m.Tip, root: m.Root}
}

// footing is what a link's chain rests on.
type footing struct {
	at   int  // losses when it was looked at
	lost bool // nobody knows any more what somebody there affects
	down bool // somebody there has been turned down
}

// lose has links looked at again that rest on a change which has gone, or of which
// more is known now.
func (c *Core) lose(id queue.ChangeID) {
	if c.assumedBy[id] > 0 {
		c.assumed.losses++
	}
}

// footing returns what a link rests on. Only tidy asks: within a turn, it is not
// up to date before.
func (c *Core) footing(l *queue.Link) footing {
	i := c.info(l)
	if i.rest.at != c.assumed.losses {
		i.rest = footing{at: c.assumed.losses, down: slices.ContainsFunc(l.Chain, c.turnedDown),
			lost: slices.ContainsFunc(l.Chain, func(id queue.ChangeID) bool { return c.s.Footprints[id] == nil })}
	}
	return i.rest
}

// info returns what is derived of a link.
func (c *Core) info(l *queue.Link) *linkInfo {
	if i := c.links[l]; i != nil {
		return i
	}
	i := &linkInfo{facts: c.useKeys(l), change: c.s.Changes[l.Change]}
	c.links[l] = i
	c.assumed.latest[l.Change] = l
	c.assumes(l.Chain)
	return i
}

// useKeys returns the facts of a link's keys, for that link. Most are those of the
// latest link of the same change, in the same order: comparing keys is cheaper than
// naming them.
func (c *Core) useKeys(l *queue.Link) []*fact {
	out := make([]*fact, len(l.Keys))
	var keys []queue.Key
	var facts []*fact
	if like := c.assumed.latest[l.Change]; like != nil {
		keys, facts = like.Keys, c.links[like].facts
	}
	at := 0
	for j := range l.Keys {
		k := &l.Keys[j]
		if j > 0 && k.Step != l.Keys[j-1].Step {
			at = max(0, slices.IndexFunc(keys, func(o queue.Key) bool { return o.Step == k.Step }))
		}
		for at < len(keys) && keys[at].Step == k.Step && keys[at].Target < k.Target {
			at++
		}
		if at < len(keys) && keys[at] == *k {
			out[j] = facts[at]
			out[j].uses++
			at++
			continue
		}
		out[j] = c.use(k.ID())
	}
	return out
}

// forgetLink gives up what is derived of a link.
func (c *Core) forgetLink(l *queue.Link) {
	c.unassume(l)
	if made := c.assumed.commit[l.Commit]; slices.Contains(made, l) {
		if made = slices.DeleteFunc(made, func(x *queue.Link) bool { return x == l }); len(made) > 0 {
			c.assumed.commit[l.Commit] = made
		} else {
			delete(c.assumed.commit, l.Commit)
		}
	}
	if i := c.links[l]; i != nil {
		for _, f := range i.facts {
			c.release(f)
		}
		delete(c.links, l)
		if c.assumed.latest[l.Change] == l {
			delete(c.assumed.latest, l.Change)
		}
		c.assumesNot(l.Chain)
	}
	for _, id := range linksTo(l) {
		if of := c.linksOf[id]; of != nil {
			delete(of, l)
			if len(of) == 0 {
				delete(c.linksOf, id)
			}
		}
	}
}

// indexLink takes in a link of the state.
func (c *Core) indexLink(l *queue.Link) {
	for _, id := range linksTo(l) {
		of := c.linksOf[id]
		if of == nil {
			of = map[*queue.Link]bool{}
			c.linksOf[id] = of
		}
		of[l] = true
	}
	c.info(l)
	c.serial++
	if l.Outcome == queue.Merged && l.Change != "" {
		made := c.assumed.commit[l.Commit]
		at, _ := slices.BinarySearchFunc(made, l.ID, func(x *queue.Link, id queue.LinkID) int { return compareIDs(x.ID, id) })
		c.assumed.commit[l.Commit] = slices.Insert(made, at, l)
	}
}

// linkTo returns the link that makes a commit; nil: none is known. A fast-forward makes
// the same head on several parents, and for several changes: of these links the one
// with the soundest ground is taken, and of alike ones the first by id. A link is kept
// while a build runs on it, though main has left the line that it stands on; what is
// made on the commit stands on main all the same, if another link leads there.
func (c *Core) linkTo(commit queue.CommitID) *queue.Link {
	made := c.assumed.commit[commit]
	if len(made) == 0 {
		return nil
	}
	best := made[0]
	for _, l := range made[1:] {
		if c.groundOf(l) > c.groundOf(best) {
			best = l
		}
	}
	return best
}

// ground is how well a link stands on main.
type ground int

const (
	lostGround    ground = iota // on a line that main has left, or nobody knows on what
	refutedGround               // on main's line, with a change that has been turned down
	sideGround                  // with changes that may still land, but not on main as it is
	tipGround                   // on a chain from main's tip that may still land
)

// groundOf says how a link stands by what is known at this moment; tidy remembers part
// of it for its own time (footing).
func (c *Core) groundOf(l *queue.Link) ground {
	line := c.s.Main.Line
	switch gap := line.Seq - l.Since.Seq; {
	case l.Since.Epoch != line.Epoch, slices.ContainsFunc(l.Chain, func(id queue.ChangeID) bool { return c.s.Footprints[id] == nil }):
		return lostGround
	case slices.ContainsFunc(l.Chain, c.turnedDown), slices.ContainsFunc(l.Changes(), c.turnedDown):
		return refutedGround
	case gap < 0, line.Seq > len(c.assumed.line), !c.reached(l):
		return sideGround
	}
	return tipGround
}

// linksTo returns the changes whose link it is; a root link is that of "".
func linksTo(l *queue.Link) []queue.ChangeID {
	return append(l.With[:len(l.With):len(l.With)], l.Change)
}

// liveBuild is what is derived of a build of the state.
type liveBuild struct {
	*queue.Build
	facts   []*fact // of all its keys; none once it is cancelling
	credit  float64 // what it is worth to the plan under way
	wanted  bool    // somebody has given it credit
	change  *queue.Change
	asked   bool  // an action has it run
	checked sight // when it was last seen not to be refuted
}

// sight is what a build was looked at with.
type sight struct {
	link      *queue.Link // nil where it is yet to be made again
	decisions int
}

func (c *Core) indexBuild(b *queue.Build) {
	live := &liveBuild{Build: b, change: c.s.Changes[b.Change]}
	c.live[b] = live
	at, _ := slices.BinarySearchFunc(c.building, b.ID, func(x *liveBuild, id queue.BuildID) int { return compareIDs(x.ID, id) })
	c.building = slices.Insert(c.building, at, live)
	for _, id := range b.For() {
		c.buildsOf[id]++
	}
	c.assumes(b.Chain)
	if !b.Cancel {
		c.takeKeys(live)
	}
}

// takeKeys takes in that a build verifies its keys.
func (c *Core) takeKeys(b *liveBuild) {
	for _, k := range b.Keys() {
		if c.forgotten(k, b.Build) {
			continue // what it shows of that is not heard
		}
		f := c.use(k.ID())
		b.facts = append(b.facts, f)
		c.busied(f, b.Build)
	}
}

func (c *Core) removeBuild(b *queue.Build) {
	c.unindexBuild(b)
	live := c.live[b]
	delete(c.live, b)
	c.building = slices.DeleteFunc(c.building, func(x *liveBuild) bool { return x == live })
	for _, id := range b.For() {
		if c.buildsOf[id]--; c.buildsOf[id] == 0 {
			delete(c.buildsOf, id)
		}
	}
	c.assumesNot(b.Chain)
	delete(c.s.Builds, b.ID)
	c.untidy[b.Change] = true
	for _, id := range b.Also {
		c.untidy[id] = true
	}
}

// assumes counts a link or a live build that assumes changes to land.
func (c *Core) assumes(chain []queue.ChangeID) {
	for _, id := range chain {
		c.assumedBy[id]++
	}
}

// assumesNot takes it back.
func (c *Core) assumesNot(chain []queue.ChangeID) {
	for _, id := range chain {
		if c.assumedBy[id]--; c.assumedBy[id] == 0 {
			delete(c.assumedBy, id)
			c.sweep = c.sweep || c.turnedDown(id)
		}
	}
}

// unindexBuild takes in that a build verifies its keys no more.
func (c *Core) unindexBuild(b *queue.Build) {
	live := c.live[b]
	for _, f := range live.facts {
		if f.build == b {
			c.busied(f, nil)
		}
		c.release(f)
	}
	live.facts = nil
}

func compareIDs[T ~string](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
