package speculation

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Under overload, first builds of changes that have no target in common share
// one build (config.BatchIndependent). It runs on the chain of all of them, and
// is asked for what each link of the chain has to show; as no later link changes
// or removes what an earlier one asks for, each result is of its key as in any
// other build, and is one change's. That is read from the links; footprints
// only say which are tried.
//
// What it saves is what a build costs whatever it builds, and what it costs is
// that the results of all come when the last is through. So a build is shared
// only when about a whole round of the slots waits behind it, and only by changes
// that take nobody to land before them: what rests on a guess had better be short.

// joined is a member of a build that is shared.
type joined struct {
	link *queue.Link
	keys []queue.Key
}

// batching reports whether changes may share builds.
func (c *Core) batching() bool {
	b := c.rules().Batch
	return b == config.BatchIndependent || b == config.BatchRollup
}

// room returns how many more changes may share the next build, going by how many
// wait without a slot: one for each round of the slots that they would take.
func (p *planning) room(waiting int) int {
	if !p.batching() || p.s.Slots == 0 {
		return 0
	}
	return min(waiting/p.s.Slots, p.rules().BatchMax-1)
}

// starters returns how many of the plan's candidates are of changes that have
// had no build.
func (p *planning) starters() int {
	waiting := map[queue.ChangeID]bool{}
	for _, cand := range p.found {
		if p.starts(cand) && (cand.always || cand.value >= p.worth) {
			waiting[cand.change] = true
		}
	}
	return len(waiting)
}

// starts reports whether a candidate is the whole first build of a change.
func (p *planning) starts(cand candidate) bool {
	return cand.node != nil && cand.group == nil && !cand.spare && !cand.node.x.all && cand.node.ch.Builds == 0 && !cand.node.ch.Apart
}

// share makes of a candidate one for several changes, with others of the plan
// that wait for the same slot: room is how many more it may hold. The others
// are used up. done is false where the chain has to be resolved first; ok, where
// nobody joins.
func (p *planning) share(cand *candidate, others []candidate, room int) (done, ok bool) {
	chain := p.companions(*cand, others, room)
	if len(chain) < 2 {
		return false, false
	}
	slices.SortFunc(chain, func(a, b queue.ChangeID) int { return cmp.Compare(p.rank[a], p.rank[b]) })
	last, rest, void := p.walk(p.front(), chain)
	if void != "" {
		return false, false
	}
	if last != nil {
		members := p.asked(p.linksOn(p.front(), chain), cand.value)
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

// assumes reports whether a candidate takes somebody to land before it.
func (p *planning) assumes(cand candidate) bool {
	return len(cand.chain) > 0 || slices.Contains(cand.takes, true)
}

// longestBatch is how many times longer a shared build may be predicted to take
// than the longest build in it would alone.
const longestBatch = 2.0

// companions returns who shares a candidate's build, itself first: in the order
// of the plan, those without conflict with who is in it.
func (p *planning) companions(cand candidate, others []candidate, room int) []queue.ChangeID {
	in := []queue.ChangeID{cand.change}
	if p.assumes(cand) {
		return in
	}
	longest := cand.node.ch.Predicted
	total := longest
	for _, x := range others {
		if len(in) > room {
			break
		}
		if !p.starts(x) || p.assumes(x) || p.served[x.change] || !x.always && x.value < p.worth || slices.Contains(in, x.change) {
			continue
		}
		took := x.node.ch.Predicted
		if float64(total+took) > longestBatch*float64(max(longest, took)) || p.rationed(x) ||
			slices.ContainsFunc(in, func(id queue.ChangeID) bool { return p.conflictsOf(x.change)[id] }) {
			continue
		}
		in, total, longest = append(in, x.change), total+took, max(longest, took)
	}
	return in
}

// rationed reports whether a candidate has to wait for its quotas.
func (p *planning) rationed(cand candidate) bool {
	_, full := p.full(p.portionsOf(cand.node.ch))
	return full
}

// linksOn returns the links of a chain that is resolved.
func (c *Core) linksOn(at queue.CommitID, chain []queue.ChangeID) []*queue.Link {
	links := make([]*queue.Link, len(chain))
	for i, id := range chain {
		links[i] = c.s.Links[queue.LinkOf(at, id)]
		if links[i].Outcome == queue.Merged {
			at = links[i].Commit
		}
	}
	return links
}

// asked returns what each of some links, one on the other, has to show in one
// build of the last: nil where a result could be more than one's, or would not
// be what the link by itself shows. The last must be among them.
func (p *planning) asked(links []*queue.Link, value float64) []joined {
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
			if st, known := p.step(l, k); !p.wholeTree(l, k) && (!known || !st.NamesTargets()) {
				return nil
			}
			if !p.wholeTree(l, k) {
				mine[k.Target] = true
			}
		}
		for t := range mine {
			owner[t] = true
		}
	}
	for _, l := range links {
		st := p.state(l)
		if st.status != unknown {
			continue
		}
		m := joined{link: l}
		for _, k := range without(st.missing, st.tree) {
			if f := p.facts[k.ID()]; f != nil && f.build != nil {
				p.credit(f.build, value)
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
func (p *planning) merged(cand *candidate, members []joined) {
	last := len(members) - 1
	if cand.lead == nil {
		cand.lead = p.node(cand.change)
	}
	cand.link, cand.change, cand.also, cand.keys = members[last].link, members[last].link.Change, nil, nil
	cand.node = p.node(cand.change)
	for i, m := range members {
		cand.keys = append(cand.keys, m.keys...)
		if i < last {
			cand.also = append(cand.also, m.link.Change)
		}
	}
}

// spanOf predicts how long one build of several changes' keys takes: the longest
// set-up, and the work of each one after the other, but what is the same once.
func (p *planning) spanOf(ids []queue.ChangeID, keys []queue.Key) time.Duration {
	if len(ids) == 1 {
		n := p.node(ids[0])
		if n == nil {
			return 0
		}
		p.weigh(n)
		return n.span(p.partOf(n, keys))
	}
	fixed, took := 0.0, 0.0
	left := keys
	for _, id := range ids {
		n := p.node(id)
		if n == nil {
			continue
		}
		p.weigh(n)
		whole := n.ch.Predicted.Seconds()
		fixed = max(fixed, fixedShare*whole)
		took += max(0, n.span(p.partOf(n, left)).Seconds()-fixedShare*whole)
		var rest []queue.Key
		for _, k := range left {
			if t, ok := p.assumed.numbers[k.Target]; !ok || !n.x.touches(t) {
				rest = append(rest, k)
			}
		}
		left = rest
	}
	return time.Duration(math.Round((fixed+took)*1e3)) * time.Millisecond
}

// occupyAlso takes the places of those who share a build.
func (p *planning) occupyAlso(cand candidate) {
	if len(p.quotas()) > 0 {
		for _, id := range cand.also {
			p.ration().take(p.portionsOf(p.s.Changes[id]))
		}
	}
}

// ownerOf returns the change of a build that a key is asked for, going by what
// changes affect: whose result people are told that it is.
func (c *Core) ownerOf(b *queue.Build, k queue.Key) queue.ChangeID {
	for _, id := range b.Also {
		if x := c.affectedBy(id); x != nil && !x.all && x.touches(c.assumed.number(k.Target)) {
			return id
		}
	}
	return b.Change
}

// over reports whether nobody that a build is for waits for it any more.
func (c *Core) over(b *queue.Build) bool {
	return !slices.ContainsFunc(b.For(), func(id queue.ChangeID) bool {
		ch := c.s.Changes[id]
		return ch != nil && !ch.Phase.Final() && ch.Phase != queue.Parked
	})
}

// decided reports whether all changes that a build was for have their verdicts.
func (c *Core) decided(b *queue.Build) bool {
	return b.Change != "" && !slices.ContainsFunc(b.For(), func(id queue.ChangeID) bool {
		ch := c.s.Changes[id]
		return ch == nil || !ch.Phase.Final()
	})
}

// pendingIn reports whether a build is for a change that is still in the order.
func (c *Core) pendingIn(b *queue.Build) bool {
	return slices.ContainsFunc(b.For(), func(id queue.ChangeID) bool {
		ch := c.s.Changes[id]
		return ch != nil && ch.Phase == queue.Pending
	})
}

// noteBuild writes something about a build into the history of each change that
// it is for.
func (c *Core) noteBuild(b *queue.Build, n queue.Note) {
	n.Build, n.Commit = b.ID, b.Commit
	for _, id := range b.For() {
		n.Change, n.Number = id, 0
		if ch := c.s.Changes[id]; ch != nil {
			n.Number = ch.Number
		}
		c.note(n)
	}
	if b.Change == "" {
		c.note(n)
	}
}
