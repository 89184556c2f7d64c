package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// joined is a member of a build that is shared.
type joined struct {
	link *queue.Link
	keys []queue.Key
}

// batching reports whether changes may share builds.
func (p *slots) batching() bool {
	b := p.facts.Rules().Batch
	return b == config.BatchIndependent || b == config.BatchRollup
}

// room returns how many more changes may share the next build: one for each round of
// the slots that the changes without a slot would take.
func (p *slots) room(waiting int) int {
	if !p.batching() || p.s.Slots == 0 {
		return 0
	}
	return min(waiting/p.s.Slots, p.facts.Rules().BatchMax-1)
}

// starters returns how many of the plan's candidates are of changes that have
// had no build.
func (p *slots) starters() int {
	waiting := map[queue.ChangeID]bool{}
	for _, cand := range p.found {
		if p.starts(cand) && (cand.always || cand.value >= p.worth) {
			waiting[cand.change] = true
		}
	}
	return len(waiting)
}

// starts reports whether a candidate is the whole first build of a change.
func (p *slots) starts(cand candidate) bool {
	return cand.node != nil && cand.group == nil && !cand.spare && !cand.node.X.All && cand.node.Ch.Builds == 0 && !cand.node.Ch.Apart
}

// share makes a candidate that several changes share, out of a candidate and others of
// the plan that wait for the same slot. room is how many more changes it may hold. The
// others are used up. done is false if the chain has to be resolved first, ok is false
// if no change joins.
func (p *slots) share(cand *candidate, others []candidate, room int) (done, ok bool) {
	chain := p.companions(*cand, others, room)
	if len(chain) < 2 {
		return false, false
	}
	slices.SortFunc(chain, func(a, b queue.ChangeID) int { return cmp.Compare(p.facts.Order.Rank[a], p.facts.Order.Rank[b]) })
	last, rest, void := p.facts.Links.Walk(p.facts.Links.Front(), chain)
	if void != "" {
		return false, false
	}
	if last != nil {
		members := p.asked(p.linksOn(p.facts.Links.Front(), chain), cand.value)
		if len(members) < 2 {
			return false, false
		}
		p.merged(cand, members)
	} else {
		p.merges(rest)
	}
	for _, id := range chain {
		if id != cand.change {
			p.served[id] = true
		}
	}
	return last != nil, true
}

// assumes reports whether a candidate assumes that some change lands before it.
func (p *slots) assumes(cand candidate) bool {
	return len(cand.chain) > 0 || slices.Contains(cand.takes, true)
}

// longestBatch is how many times longer a shared build may be predicted to take
// than the longest build in it would alone.
const longestBatch = 2.0

// companions returns the changes that share a candidate's build, its own first: in
// the order of the plan, each without conflict with the changes before it.
func (p *slots) companions(cand candidate, others []candidate, room int) []queue.ChangeID {
	in := []queue.ChangeID{cand.change}
	if p.assumes(cand) {
		return in
	}
	longest := cand.node.Ch.Predicted
	total := longest
	for _, x := range others {
		if len(in) > room {
			break
		}
		if !p.starts(x) || p.assumes(x) || p.served[x.change] || !x.always && x.value < p.worth || slices.Contains(in, x.change) {
			continue
		}
		took := x.node.Ch.Predicted
		if float64(total+took) > longestBatch*float64(max(longest, took)) || p.rationed(x) ||
			slices.ContainsFunc(in, func(id queue.ChangeID) bool { return p.facts.Order.ConflictsOf(x.change)[id] }) {
			continue
		}
		in, total, longest = append(in, x.change), total+took, max(longest, took)
	}
	return in
}

// rationed reports whether a candidate has to wait for its quotas.
func (p *slots) rationed(cand candidate) bool {
	_, full := p.facts.Quotas.Full(p.facts.Quotas.PortionsOf(cand.node.Ch))
	return full
}

// linksOn returns the links of a chain that is resolved.
func (p *slots) linksOn(at queue.CommitID, chain []queue.ChangeID) []*queue.Link {
	links := make([]*queue.Link, len(chain))
	for i, id := range chain {
		links[i] = p.s.Links[queue.LinkOf(at, id)]
		if links[i].Outcome == queue.Merged {
			at = links[i].Commit
		}
	}
	return links
}

// asked returns the keys that one build of the last of some links, one on the other,
// has to verify for each link. It is nil where a result could belong to more than one
// link, or would differ from the result of the link alone. The last link must be among
// them.
func (p *slots) asked(links []*queue.Link, value float64) []joined {
	owner := map[string]bool{}
	var out []joined
	for _, l := range links {
		if l.Outcome != queue.Merged || l.Steps != links[0].Steps || slices.ContainsFunc(l.Gone, func(t string) bool { return owner[t] }) {
			return nil
		}
		mine := map[string]bool{}
		for _, k := range l.Keys {
			if owner[k.Target] {
				return nil
			}
			if st, known := p.facts.Links.Step(l, k); !p.facts.Links.WholeTree(l, k) && (!known || !st.NamesTargets()) {
				return nil
			}
			if !p.facts.Links.WholeTree(l, k) {
				mine[k.Target] = true
			}
		}
		for t := range mine {
			owner[t] = true
		}
	}
	for _, l := range links {
		st := p.facts.Links.State(l)
		if st.Status != derived.Unknown {
			continue
		}
		m := joined{link: l}
		for _, k := range derived.Without(st.Missing, st.Tree) {
			if f := p.facts.Ledger.Keys[k.ID()]; f != nil && f.Build != nil {
				p.credit(f.Build, value)
				continue
			}
			m.keys = append(m.keys, k)
		}
		if len(m.keys) > 0 {
			out = append(out, m)
		}
	}
	if len(out) == 0 || out[len(out)-1].link != links[len(links)-1] {
		return nil
	}
	return out
}

// merged makes a candidate of several members.
func (p *slots) merged(cand *candidate, members []joined) {
	last := len(members) - 1
	if cand.lead == nil {
		cand.lead = p.facts.Futures.Node(cand.change)
	}
	cand.link, cand.change, cand.also, cand.keys = members[last].link, members[last].link.Change, nil, nil
	cand.node = p.facts.Futures.Node(cand.change)
	for i, m := range members {
		cand.keys = append(cand.keys, m.keys...)
		if i < last {
			cand.also = append(cand.also, m.link.Change)
		}
	}
}

// spanOf predicts how long one build of several changes' keys takes: the longest
// set-up, and the work of each one after the other. Work that is the same counts once.
func (p *slots) spanOf(ids []queue.ChangeID, keys []queue.Key) time.Duration {
	if len(ids) == 1 {
		n := p.facts.Futures.Node(ids[0])
		if n == nil {
			return 0
		}
		p.facts.Futures.Weigh(n)
		return n.Span(p.partOf(n, keys))
	}
	fixed, took := 0.0, 0.0
	left := keys
	for _, id := range ids {
		n := p.facts.Futures.Node(id)
		if n == nil {
			continue
		}
		p.facts.Futures.Weigh(n)
		whole := n.Ch.Predicted.Seconds()
		fixed = max(fixed, derived.FixedShare*whole)
		took += max(0, n.Span(p.partOf(n, left)).Seconds()-derived.FixedShare*whole)
		var rest []queue.Key
		for _, k := range left {
			if t, ok := p.facts.Futures.Assumed.Numbers[k.Target]; !ok || !n.X.Touches(t) {
				rest = append(rest, k)
			}
		}
		left = rest
	}
	return time.Duration(math.Round((fixed+took)*1e3)) * time.Millisecond
}

// occupyAlso takes the places of the changes that share a build.
func (p *slots) occupyAlso(cand candidate) {
	if len(p.facts.Quotas.Quotas()) > 0 {
		for _, id := range cand.also {
			p.facts.Quotas.Ration().Take(p.facts.Quotas.PortionsOf(p.s.Changes[id]))
		}
	}
}

// over reports whether no change of a build waits for it any more.
func (p *slots) over(b *queue.Build) bool {
	return !slices.ContainsFunc(b.For(), func(id queue.ChangeID) bool {
		ch := p.s.Changes[id]
		return ch != nil && !ch.Phase.Final() && ch.Phase != queue.Parked
	})
}

// pendingIn reports whether a build is for a change that is still in the order.
func (p *slots) pendingIn(b *queue.Build) bool {
	return slices.ContainsFunc(b.For(), func(id queue.ChangeID) bool {
		ch := p.s.Changes[id]
		return ch != nil && ch.Phase == queue.Pending
	})
}
