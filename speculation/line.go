package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Of the line: how likely changes break a step on the whole tree, and what is
// done about those that probably do.
//
// What stands behind such a change on the train is built in vain, so a change
// that probably breaks a step is no member: it is tried on the train's last
// commit, aside, while the others follow on that same commit. If it passes
// there, it is a member like any other; if it fails, main stops at that commit
// once, and it has its verdict on the real main. Where steps fail often enough,
// changes are also checked alone while their first build runs, so that it is
// known before they board.
const (
	treePrior    = 0.05 // share of the rejections that a step on the whole tree alone is the reason of, before there were any
	treePriorOf  = 4    // rejections that the share before any counts for
	treeCleared  = 0.1  // of the chance that remains once a change has passed with nothing undecided below it
	treeBroken   = 0.95 // chance of a change that has failed with nothing undecided below it
	treeDoubtful = 0.5  // chance above which a change is no member of the train
	maxTrials    = 16   // changes that are tried aside at a time
)

// trial is a change that is tried on a commit of the train.
type trial struct {
	at queue.CommitID
	id queue.ChangeID
}

// odds is what one turn works out of changes and the steps on the whole tree.
type odds struct {
	counted  bool
	share    float64 // of rejections for which such a step is the only reason
	breaking map[queue.ChangeID]float64
	trials   []trial
}

// hasTreeSteps reports whether main has steps on the whole tree.
func (c *Core) hasTreeSteps() bool {
	return c.s.Main.Config != nil && slices.ContainsFunc(c.s.Main.Config.Steps, func(s config.Step) bool { return s.Scope == config.ScopeRepository })
}

// treeTime predicts how long main's steps on the whole tree take, one after the
// other.
func (c *Core) treeTime() time.Duration {
	var d time.Duration
	for _, s := range c.s.Main.Config.Steps {
		if s.Scope == config.ScopeRepository {
			d += c.duration(s.Name, config.TargetTree)
		}
	}
	return d
}

// treeShare returns the share of the remembered rejections for which only steps
// on the whole tree were the reason.
func (c *Core) treeShare() float64 {
	if c.tree.counted {
		return c.tree.share
	}
	whole := map[string]bool{}
	for _, s := range c.s.Main.Config.Steps {
		if s.Scope == config.ScopeRepository {
			whole[s.Name] = true
		}
	}
	all, tree := 0, 0
	for _, ch := range c.s.Changes {
		if ch.Phase != queue.Rejected || ch.Reason.Code != queue.ReasonFailed {
			continue
		}
		if all++; !slices.ContainsFunc(ch.Reason.Names, func(n string) bool { return !whole[n] }) {
			tree++
		}
	}
	c.tree.counted = true
	c.tree.share = (float64(tree) + treePrior*treePriorOf) / float64(all+treePriorOf)
	return c.tree.share
}

// breaks is the chance that a change fails a step on the whole tree on the train,
// given that its own targets pass: what its prediction leaves for that, and what
// such steps have shown of it.
func (c *Core) breaks(id queue.ChangeID) float64 {
	if q, known := c.tree.breaking[id]; known {
		return q
	}
	q := 1 - c.model.Good(c.s.Changes[id])
	if !(q > 0) {
		q = 0
	}
	q = unshown(min(q, 1), c.treeShare())
	switch c.shown(id) {
	case verified:
		q *= treeCleared
	case failed:
		q = max(q, treeBroken)
	}
	if c.tree.breaking == nil {
		c.tree.breaking = map[queue.ChangeID]float64{}
	}
	c.tree.breaking[id] = q
	return q
}

// shown says what steps on the whole tree have shown of a change: verified where
// they have passed with it, failed where they have failed with it and nothing
// else can be the reason, else unknown.
func (c *Core) shown(id queue.ChangeID) status {
	st := unknown
	for l := range c.linksOf[id] {
		if len(l.With) > 0 {
			continue
		}
		switch c.treeStatus(l) {
		case verified:
			return verified
		case failed:
			if c.clean(l) {
				st = failed
			}
		}
	}
	return st
}

// treeStatus says what is known of a link's keys on the whole tree; unknown, too,
// where it has none.
func (c *Core) treeStatus(l *queue.Link) status {
	all := unknown
	for i, f := range c.info(l).facts {
		if !c.wholeTree(l, l.Keys[i]) {
			continue
		}
		switch {
		case f.decisive:
			return failed
		case !f.passed():
			return unknown
		}
		all = verified
	}
	return all
}

// clean reports whether what a link stands on passes the steps on the whole tree:
// main, or a commit where they have passed.
func (c *Core) clean(l *queue.Link) bool {
	below := c.linkTo(l.Parent)
	return below == nil || c.s.Changes[below.Change] == nil || c.s.Changes[below.Change].Phase == queue.Landed ||
		c.treeStatus(below) == verified
}

// doubtful reports whether a change is left out of the train because it probably
// breaks a step on the whole tree. Where it has passed it is not.
func (c *Core) doubtful(at queue.CommitID, id queue.ChangeID) bool {
	if c.without(config.IngredientTrials) || !c.hasTreeSteps() || c.breaks(id) <= treeDoubtful {
		return false
	}
	l := c.s.Links[queue.LinkOf(at, id)]
	return l == nil || c.state(l).status != verified
}

// try chooses the commits on which doubtful changes are tried: where they are
// being tried already, else on the last one of the line.
func (c *Core) try(ready []queue.ChangeID, in map[queue.ChangeID]bool, line map[queue.CommitID]bool, end queue.CommitID) {
	c.tree.trials = c.tree.trials[:0]
	for _, id := range ready {
		if len(c.tree.trials) == maxTrials {
			return
		}
		if in[id] || !c.doubtful(end, id) || !c.mayJoin(id, in) || c.meets(line, id, c.failsOn) {
			continue
		}
		var on *queue.Link
		for l := range c.linksOf[id] {
			if len(l.With) == 0 && line[l.Parent] && c.state(l).status == treeKeysOnly && (on == nil || cmp.Or(cmp.Compare(l.At, on.At), cmp.Compare(l.ID, on.ID)) > 0) {
				on = l
			}
		}
		switch {
		case on != nil:
			c.boarding[id] = true
			c.tree.trials = append(c.tree.trials, trial{on.Parent, id})
		case c.s.Links[queue.LinkOf(end, id)] == nil:
			c.boarding[id] = true
			c.wants = append(c.wants, want{base: end, picks: []queue.ChangeID{id}})
		}
	}
}

// trying reports whether a change is being tried on a commit: main waits there
// for what that shows, as it would for a member.
func (c *Core) trying(at queue.CommitID) bool {
	return slices.ContainsFunc(c.tree.trials, func(t trial) bool {
		if t.at != at {
			return false
		}
		l := c.s.Links[queue.LinkOf(at, t.id)]
		return l != nil && slices.ContainsFunc(c.info(l).facts, func(f *fact) bool { return f.build != nil })
	})
}

// train considers the keys on the whole tree of the links about to land, of what
// is tried beside them, and of what is checked before it boards. A link is worth
// what the chance is that nobody before it on the train fails, the more the
// shorter the steps are beside the change's own build, which has been spent
// already.
func (p *planning) train() {
	if !p.hasTreeSteps() && len(p.s.Train) == 0 {
		return
	}
	at := p.front()
	chance := 1.0
	chanceAt := map[queue.CommitID]float64{at: 1}
	for i, n := 0, 0; i < len(p.s.Train); i += n {
		var l *queue.Link
		if l, n = p.nextLink(at, p.s.Train[i:]); l == nil || l.Outcome != queue.Merged {
			break
		}
		id, st := l.Change, p.state(l)
		if st.status == treeKeysOnly {
			p.consider(candidate{link: l, change: id, also: slices.Clone(l.With), chain: p.s.Train[:i], value: p.trainValue(id, chance),
				aim: aim{kind: queue.WorthTrain}, always: chance == 1}, st.tree)
		}
		if st.status == unknown { // it boards early
			chance *= p.good(id)
			if chance >= p.worth {
				p.consider(candidate{link: l, change: id, chain: p.s.Train[:i], value: chance, spare: true,
					aim: aim{kind: queue.WorthEarly}}, st.tree)
			}
		}
		if len(st.tree) > 0 {
			for _, each := range l.Changes() {
				chance *= 1 - p.breaks(each)
			}
		}
		at = l.Commit
		chanceAt[at] = chance
	}
	for _, t := range p.tree.trials {
		l := p.s.Links[queue.LinkOf(t.at, t.id)]
		if st := p.state(l); st.status == treeKeysOnly {
			_, chain := p.under(l)
			p.consider(candidate{link: l, change: t.id, chain: chain, value: p.trainValue(t.id, chanceAt[t.at]), always: chanceAt[t.at] == 1,
				aim: aim{kind: queue.WorthTrial}}, st.tree)
		}
	}
	p.probe()
}

// trainValue is what a build on the train is worth.
func (p *planning) trainValue(id queue.ChangeID, chance float64) float64 {
	ch := p.s.Changes[id]
	value := chance * p.benefit(ch)
	if !p.without(config.IngredientAging) {
		value *= 1 + p.now.Sub(ch.Arrival).Hours()
	}
	return value * max(minGain, min(valueTrain, ch.Predicted.Seconds()/max(p.treeTime().Seconds(), 1)))
}

// minGain is how many times more a build on the train is worth at least than a
// first build: enough to have its slot.
const minGain = preemptGain

// probe considers checking changes alone while their first build runs. A change
// that fails on the train has whoever follows it built again, so that it is known
// before is worth its chance to fail, once for each of those.
func (p *planning) probe() {
	if p.without(config.IngredientTrials) || !p.hasTreeSteps() {
		return
	}
	follow := float64(p.following())
	for _, live := range p.building {
		b := live.Build
		l := p.s.Links[b.Link]
		if _, pending := p.rank[b.Change]; !pending || b.Cancel || l == nil || p.Aboard[b.Change] || !p.onLine(l) {
			continue
		}
		st := p.state(l)
		if len(st.tree) == 0 || st.status == failed || p.shown(b.Change) != unknown {
			continue
		}
		p.consider(candidate{link: l, change: b.Change, value: min(1, p.breaks(b.Change)*follow),
			aim: aim{kind: queue.WorthProbe}}, st.tree)
	}
}

// onLine reports whether a link stands on main as it is or was.
func (c *Core) onLine(l *queue.Link) bool {
	return l.Since.Epoch == c.s.Main.Line.Epoch && len(l.Chain) == 0
}

// following is how many changes come behind one on the train while its step
// runs: as many as ride now, or have arrived in as much time.
func (p *planning) following() int {
	n, from := 0, p.now.Add(-p.treeTime())
	for _, id := range p.order {
		if p.s.Changes[id].Arrival > from {
			n++
		}
	}
	return max(n, len(p.s.Train))
}
