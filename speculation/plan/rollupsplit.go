package plan

import (
	"math"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// part splits the rollups that have failed, frees changes that are not to blame, and
// gives up rollups that make no sense any more.
func (p *rollups) part() {
	p.facts.Order.GatherRollups()
	sets := p.facts.Order.Rollups()
	slices.SortFunc(sets, func(a, b queue.ChangeID) int {
		return p.facts.Order.Rank[p.facts.Order.Members(a)[0]] - p.facts.Order.Rank[p.facts.Order.Members(b)[0]]
	})
	var fresh [][]queue.ChangeID
	for _, at := range sets {
		switch group := p.facts.Order.Members(at); {
		case len(group) < 2: // the others have gone
			p.propose(Free{Members: group})
		case !p.facts.Order.Alike(group...):
			p.propose(Free{Members: group})
		case !p.holds(group):
			p.propose(Part{Rollup: group[0], Unsettled: true})
		case p.s.Changes[group[0]].After != "":
			p.turn(group)
		default:
			fresh = append(fresh, group)
		}
	}
	for _, ch := range p.facts.Order.Pending {
		if ch.After != "" && ch.Rollup == "" {
			p.turn([]queue.ChangeID{ch.ID})
		}
	}
	for i, group := range fresh {
		if p.facts.Order.RollupOf(group[0]) == nil {
			continue // freed by a rollup before it
		}
		if bad := p.bad(group); len(bad) > 0 {
			p.split(group, bad)
			p.strand(group, fresh[i+1:])
		}
	}
}

// strand frees the rollups behind a failed one, and stops builds that assume that it
// lands and can show nothing else.
func (p *rollups) strand(failed []queue.ChangeID, behind [][]queue.ChangeID) {
	for _, group := range behind {
		if p.facts.Order.ConflictsOf(group[0])[failed[0]] {
			p.propose(Free{Members: group})
		}
	}
	for _, live := range p.facts.Builds.Building {
		l := p.s.Links[live.Link]
		if live.Cancel || l == nil || live.Subject == nil || slices.ContainsFunc(failed, func(id queue.ChangeID) bool { return !slices.Contains(l.Chain, id) }) {
			continue
		}
		if x := p.facts.Futures.AffectedBy(live.Subject.ID); x != nil && x.All {
			p.slots.stop(live.Build)
		}
	}
}

// turn looks at the rest of a rollup that has failed. While the first part is being
// tried it waits. When the first part has landed, the rest must be what fails, and is
// split in turn. When the first part fails or is gone, the rest is freed.
func (p *rollups) turn(rest []queue.ChangeID) {
	first := p.s.Changes[p.s.Changes[rest[0]].After]
	switch {
	case p.facts.Rules().Batch != config.BatchRollup || first == nil:
	case first.Phase == queue.Pending && !p.facts.Order.Alike(first.ID, rest[0]): // one may land now, and the other must wait
	case first.Phase == queue.Landed || first.Phase == queue.Landing:
		if bad := p.bad(rest); len(bad) > 0 {
			p.split(rest, bad)
			return
		}
	case first.Phase == queue.Pending && p.overtakes(rest, p.set(first.ID)): // each would wait for the other
	case first.Phase == queue.Pending:
		set := p.set(first.ID)
		if len(p.bad(set)) > 0 {
			p.propose(Free{Members: rest, By: set})
			return
		}
		if first.After != "" || len(p.failing(slices.Concat(set, rest))) > 0 {
			return
		}
	}
	p.propose(Free{Members: rest})
}

// overtakes reports whether some of the rest of a rollup stands before some of those that are tried first
// by now: a command, a lane or a stack has moved it.
func (p *rollups) overtakes(rest, first []queue.ChangeID) bool {
	rank := p.facts.Order.Rank
	return slices.ContainsFunc(rest, func(r queue.ChangeID) bool {
		return slices.ContainsFunc(first, func(f queue.ChangeID) bool { return rank[r] < rank[f] })
	})
}

// set returns the changes that are tried with a change, itself among them.
func (p *rollups) set(id queue.ChangeID) []queue.ChangeID {
	if group := p.facts.Order.RollupOf(id); group != nil {
		return group
	}
	return []queue.ChangeID{id}
}

// split has so many of the first members tried that their chance to be good is nearest
// one half, given the targets that the changes fail on. A change that affects none of
// these is not to blame.
func (p *rollups) split(group []queue.ChangeID, bad []int) {
	if len(group) == 1 {
		p.propose(Divide{First: group})
		return
	}
	chances := p.chances(group)
	for i, id := range group {
		if x := p.facts.Futures.AffectedBy(id); x != nil && !slices.ContainsFunc(bad, x.Touches) {
			chances[i] = 1 - derived.MinChance
		}
	}
	n, _ := splitAt(chances)
	p.propose(Divide{First: slices.Clone(group[:n]), Rest: slices.Clone(group[n:])})
}

// bad returns the targets on which changes are assumed to fail together on main as it
// will be. There are none while the changes are being built, or are better built once
// more because the failure is probably a flake.
func (p *rollups) bad(group []queue.ChangeID) []int {
	bad := p.failing(group)
	if len(bad) == 0 || len(group) == 1 {
		return bad
	}
	decided := false
	for _, t := range bad {
		st, k := p.facts.Futures.Look(p.markOf(t, group))
		decided = decided || st == derived.Failed || k == nil
		if st == derived.Failed || k == nil {
			continue
		}
		if slices.ContainsFunc(k.From[0].Facts, p.runsAgain) {
			return nil
		}
	}
	if !decided && p.flaked(group, bad) {
		return nil
	}
	return bad
}

// runsAgain reports whether a key has failed, alone or in a set, and is being built.
func (p *rollups) runsAgain(f *derived.Fact) bool {
	if f.Build == nil {
		return false
	}
	return f.Entry != nil && len(f.Entry.Failures) > 0 || slices.ContainsFunc(f.Sets, func(id queue.Digest) bool {
		e := p.s.Ledger[id]
		return e != nil && len(e.Failures) > 0
	})
}

// failing returns the targets on which changes have failed together on main as it will
// be, and not passed since.
func (p *rollups) failing(group []queue.ChangeID) []int {
	var bad []int
	for _, id := range group {
		n := p.facts.Futures.Node(id)
		if n == nil {
			return nil
		}
		for _, t := range n.X.Targets {
			if slices.Contains(bad, t) {
				continue
			}
			if st, k := p.facts.Futures.Look(p.markOf(t, group)); st == derived.Failed || k != nil && k.Work().Doubted {
				bad = append(bad, t)
			}
		}
	}
	if len(bad) > 0 {
		return bad
	}
	// A set of keys that failed together is not known by target.
	if l := p.s.Links[queue.LinkOf(p.facts.Links.Front(), group...)]; l != nil && l.Outcome == queue.Merged {
		if st := p.facts.Links.State(l); len(st.Shaken) > 0 && st.Status != derived.Verified {
			for _, id := range group {
				bad = append(bad, p.facts.Futures.Node(id).X.Targets...)
			}
			slices.Sort(bad)
			bad = slices.Compact(bad)
		}
	}
	return bad
}

// markOf returns the assumption key of a target on main as it will be, with changes.
func (p *rollups) markOf(target int, group []queue.ChangeID) derived.Mark {
	m := p.facts.Futures.Assumed.At(target)
	for _, id := range group {
		if x := p.facts.Futures.AffectedBy(id); x != nil && x.Touches(target) {
			m ^= x.Mark
		}
	}
	return m
}

// flaked reports whether building a failed rollup once more is expected to cost less than
// splitting it, by the share of the results of its targets that were flakes lately. A
// split of sound changes takes a build for each halving.
func (p *rollups) flaked(group []queue.ChangeID, bad []int) bool {
	flakes := 0.0
	for _, t := range bad {
		name := p.facts.Futures.Assumed.Names[t]
		if t == derived.Everything {
			name = config.TargetTree
		}
		for _, s := range p.s.Main.Config.Steps {
			if d := p.s.Durations[derived.DurationID(s.Name, name)]; d != nil {
				flakes = max(flakes, d.Flaked)
			}
		}
	}
	good := 1.0
	for _, q := range p.chances(group) {
		good *= q
	}
	share := good * flakes / (good*flakes + 1 - good)
	return share*(1+math.Ceil(math.Log2(float64(len(group))))) > 1
}

// holds reports whether a rollup is to be kept. No rollup is kept while main is held:
// changes that repair main land alone, before all others.
func (p *rollups) holds(group []queue.ChangeID) bool {
	if p.facts.Rules().Batch != config.BatchRollup || p.facts.Order.Held() {
		return false
	}
	for i, id := range group {
		ch := p.s.Changes[id]
		if n := p.facts.Futures.Node(id); n == nil || ch.Spent >= p.facts.Allowance(false) || p.clashes(id, group[:i]) {
			return false
		}
	}
	for _, id := range p.facts.Order.IDs[p.facts.Order.Rank[group[0]]:p.facts.Order.Rank[group[len(group)-1]]] {
		if !slices.Contains(group, id) && slices.ContainsFunc(group, func(m queue.ChangeID) bool { return p.facts.Order.ConflictsOf(m)[id] }) {
			return false // it would wait for some members, and other members would wait for it
		}
	}
	if l := p.s.Links[queue.LinkOf(p.facts.Links.Front(), group...)]; l != nil && l.Outcome != queue.Merged {
		return false
	}
	return true
}

// sift drops the candidates of a change, from a place in the list on, that its rollup or
// one ahead makes needless. Such a change is built with the other members, or not before
// the change to blame for their failure is known, or only where the changes ahead
// probably land.
func (p *rollups) sift(n *derived.Node, from int) {
	if p.facts.Rules().Batch != config.BatchRollup {
		return
	}
	if len(n.Edges) == 0 && MindOf(n).Deal.Doubted {
		MindOf(n).Odds = min(MindOf(n).Odds, doubtful)
	}
	if a, waits := p.heldUp(n); waits {
		p.found = p.found[:from]
		p.answers.answer(n, a)
		return
	}
	if p.facts.Order.RollupOf(n.ID) != nil {
		p.found = p.found[:from]
		return
	}
	if slices.ContainsFunc(n.Edges, func(e derived.Edge) bool { return e.To.Ch.Rollup != "" }) {
		kept := p.found[:from]
		for _, cand := range p.found[from:] {
			if cand.aim.first() {
				kept = append(kept, cand)
			}
		}
		p.found = kept
	}
}

// heldUp reports whether a change waits for a rollup that has failed, its own or one
// ahead, or for one ahead that is not likely enough to land. It returns the answer for
// the change.
func (p *rollups) heldUp(n *derived.Node) (Answer, bool) {
	if n.Ch.After != "" {
		return Answer{Code: queue.ReasonWaitsSplit}, true
	}
	joint := false
	for i := range n.Edges {
		ch := n.Edges[i].To.Ch
		if ch.After != "" {
			return Answer{Code: queue.ReasonWaitsSplit}, true
		}
		joint = joint || ch.Rollup != ""
	}
	if joint && MindOf(n).Likely.mean < rollupLikely {
		return Answer{Code: queue.ReasonWaitsUnlikely, Value: MindOf(n).Likely.mean, Least: rollupLikely}, true
	}
	return Answer{Code: queue.ReasonWaitsKnown, Known: derived.Failed}, false
}

// badOn reports whether a rollup has failed behind the changes that it assumes to land.
func (p *rollups) badOn(group []queue.ChangeID, base []*derived.Node) bool {
	all := make([]queue.ChangeID, 0, len(base)+len(group))
	for _, n := range base {
		all = append(all, n.ID)
	}
	all = append(all, group...)
	for _, id := range group {
		for _, t := range p.facts.Futures.Node(id).X.Targets {
			if st, k := p.facts.Futures.Look(p.markOf(t, all)); st == derived.Failed || k != nil && k.Work().Doubted {
				return true
			}
		}
	}
	return false
}
