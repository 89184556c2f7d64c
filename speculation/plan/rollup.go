package plan

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const rollupWaiting = 0.1 // share of the slots that must wait for each member but the first

const rollupShared = 0.5 // share of a newcomer's work that it must have in common with the others, and that must be left to build if it has been built before

const rollupSound = 0.62 // least chance of a member: searching pays where less than (3-sqrt 5)/2 fail

const rollupLikely = 0.65 // least chance that a rollup's base comes true: 0.6 takes a tenth more builds and gains a tenth in P95

const rollupClash = 0.5 // chance of a pair above which the two changes do not stay together

// joint follows a chain and then the merge of several changes at once, as Walk does for
// a single change.
func (p *rollups) joint(base queue.CommitID, chain, members []queue.ChangeID) (last *queue.Link, rest derived.Want, void queue.ChangeID) {
	at := base
	for i, id := range chain {
		l := p.s.Links[queue.LinkOf(at, id)]
		if l == nil {
			return nil, derived.Want{Base: at, Picks: append(slices.Clone(chain[i:]), members...), Together: len(members)}, ""
		}
		switch l.Outcome {
		case queue.MergeFailed:
			return nil, derived.Want{}, id
		case queue.Merged:
			at = l.Commit
		}
	}
	if l := p.s.Links[queue.LinkOf(at, members...)]; l != nil {
		return l, derived.Want{}, ""
	}
	return nil, derived.Want{Base: at, Picks: slices.Clone(members), Together: len(members)}, ""
}

// crewSize is how many changes one more rollup may have, by the number of changes that
// wait for their first build without a slot.
func (p *rollups) crewSize(waiting int) int {
	if p.facts.Rules().Batch != config.BatchRollup || p.s.Slots == 0 || p.facts.Order.Held() {
		return 0
	}
	return min(1+int(float64(waiting)/(rollupWaiting*float64(p.s.Slots))), p.facts.Rules().BatchMax)
}

// opens reports whether a candidate is of a change that others could join.
func (p *rollups) opens(cand candidate) bool {
	return cand.node != nil && cand.group == nil && !cand.spare && cand.aim.first() && p.free(cand.node)
}

// crowd returns how many changes wait that could be in a rollup.
func (p *rollups) crowd() int {
	if p.facts.Rules().Batch != config.BatchRollup {
		return 0
	}
	waiting := 0
	for _, id := range p.facts.Order.IDs {
		if n := p.facts.Futures.Nodes[id]; n != nil && p.free(n) {
			waiting++
		}
	}
	return waiting
}

// gather joins other changes of its lane to a change that is about to be built. They
// also wait, and share most of their work with it. It takes the number with the fewest
// expected builds for each change that lands, at most size. The joined changes take
// their places in the order behind the first. gather reports whether there are any.
func (p *rollups) gather(cand candidate, size int) bool {
	first := cand.node
	if size < 2 || p.slots.assumes(cand) && MindOf(first).Likely.mean < rollupLikely || p.sound(first.ID) < rollupSound {
		return false
	}
	group, union := []queue.ChangeID{first.ID}, map[int]bool{}
	for _, t := range first.X.Targets {
		union[t] = true
	}
	with := p.facts.Order.ConflictsOf(first.ID)
	for _, id := range p.facts.Order.IDs[p.facts.Order.Rank[first.ID]+1:] {
		if len(group) == size {
			break
		}
		n := p.facts.Futures.Node(id)
		if !with[id] || n == nil || !p.free(n) || n.Ch.Lane != first.Ch.Lane || !p.facts.Order.Alike(first.ID, id) || p.common(n, union) < rollupShared || p.sound(id) < rollupSound ||
			!p.placed(n.Ch, first.Ch, group) || !p.mayOvertake(n.Ch, first.Ch, group) || p.clashes(id, group) {
			continue
		}
		group = append(group, id)
		for _, t := range n.X.Targets {
			union[t] = true
		}
	}
	group = group[:bestSize(p.chances(group), p.again())]
	if len(group) < 2 {
		return false
	}
	p.propose(Together{group})
	for _, id := range group {
		p.served[id] = true
	}
	return true
}

// free reports whether a change could be in a rollup: its targets are known, and all of
// them wait to be built, or most of them to be built again.
func (p *rollups) free(n *derived.Node) bool {
	return n.Ch.Parent == 0 && !n.Ch.Pinned() && n.Ch.Method == "" && n.Ch.Rollup == "" && n.Ch.After == "" && n.Ch.Refused == nil && !n.Ch.Alone && !n.Ch.Apart && !n.Ch.Stale &&
		MindOf(n).busyIn != p.Plans && MindOf(n).Plan == p.Plans && !p.facts.Futures.Verified[n.ID] && !p.served[n.ID] &&
		(n.Ch.Builds == 0 || MindOf(n).Deal.unknown.Share >= rollupShared && !MindOf(n).Deal.Doubted)
}

// placed reports whether no change in conflict with a change would come between
// the members of a rollup that has a place in the order.
func (p *rollups) placed(ch, at *queue.Change, group []queue.ChangeID) bool {
	before := func(x, y *queue.Change) bool {
		return cmp.Or(cmp.Compare(x.Arrival, y.Arrival), cmp.Compare(x.ID, y.ID)) < 0
	}
	for id := range p.facts.Order.ConflictsOf(ch.ID) {
		if o := p.s.Changes[id]; o != nil && o.Phase == queue.Pending && o.Virtual == at.Virtual && before(at, ch) == before(at, o) && before(o, ch) == before(at, ch) &&
			o != at && !slices.Contains(group, id) {
			return false
		}
	}
	return true
}

// common is the share of a change's work that is on some targets.
func (p *rollups) common(n *derived.Node, targets map[int]bool) float64 {
	p.facts.Futures.Weigh(n)
	q := 0.0
	for i, t := range n.X.Targets {
		if targets[t] {
			q += n.Share[i]
		}
	}
	return q
}

// mayOvertake reports whether a change may take its place behind another, before
// the changes in between. It must stay within the bounds of the order, and may not pass
// a conflicting change that has been built or that it probably breaks with.
func (p *rollups) mayOvertake(ch, first *queue.Change, group []queue.ChangeID) bool {
	rules := p.facts.Rules()
	for _, id := range p.facts.Order.IDs[p.facts.Order.Rank[first.ID]+1 : p.facts.Order.Rank[ch.ID]] {
		o := p.s.Changes[id]
		if slices.Contains(group, id) || !p.facts.Order.ConflictsOf(ch.ID)[id] {
			continue
		}
		if rules.Order == config.OrderArrival || o.Builds > 0 || ch.Arrival.Sub(o.Arrival) > rules.MaxOvertake || p.facts.Beliefs.PairChance(ch.ID, id) > ProbablyBreaks {
			return false
		}
	}
	return true
}

// joints considers the rollups of which the plan has reached all members.
func (p *rollups) joints() {
	for _, at := range p.facts.Order.Rollups() {
		group := p.facts.Order.Members(at)
		if !slices.ContainsFunc(group, func(id queue.ChangeID) bool {
			return p.s.Changes[id].After != "" || MindOf(p.facts.Futures.Node(id)).Plan != p.Plans
		}) {
			p.rollup(group)
		}
	}
}

// rollup considers a rollup on its members' likeliest future.
func (p *rollups) rollup(group []queue.ChangeID) {
	if slices.ContainsFunc(group, func(id queue.ChangeID) bool { return p.Aboard[id] || p.Boarding[id] }) {
		return
	}
	if slices.ContainsFunc(group, func(id queue.ChangeID) bool { return p.s.Changes[id].Stale }) {
		for _, id := range group {
			p.answers.answer(p.facts.Futures.Node(id), Answer{Code: queue.ReasonAnalyzing})
		}
		return // their footprints are being made again
	}
	var base []*derived.Node
	value, first := 0.0, true
	for _, id := range group {
		n := p.facts.Futures.Node(id)
		for i := range n.Edges {
			to := n.Edges[i].To
			if MindOf(n).Takes[i] && !slices.Contains(group, to.ID) && !slices.Contains(base, to) {
				base = append(base, to)
			}
		}
		worth := MindOf(n).Likely.mean * p.facts.Benefit(n.Ch)
		if !p.facts.Without(config.IngredientAging) {
			worth *= 1 + p.facts.Now.Sub(n.Ch.Arrival).Hours()
		}
		value += worth
		first = first && n.Ch.Builds == 0
	}
	slices.SortFunc(base, func(a, b *derived.Node) int { return cmp.Compare(p.facts.Order.Rank[a.ID], p.facts.Order.Rank[b.ID]) })
	open, busy := p.jointState(group, base)
	if a, waits := p.heldUp(p.facts.Futures.Node(group[0])); waits || len(base) > 0 && p.badOn(group, base) {
		for _, id := range group {
			p.answers.answer(p.facts.Futures.Node(id), a)
		}
		return
	}
	for _, b := range busy {
		p.credit(b, value)
	}
	if !open && len(base) == 0 && len(busy) == 0 {
		p.jointOnMain(group, value)
	}
	if !open {
		a := Answer{kind: queue.WorthTogether, Code: queue.ReasonWaitsBuild}
		switch {
		case len(busy) > 0:
		case len(base) == 0:
			a.Code = queue.ReasonWaitsResolve
		default:
			a.Code = queue.ReasonWaitsKnown
		}
		for _, id := range group {
			p.answers.answer(p.facts.Futures.Node(id), a)
		}
		return
	}
	last := p.facts.Futures.Node(group[len(group)-1])
	var chain []queue.ChangeID
	var due queue.Instant
	for _, n := range base {
		chain = append(chain, n.ID)
		if MindOf(n).Plan == p.Plans {
			due = max(due, MindOf(n).End)
		}
	}
	if !first && len(chain) > 0 && p.early(last, MindOf(last).Deal.unknown, due, aim{kind: queue.WorthTogether}) {
		for _, id := range group {
			p.answers.answer(p.facts.Futures.Node(id), MindOf(last).Said)
		}
		return
	}
	p.found = append(p.found, candidate{change: last.ID, node: last, group: group, chain: chain, value: value, always: len(chain) == 0,
		aim: aim{kind: queue.WorthTogether}})
}

// jointOnMain asks for the merge itself, and for the keys that it still lacks, if
// the assumption keys leave none open and no verdict follows.
func (p *rollups) jointOnMain(group []queue.ChangeID, value float64) {
	l, rest, _ := p.joint(p.facts.Links.Front(), nil, group)
	if l == nil {
		p.merges(rest)
		return
	}
	if st := p.facts.Links.State(l); st.Status == derived.Unknown {
		p.consider(candidate{link: l, change: l.Change, also: slices.Clone(l.With), value: value, always: true,
			aim: aim{kind: queue.WorthTogether}}, derived.Without(st.Missing, st.Tree))
	}
}

// jointState says by assumption keys whether a rollup on a future has an open target,
// one that is unknown and that no build verifies, and which builds verify the rest. A
// rollup that has failed there has no open target.
func (p *rollups) jointState(group []queue.ChangeID, base []*derived.Node) (open bool, busy []*queue.Build) {
	seen := map[int]bool{}
	for _, id := range group {
		for _, t := range p.facts.Futures.Node(id).X.Targets {
			if seen[t] {
				continue
			}
			seen[t] = true
			m := p.facts.Futures.Assumed.At(t)
			for _, other := range group {
				if x := p.facts.Futures.Node(other).X; x.Touches(t) {
					m ^= x.Mark
				}
			}
			for _, n := range base {
				if n.X.Touches(t) {
					m ^= n.X.Mark
				}
			}
			switch st, k := p.facts.Futures.Look(m); {
			case st == derived.Failed:
				return false, nil
			case st == derived.Verified:
			case k == nil:
				open = true
			default:
				w := k.Work()
				open = open || w.Idle
				for _, b := range w.Busy {
					if !slices.Contains(busy, b) {
						busy = append(busy, b)
					}
				}
			}
		}
	}
	return open, busy
}

// mergeJoint finds the link of a rollup's candidate, as merge does for a candidate of
// one change.
func (p *rollups) mergeJoint(cand *candidate) bool {
	l, rest, void := p.joint(p.facts.Links.Front(), cand.chain, cand.group)
	if void != "" {
		return true // its members will not be assumed any more
	}
	if l == nil {
		p.merges(rest)
		return false
	}
	if l.Outcome != queue.Merged {
		p.propose(Part{Rollup: cand.change, Unsettled: true})
		return true
	}
	cand.link, cand.also = l, slices.Clone(l.With)
	if st := p.facts.Links.State(l); st.Status == derived.Unknown {
		for _, k := range derived.Without(st.Missing, st.Tree) {
			if f := p.facts.Ledger.Keys[k.ID()]; f != nil && f.Build != nil {
				p.credit(f.Build, cand.value)
				continue
			}
			cand.keys = append(cand.keys, k)
		}
	}
	return true
}
