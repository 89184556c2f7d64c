package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A rollup (config.BatchRollup) lands changes that depend on each other as one
// merge: its first parent is main, its tree has the members merged one after the
// other, and what would have been between them is never on main's first-parent
// line, so nobody has to verify it. It is one link with several changes; the gate
// and the train take it as any other. It is used under heavy overload only,
// because one failure holds up all members, and one who joins goes before others
// that came before it.
//
// Who is in a rollup is written down in the changes (Change.Rollup), and is a
// proposal only: each member stays in the order as itself, is built on by those
// behind it as itself, and is rejected as itself, by its own link on main as it
// is. A rollup that fails is kept while its base is to blame, and given up when
// its members probably are.

// When changes are joined, and when they part.
const (
	rollupWaiting = 0.1 // share of the slots that must wait for each member but the first
	rollupShared  = 0.5 // share of a newcomer's work that the others have, too
	rollupChance  = 0.9 // least chance that all land together
	rollupAverage = 0.8 // the same while nothing is known of changes but an average
	rollupDoubt   = 0.5 // chance below which it is given up
)

// gatherRollups finds out who is in which rollup: the members in order, each in
// its rollup's list. It holds until the order or a member changes.
func (c *Core) gatherRollups() {
	clear(c.rollups)
	for _, ch := range c.pending {
		if at := ch.Rollup; at != "" {
			c.rollups[at] = append(c.rollups[at], ch.ID)
		}
	}
}

// rollupOf returns the members of a change's rollup, itself among them; none
// where it is alone.
func (c *Core) rollupOf(id queue.ChangeID) []queue.ChangeID {
	if len(c.rollups) == 0 {
		return nil
	}
	if ch := c.s.Changes[id]; ch != nil && ch.Rollup != "" && len(c.rollups[ch.Rollup]) > 1 {
		return c.rollups[ch.Rollup]
	}
	return nil
}

// partners returns the others of a change's rollup, by id.
func (c *Core) partners(ch *queue.Change) []queue.ChangeID {
	if ch.Rollup == "" || ch.Phase.Final() {
		return nil
	}
	var out []queue.ChangeID
	if group := c.rollups[ch.Rollup]; len(group) > 1 {
		out = slices.DeleteFunc(slices.Clone(group), func(id queue.ChangeID) bool { return id == ch.ID })
	} else {
		for id, o := range c.s.Changes {
			if o.Rollup == ch.Rollup && id != ch.ID {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}

// dissolve gives up the rollup of a change, if it has one: each member is alone
// again, and what has been learnt of their targets stays.
func (c *Core) dissolve(ch *queue.Change) {
	if ch == nil || ch.Rollup == "" {
		return
	}
	at := ch.Rollup
	delete(c.rollups, at)
	for _, id := range sorted(c.s.Changes) {
		if o := c.s.Changes[id]; o.Rollup == at {
			o.Rollup, o.Alone = "", true
			c.touch(queue.KindChange, string(o.ID))
		}
	}
}

// joint follows a chain and then the merge of several changes at once, as walk
// does for one.
func (c *Core) joint(base queue.CommitID, chain, members []queue.ChangeID) (last *queue.Link, rest want, void queue.ChangeID) {
	at := base
	for i, id := range chain {
		l := c.s.Links[queue.LinkOf(at, id)]
		if l == nil {
			return nil, want{base: at, picks: append(slices.Clone(chain[i:]), members...), together: len(members)}, ""
		}
		switch l.Outcome {
		case queue.MergeFailed:
			return nil, want{}, id
		case queue.Merged:
			at = l.Commit
		}
	}
	if l := c.s.Links[queue.LinkOf(at, members...)]; l != nil {
		return l, want{}, ""
	}
	return nil, want{base: at, picks: slices.Clone(members), together: len(members)}, ""
}

// part gives up the rollups that no longer make sense.
func (p *planning) part() {
	p.gatherRollups()
	for _, at := range sorted(p.rollups) {
		if group := p.rollups[at]; !p.holds(group) {
			p.propose(part{rollup: group[0], unsettled: true})
		}
	}
	for _, ch := range p.pending { // whose others have gone
		if ch.Rollup != "" && len(p.rollups[ch.Rollup]) < 2 {
			p.propose(part{rollup: ch.ID})
		}
	}
}

// holds reports whether a rollup is to be kept. There is none while main is held:
// what repairs it lands alone, before all others.
func (p *planning) holds(group []queue.ChangeID) bool {
	if p.rules().Batch != config.BatchRollup || len(group) < 2 || p.held() {
		return false
	}
	for i, id := range group {
		ch := p.s.Changes[id]
		if n := p.node(id); n == nil || n.x.all || ch.Stale || ch.Builds >= (p.rules().BuildsPerChange+1)/2 {
			return false
		}
		for _, other := range group[:i] {
			if p.pairChance(id, other) > 1-rollupDoubt {
				return false
			}
		}
	}
	if p.allGood(group) < rollupDoubt {
		return false
	}
	for _, id := range p.order[p.rank[group[0]]:p.rank[group[len(group)-1]]] {
		if !slices.Contains(group, id) && slices.ContainsFunc(group, func(m queue.ChangeID) bool { return p.conflictsOf(m)[id] }) {
			return false // it would wait for some of them, and the others for it
		}
	}
	if l := p.s.Links[queue.LinkOf(p.front(), group...)]; l != nil {
		switch p.state(l).status {
		case failed, conflicting, empty:
			return false // nothing is assumed: it is their own fault
		}
	}
	return true
}

// allGood is the chance that some changes are green together.
func (c *Core) allGood(group []queue.ChangeID) float64 {
	q := 1.0
	for i, id := range group {
		q *= c.good(id)
		for _, other := range group[:i] {
			q *= 1 - c.pairChance(id, other)
		}
	}
	return q
}

// crewSize is how many changes one more rollup may have, going by how many wait
// for their first build without a slot.
func (p *planning) crewSize(waiting int) int {
	if p.rules().Batch != config.BatchRollup || p.s.Slots == 0 || p.held() {
		return 0
	}
	return min(1+int(float64(waiting)/(rollupWaiting*float64(p.s.Slots))), p.rules().BatchMax)
}

// gather joins to a change that is about to have its first build, and takes nobody
// to land before it, others of its lane that wait for theirs and share most of
// their work with it. They take their place in the order behind it. It reports
// whether there are any.
func (p *planning) gather(cand candidate, size int) bool {
	first := cand.node
	if size < 2 || p.assumes(cand) || !p.free(first) || !p.placed(first.ch, first.ch, nil) {
		return false
	}
	chance := rollupChance
	if p.model.Cold() {
		chance = rollupAverage
	}
	group, union := []queue.ChangeID{first.id}, map[int]bool{}
	for _, t := range first.x.targets {
		union[t] = true
	}
	with := p.conflictsOf(first.id)
	for _, id := range p.order {
		if len(group) == size {
			break
		}
		n := p.node(id)
		if !with[id] || p.rank[id] < p.rank[first.id] || n == nil || n == first || !p.free(n) ||
			n.ch.Lane != first.ch.Lane || p.common(n, union) < rollupShared ||
			!p.placed(n.ch, first.ch, group) || !p.mayOvertake(n.ch, first.ch, group) || p.allGood(append(group[:len(group):len(group)], id)) < chance {
			continue
		}
		group = append(group, id)
		for _, t := range n.x.targets {
			union[t] = true
		}
	}
	if len(group) < 2 {
		return false
	}
	p.propose(together{group})
	for _, id := range group {
		p.served[id] = true
	}
	return true
}

// free reports whether a change could be in a rollup: it waits for its first
// build, and what it affects is known.
func (p *planning) free(n *node) bool {
	return n.ch.Builds == 0 && n.ch.Parent == 0 && n.ch.Method == "" && n.ch.Rollup == "" && n.ch.Refused == nil && !n.ch.Alone && !n.ch.Apart && !n.ch.Stale && !n.x.all && mindOf(n).busyIn != p.plans &&
		!p.verified[n.id] && !p.served[n.id]
}

// placed reports whether nobody in conflict with a change would be among the
// members of a rollup that has a place in the order.
func (p *planning) placed(ch, at *queue.Change, group []queue.ChangeID) bool {
	for id := range p.conflictsOf(ch.ID) {
		if o := p.s.Changes[id]; o != nil && o != at && o.Phase == queue.Pending && o.Virtual == at.Virtual && !slices.Contains(group, id) {
			return false
		}
	}
	return true
}

// common is the share of a change's work that is on some targets.
func (p *planning) common(n *node, targets map[int]bool) float64 {
	p.weigh(n)
	q := 0.0
	for i, t := range n.x.targets {
		if targets[t] {
			q += n.share[i]
		}
	}
	return q
}

// mayOvertake reports whether a change may take its place behind another, before
// those in between: within the bounds of the order, and before nobody that it
// probably breaks or that has been built without it.
func (p *planning) mayOvertake(ch, first *queue.Change, group []queue.ChangeID) bool {
	rules := p.rules()
	for _, id := range p.order[p.rank[first.ID]+1 : p.rank[ch.ID]] {
		o := p.s.Changes[id]
		if slices.Contains(group, id) || !p.conflictsOf(ch.ID)[id] {
			continue
		}
		if rules.Order == config.OrderArrival || o.Builds > 0 || ch.Arrival.Sub(o.Arrival) > rules.MaxOvertake || p.pairChance(ch.ID, id) > probablyBreaks {
			return false
		}
	}
	return true
}

// joints considers the rollups whose members the plan has come to.
func (p *planning) joints() {
	for _, at := range sorted(p.rollups) {
		group := p.rollups[at]
		if !slices.ContainsFunc(group, func(id queue.ChangeID) bool { return mindOf(p.node(id)).plan != p.plans }) {
			p.rollup(group)
		}
	}
}

// rollup considers a rollup on its members' likeliest future.
func (p *planning) rollup(group []queue.ChangeID) {
	if slices.ContainsFunc(group, func(id queue.ChangeID) bool { return p.Aboard[id] || p.Boarding[id] }) {
		return
	}
	var base []*node
	value, first := 0.0, true
	for _, id := range group {
		n := p.node(id)
		for i := range n.edges {
			to := n.edges[i].to
			if mindOf(n).takes[i] && !slices.Contains(group, to.id) && !slices.Contains(base, to) {
				base = append(base, to)
			}
		}
		worth := mindOf(n).likely.mean * p.benefit(n.ch)
		if !p.without(config.IngredientAging) {
			worth *= 1 + p.now.Sub(n.ch.Arrival).Hours()
		}
		value += worth
		first = first && n.ch.Builds == 0
	}
	slices.SortFunc(base, func(a, b *node) int { return cmp.Compare(p.rank[a.id], p.rank[b.id]) })
	open, busy := p.jointState(group, base)
	for _, b := range busy {
		p.credit(b, value)
	}
	if !open && len(base) == 0 && len(busy) == 0 {
		p.jointOnMain(group, value)
	}
	if !open {
		a := answer{kind: queue.WorthTogether, code: queue.ReasonWaitsBuild}
		switch {
		case len(busy) > 0:
		case len(base) == 0:
			a.code = queue.ReasonWaitsResolve
		default:
			a.code = queue.ReasonWaitsKnown
		}
		for _, id := range group {
			p.answer(p.node(id), a)
		}
		return
	}
	last := p.node(group[len(group)-1])
	var chain []queue.ChangeID
	var due queue.Instant
	for _, n := range base {
		chain = append(chain, n.id)
		if mindOf(n).plan == p.plans {
			due = max(due, mindOf(n).end)
		}
	}
	if !first && len(chain) > 0 && p.early(last, mindOf(last).deal.unknown, due, aim{kind: queue.WorthTogether}) {
		for _, id := range group {
			p.answer(p.node(id), mindOf(last).said)
		}
		return
	}
	p.found = append(p.found, candidate{change: last.id, node: last, group: group, chain: chain, value: value, always: len(chain) == 0,
		aim: aim{kind: queue.WorthTogether}})
}

// jointOnMain asks for what the merge itself has left to show, where the
// assumption keys say that nothing is left and nothing comes of that.
func (p *planning) jointOnMain(group []queue.ChangeID, value float64) {
	l, rest, _ := p.joint(p.front(), nil, group)
	if l == nil {
		p.merges(rest)
		return
	}
	if st := p.state(l); st.status == unknown {
		p.consider(candidate{link: l, change: l.Change, also: slices.Clone(l.With), value: value, always: true,
			aim: aim{kind: queue.WorthTogether}}, without(st.missing, st.tree))
	}
}

// jointState says by assumption keys whether a rollup on a future has a target
// left that is not known and that no build verifies, and which builds verify the
// rest. One that has failed there has nothing left.
func (p *planning) jointState(group []queue.ChangeID, base []*node) (open bool, busy []*queue.Build) {
	seen := map[int]bool{}
	for _, id := range group {
		for _, t := range p.node(id).x.targets {
			if seen[t] {
				continue
			}
			seen[t] = true
			m := p.assumed.at(t)
			for _, other := range group {
				if x := p.node(other).x; x.touches(t) {
					m ^= x.mark
				}
			}
			for _, n := range base {
				if n.x.touches(t) {
					m ^= n.x.mark
				}
			}
			switch st, k := p.look(m); {
			case st == failed:
				return false, nil
			case st == verified:
			case k == nil:
				open = true
			default:
				by, idle := k.work()
				open = open || idle
				for _, b := range by {
					if !slices.Contains(busy, b) {
						busy = append(busy, b)
					}
				}
			}
		}
	}
	return open, busy
}

// mergeJoint finds the link of a rollup's candidate, as merge does for one
// change's.
func (p *planning) mergeJoint(cand *candidate) bool {
	l, rest, void := p.joint(p.front(), cand.chain, cand.group)
	if void != "" {
		return true // its members will not be assumed any more
	}
	if l == nil {
		p.merges(rest)
		return false
	}
	if l.Outcome != queue.Merged {
		p.propose(part{rollup: cand.change, unsettled: true})
		return true
	}
	cand.link, cand.also = l, slices.Clone(l.With)
	if st := p.state(l); st.status == unknown {
		for _, k := range without(st.missing, st.tree) {
			if f := p.facts[k.ID()]; f != nil && f.build != nil {
				p.credit(f.build, cand.value)
				continue
			}
			cand.keys = append(cand.keys, k)
		}
	}
	return true
}

// boards returns the link by which a rollup could be the next of the train: nil
// where it is not merged there yet. ok is false where it cannot be.
func (c *Core) boards(at queue.CommitID, line map[queue.CommitID]bool, group []queue.ChangeID, ready []queue.ChangeID, in map[queue.ChangeID]bool) (l *queue.Link, ok bool) {
	if len(group) == 0 {
		return nil, false
	}
	with := make(map[queue.ChangeID]bool, len(in)+len(group))
	for id := range in {
		with[id] = true
	}
	for _, id := range group {
		with[id] = true
	}
	for _, id := range group {
		if in[id] || !slices.Contains(ready, id) || !c.mayJoin(id, with) {
			return nil, false
		}
	}
	for p := range line {
		if l := c.s.Links[queue.LinkOf(p, group...)]; l != nil && !landable(c.state(l).status) {
			return nil, false // it is being built on less than this, or has failed there
		}
	}
	return c.s.Links[queue.LinkOf(at, group...)], true
}

// nextLink returns the link of the next changes of a train on a commit, nil where
// there is none, and how many they are.
func (c *Core) nextLink(at queue.CommitID, train []queue.ChangeID) (*queue.Link, int) {
	if group := c.rollupOf(train[0]); len(group) > 0 && len(group) <= len(train) && slices.Equal(group, train[:len(group)]) {
		if l := c.s.Links[queue.LinkOf(at, group...)]; l != nil && landable(c.state(l).status) {
			return l, len(group)
		}
	}
	return c.s.Links[queue.LinkOf(at, train[0])], 1
}
