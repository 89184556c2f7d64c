package speculation

import (
	"maps"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// maxTrain bounds the links of one push.
const maxTrain = 256

// land forms the train: the changes that may land next, each on the commit of
// the one before, on the commit where main will be. The part of its front that
// the gate lets pass is pushed. A change that the gate refuses is left out, and the
// plan builds the keys in its way. The train is sticky, because keys on the whole tree
// can only be verified on the very commits that land.
func (c *landing) land() {
	c.sortOrder()
	c.facts.Order.LetThrough(c.passing())
	c.giveBack()
	c.giveWay()
	c.goThrough()
	c.sortOrder()
	c.facts.TreeSteps.Recount()
	m := &c.s.Main
	if m.Tip == "" || m.Config == nil {
		return
	}
	c.formTrain()
	if c.facts.Changing() {
		c.wakeAt(m.Next.Hold)
	}
	if c.s.Push == nil && !c.halted() && c.push() {
		c.formTrain() // behind the changes that have left
	}
}

func (c *landing) formTrain() {
	c.facts.Order.GatherRollups()
	c.aboard, c.boarding = map[queue.ChangeID]bool{}, map[queue.ChangeID]bool{}
	if train := c.members(); !slices.Equal(train, c.s.Train) {
		c.s.Train = train
		c.touch(queue.KindMeta, queue.MetaTrain)
	}
}

// members chooses the members of the train, in order.
func (c *landing) members() []queue.ChangeID {
	at := c.facts.Links.Front()
	var train []queue.ChangeID
	line := map[queue.CommitID]bool{at: true} // where the train passes
	in := map[queue.ChangeID]bool{}
	ready := c.ready()
	defer func() { c.try(ready, in, line, at) }()
	for i := 0; i < len(ready) && len(train) < maxTrain; {
		id := ready[i]
		if group := c.facts.Order.RollupOf(id); group != nil {
			if l, ok := c.boards(at, line, group, ready, in); ok && l == nil {
				c.wants = append(c.wants, derived.Want{Base: at, Picks: group, Together: len(group)})
				for _, n := range group {
					c.boarding[n] = true
				}
				return append(train, group...)
			} else if ok {
				for _, n := range group {
					in[n], c.aboard[n] = true, true
				}
				train, at = append(train, group...), l.Commit
				line[at] = true
				ready, i = slices.DeleteFunc(ready, func(n queue.ChangeID) bool { return slices.Contains(group, n) }), 0
				continue
			}
		}
		l := c.s.Links[queue.LinkOf(at, id)]
		switch {
		case !c.mayJoin(id, in), c.hasLink(line, id, c.failsOn):
			i++ // a change that was seen to fail gets its verdict when main is there
		case c.doubtful(at, id):
			i++ // it is tried beside the train
		case l != nil && !c.facts.Links.Cleared(l):
			i++ // it waits for an approval of the protected paths that it would change here
		case l == nil && c.awaitsBuild(line, at, id, in):
			i++ // it is being built on fewer members than this, and that result may serve here
		case l == nil:
			// The next members are merged on this one, so they wait for it; all that
			// could follow are asked for in one go.
			next := c.couldFollow(ready, in, line, at)
			c.wants = append(c.wants, derived.Want{Base: at, Picks: next})
			for _, n := range next {
				c.boarding[n] = true
			}
			return append(train, next...)
		case !derived.Landable(c.facts.Links.State(l).Status) && !c.due(l):
			i++
		default:
			train = append(train, id)
			in[id], c.aboard[id] = true, true
			if !derived.Landable(c.facts.Links.State(l).Status) {
				c.boarding[id] = true // its own build is not over, and keeps its slot
			}
			at = l.Commit
			line[at] = true
			ready, i = slices.Delete(ready, i, i+1), 0 // changes that were passed over may follow now
		}
	}
	return train
}

// hasLink reports whether one of a change's links on the commits of a line meets a
// condition.
func (c *landing) hasLink(line map[queue.CommitID]bool, id queue.ChangeID, is func(*queue.Link) bool) bool {
	for l := range c.facts.Links.LinksOf[id] {
		if len(l.With) == 0 && line[l.Parent] && is(l) {
			return true
		}
	}
	return false
}

// awaitsBuild reports whether a change waits for a build of it on some commit of a line
// that ends at a commit. If its futures say already that it passes behind the members of
// the train, it does not wait: a build on fewer members may never come.
func (c *landing) awaitsBuild(line map[queue.CommitID]bool, at queue.CommitID, id queue.ChangeID, in map[queue.ChangeID]bool) bool {
	return c.hasLink(line, id, c.undecidedLink) && (c.s.Links[queue.LinkOf(at, id)] != nil || !c.facts.Futures.Passes(c.facts.Futures.Node(id), in))
}

// undecidedLink reports whether a link is undecided, and not about to be decided.
func (c *landing) undecidedLink(l *queue.Link) bool {
	return c.facts.Links.State(l).Status == derived.Unknown && !c.due(l)
}

// ready returns the changes that have been proven somewhere: those of the train
// first, then the others in order; then those that may board early, in the same
// way. While main is held, changes that repair it go first, since all others wait for
// them.
func (c *landing) ready() []queue.ChangeID {
	doubted := c.doubted()
	var out []queue.ChangeID
	seen := map[queue.ChangeID]bool{}
	early := c.early()
	proven := make([]queue.ChangeID, 0, len(c.facts.Futures.Verified))
	for id := range c.facts.Futures.Verified {
		if _, pending := c.facts.Order.Rank[id]; pending {
			proven = append(proven, id)
		}
	}
	slices.SortFunc(proven, func(a, b queue.ChangeID) int { return c.facts.Order.Rank[a] - c.facts.Order.Rank[b] })
	for i, id := range slices.Concat(c.s.Train, proven, early) {
		passed := i >= len(c.s.Train) || c.facts.Futures.Verified[id] || slices.Contains(early, id)
		if _, pending := c.facts.Order.Rank[id]; pending && passed && !doubted[id] && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	c.entering.first(out)
	slices.SortStableFunc(out, func(a, b queue.ChangeID) int { return c.unproven(a) - c.unproven(b) })
	slices.SortStableFunc(out, func(a, b queue.ChangeID) int { return c.refusals(a) - c.refusals(b) })
	if c.facts.Order.Held() {
		at, repairs := c.facts.Links.Front(), map[queue.ChangeID]int{}
		for _, id := range out {
			switch l := c.s.Links[queue.LinkOf(at, id)]; {
			case l == nil && c.facts.Futures.Verified[id] && c.facts.Order.Upheld(c.s.Changes[id], nil): // it may repair main, and be behind others that wait for the repair
				c.wants = append(c.wants, derived.Want{Base: at, Picks: []queue.ChangeID{id}})
			case l != nil && derived.Landable(c.facts.Links.State(l).Status) && c.repairs(l):
				repairs[id] = -1
			}
		}
		slices.SortStableFunc(out, func(a, b queue.ChangeID) int { return repairs[a] - repairs[b] })
	}
	return out
}

func (c *landing) unproven(id queue.ChangeID) int {
	if c.facts.Futures.Verified[id] {
		return 0
	}
	return 1
}

// doubted returns the changes with pull requests that are being looked at again, or
// put back to their heads.
func (c *landing) doubted() map[queue.ChangeID]bool {
	out := maps.Clone(c.returning)
	for _, r := range c.s.Requests {
		if ch := c.facts.Links.Active(r.Number); ch != nil && r.Command.Verb == queue.CommandRecheck && !c.guarding.holdsUp(r) {
			out[ch.ID] = true
		}
	}
	return out
}

// out reports whether a change has been seen not to land on a commit.
func (c *landing) out(at queue.CommitID, id queue.ChangeID) bool {
	l := c.s.Links[queue.LinkOf(at, id)]
	return l != nil && c.failsOn(l)
}

// failsOn reports whether a change has been seen not to land by a link.
func (c *landing) failsOn(l *queue.Link) bool {
	switch c.facts.Links.State(l).Status {
	case derived.Failed, derived.Conflicting, derived.Empty:
		return true
	}
	return false
}

// mayJoin reports whether a change may land behind the given members: either no
// undecided change ahead is in conflict with it, or it has one outcome whether those
// land or not (a bypass).
func (c *landing) mayJoin(id queue.ChangeID, in map[queue.ChangeID]bool) bool {
	n := c.facts.Futures.Node(id)
	if n == nil || c.settling.asking[id] || !c.facts.Order.Upheld(n.Ch, in) || c.facts.Order.HeldUp(id, in) {
		return false
	}
	if !slices.ContainsFunc(c.facts.Order.FirstAhead(id), func(a queue.ChangeID) bool { return !in[a] }) {
		return true
	}
	return c.facts.Futures.Passes(n, in) && c.settling.mayPass(id, in)
}

// couldFollow returns the changes that could be the next links of the train,
// behind its members and nowhere that they have been seen to fail or to wait.
func (c *landing) couldFollow(ready []queue.ChangeID, in map[queue.ChangeID]bool, line map[queue.CommitID]bool, at queue.CommitID) []queue.ChangeID {
	var out []queue.ChangeID
	with := maps.Clone(in)
	for more := true; more; {
		more = false
		for _, id := range ready {
			if len(out) == resolveChunk {
				return out
			}
			if with[id] || c.doubtful(at, id) || !c.mayJoin(id, with) || c.hasLink(line, id, c.failsOn) || c.awaitsBuild(line, at, id, with) {
				continue
			}
			out = append(out, id)
			with[id], more = true, true
		}
	}
	return out
}

// push writes the landing of the front of the train that the gate lets pass,
// and reports whether there is one.
// This is the point of no return.
func (c *landing) push() bool {
	m := c.s.Main
	var chain []*queue.Link
	at, by := m.Tip, m.Analyzer
	if c.trying(at) || c.judging.readingMain() || c.mainline.sought() {
		return false
	}
	boarded, unsure := map[queue.ChangeID]bool{}, false // unsure: a pull request is being looked at again
	for rest := c.s.Train; len(rest) > 0; {
		l, n := c.facts.Order.NextLink(at, rest)
		if l == nil || slices.ContainsFunc(l.Changes(), func(id queue.ChangeID) bool { return !c.facts.Order.Upheld(c.s.Changes[id], boarded) }) {
			break
		}
		rest = rest[n:]
		// Asking for each link alone is asking for the whole chain: at is where the link
		// before ended.
		if missing, ok := Gate(at, by, []*queue.Link{l}, c.facts.Ledger.Passed); !ok || len(missing) > 0 || !c.facts.Links.Cleared(l) || !c.mainAllows(l) || c.entering.paused(l) {
			break
		}
		for _, id := range l.Changes() {
			boarded[id] = true
			if ch := c.s.Changes[id]; !c.guarding.fresh(ch) {
				c.guarding.check(ch)
				unsure = true
			}
		}
		if !c.joins(chain, l) {
			break
		}
		if !unsure {
			chain = append(chain, l)
		}
		if at, by = l.Commit, l.Analyzer; c.awaited(at) || c.trying(at) {
			break
		}
	}
	if unsure {
		c.inspect()
	}
	if len(chain) == 0 {
		return false
	}
	p := &queue.Push{Expected: m.Tip, At: c.facts.Now}
	in := map[queue.ChangeID]bool{}
	for _, l := range chain {
		for _, id := range l.Changes() {
			in[id] = true
		}
		for _, id := range l.Changes() {
			ch := c.s.Changes[id]
			ch.Verdict = c.proof(ch, l, in)
		}
		p.Add(l)
	}
	for _, id := range p.Changes {
		ch := c.s.Changes[id]
		c.move(ch, queue.Landing, queue.Reason{Code: queue.ReasonLanding})
		ch.Shown = ch.Base != ""
		c.touchChange(ch)
		c.blaming.rethinkWith(id)
	}
	p.ID = string(digest.Of("push1", string(p.Expected), string(p.Tip()), c.facts.Now.Time().String())[:16])
	c.mainline.setPush(p)
	c.facts.Futures.Advance(p.Changes...)
	c.mainline.beginPush(p)
	c.sortOrder()
	return true
}

// awaited reports whether a result on this commit took a change out of the train. Main
// stops there once, so that the change gets its verdict on the real main, however many
// changes follow.
func (c *landing) awaited(at queue.CommitID) bool {
	for id := range c.facts.Futures.Verified {
		if _, pending := c.facts.Order.Rank[id]; pending && c.out(at, id) {
			return true
		}
	}
	return false
}

// mainAllows reports whether a change may land on main as it is. It always may if main
// is proven or has only drifted. On any other main, under `external: hold`, only a
// repair may land.
func (c *landing) mainAllows(l *queue.Link) bool {
	m := c.s.Main
	if c.facts.External() == config.ExternalTrust {
		return true
	}
	return m.Surveyed == m.Tip && (!c.facts.Order.Held() || c.repairs(l))
}

// repairs reports whether a link mends red keys of main. It replaces such a key by
// another, takes its target away, or replaces the step of an unproven key. Or it is the
// proven revert of the commit that has turned main red, even if main as it is now has
// not failed often enough to be called red.
func (c *landing) repairs(l *queue.Link) bool {
	root := c.facts.Root()
	if root == nil {
		return false
	}
	if c.hunting.takesBack(l.Change) {
		return true
	}
	facts, reds := c.facts.Links.Info(root).Facts, c.facts.Ledger.RedOn(root).Keys
	f := c.s.Footprints[l.Change]
	for i, r := range root.Keys {
		if facts[i].Passed() {
			continue
		}
		red := reds[i]
		// Only the footprint tells that the target is gone, and that is enough here:
		// the gate has the last word on what may pass.
		if red && f != nil && slices.Contains(f.Write, r.Target) && !slices.Contains(f.Affected, r.Target) {
			return true
		}
		for _, k := range l.Keys {
			if k.Target == r.Target && (red && k.Step == r.Step || k.Step != r.Step && c.succeeds(l, k, root, r)) {
				return true
			}
		}
	}
	return false
}

// succeeds reports whether a key of a link replaces a key of main of a step that the
// link's commit no longer has: the two steps have the same name, or the link's step is
// new.
func (c *landing) succeeds(l *queue.Link, k queue.Key, root *queue.Link, r queue.Key) bool {
	if _, still := c.facts.Links.Step(l, r); still {
		return false
	}
	now, ok := c.facts.Links.Step(l, k)
	before, known := c.facts.Links.Step(root, r)
	if ok && known && now.Name == before.Name {
		return true
	}
	_, old := c.facts.Links.Step(root, k)
	return !old
}

// commitsOf returns the number of commits that a link lands as, or 0 if it is one.
func commitsOf(l *queue.Link) int {
	if len(l.Between) == 0 {
		return 0
	}
	return len(l.Between) + 1
}

// proof is the verdict that tells the author why the change could land.
func (c *landing) proof(ch *queue.Change, l *queue.Link, in map[queue.ChangeID]bool) *queue.Verdict {
	v := &queue.Verdict{Commit: l.Commit, Keys: len(l.Keys), Commits: commitsOf(l)}
	for _, f := range c.facts.Links.Info(l).Facts {
		e := f.Entry
		if e == nil {
			continue
		}
		if e.Excused != 0 && len(v.Excused) < queue.MostExcused {
			v.Excused = append(v.Excused, e.Keys[0].Target)
		}
		switch {
		case e.Head:
			v.Heads++
		case !slices.Contains(l.Changes(), e.Change):
			v.Reused++
		}
		if e.Commit == l.Commit {
			v.Tested = true
		}
		if e.Excused == 0 {
			v.Attempts = max(v.Attempts, e.Tries)
		}
	}
	if !v.Tested {
		v.Between = c.facts.Links.Between(ch, l)
	}
	for _, id := range l.Changes() {
		if id != ch.ID {
			v.Together = append(v.Together, id)
		}
	}
	for _, a := range c.facts.Order.Ahead(ch.ID) {
		if !in[a] {
			v.Bypassed = append(v.Bypassed, a)
		}
	}
	for other := range c.facts.Order.ConflictsOf(ch.ID) {
		if o := c.s.Changes[other]; o != nil && o.Phase == queue.Pending && !in[other] && o.Arrival < ch.Arrival {
			v.Overtook++
		}
	}
	if root := c.facts.Root(); root != nil {
		v.MainRed = len(c.facts.Links.State(root).Missing) + len(c.facts.Links.State(root).Broken)
	}
	return v
}
