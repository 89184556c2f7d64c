package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// aim is the purpose of a candidate.
type aim struct {
	kind queue.WorthKind
	odds float64 // of its future relative to the likeliest one; 0: it is the likeliest
}

// first reports whether a build is of the future that a change is to land on, or a sample in
// its place: other builds are for the case that this future does not come.
func (a aim) first() bool {
	switch a.kind {
	case queue.WorthFlip, queue.WorthLate, queue.WorthSpare:
		return false
	}
	return true
}

// aging is the factor by which a build is worth more because its change has waited.
func (p *answers) aging(ch *queue.Change) float64 {
	if p.facts.Without(config.IngredientAging) {
		return 1
	}
	return min(1+p.facts.Now.Sub(ch.Arrival).Hours(), queue.MostAging)
}

// rounded makes numbers independent of the order of computing, since they are
// stored.
func rounded(q float64) float64 { return math.Round(q*1e12) / 1e12 }

// worthOf writes down why a candidate is started, as the plan has it now.
func (p *answers) worthOf(cand *candidate) queue.Worth {
	w := queue.Worth{Kind: cand.aim.kind, Rank: cand.rank, Rivals: len(p.found), Running: len(p.s.Builds), Slots: p.s.Slots}
	n := p.facts.Futures.Node(cand.change)
	if cand.lead != nil {
		n = cand.lead
	}
	all := cand.link.Changes()
	if len(all) == 1 && len(cand.also) > 0 {
		all = append(slices.Clone(cand.also), all...)
	}
	if len(all) > 1 {
		w.With = all
	}
	if cand.aim.kind == queue.WorthTogether {
		w.AllGood, w.PerLanding, w.OneByOne = p.rollups.sized(all)
	}
	if w.Covers = p.covers(cand); w.Kind.Whole() || n == nil {
		w.Fixed = cand.value
		return w
	}
	w.Needed, w.Odds, w.Aging = 1, rounded(cand.aim.odds), rounded(p.aging(n.Ch))
	w.Lane, w.Project = p.facts.Benefits(n.Ch)
	if w.Kind == queue.WorthAlone {
		return w
	}
	w.Needed = MindOf(n).Likely.mean
	switch {
	case cand.spare:
	case w.Kind == queue.WorthFlip:
		w.Threshold = rounded(p.leastFlip(n.ID))
	default:
		w.Threshold = rounded(p.worth)
	}
	if !MindOf(n).Deal.first && !cand.spare {
		w.Single = rounded(p.single)
	}
	w.Lands, w.Fails, w.Assumes = outcomes(n, cand.takes)
	w.Least = p.leastNeeded(n)
	return w
}

// outcomes returns how many of the changes ahead land in a future and how many do not.
// list has the least certain of the outcomes that concern the change's targets or
// differ from the likeliest future.
func outcomes(n *derived.Node, takes []bool) (lands, fails int, list []queue.Assumption) {
	for i := range n.Edges {
		a := queue.Assumption{Change: n.Edges[i].To.ID, Lands: takes[i], Chance: MindOf(n).chance[i], Flipped: takes[i] != MindOf(n).Takes[i]}
		if a.Flipped {
			a.Chance = 1 - a.Chance
		}
		a.Chance = rounded(a.Chance)
		if a.Lands {
			lands++
		} else {
			fails++
		}
		if a.Flipped || len(n.Edges[i].Shared) > 0 {
			list = append(list, a)
		}
	}
	slices.SortStableFunc(list, func(a, b queue.Assumption) int { return cmp.Compare(a.Chance, b.Chance) })
	return lands, fails, slices.Clip(list[:min(len(list), queue.MostAssumed)])
}

// leastNeeded returns the targets of a change that are needed least on its
// likeliest future, or none if all are needed alike.
func (p *answers) leastNeeded(n *derived.Node) []queue.Need {
	var out []queue.Need
	most := 0.0
	for i, q := range MindOf(n).Likely.Needed {
		if q = rounded(q); q > most {
			most = q
		}
		out = append(out, queue.Need{Target: p.facts.Futures.Assumed.Names[n.X.Targets[i]], Chance: q})
	}
	out = slices.DeleteFunc(out, func(x queue.Need) bool { return x.Chance == most })
	slices.SortFunc(out, func(a, b queue.Need) int {
		return cmp.Or(cmp.Compare(a.Chance, b.Chance), cmp.Compare(a.Target, b.Target))
	})
	return slices.Clip(out[:min(len(out), queue.MostNeeds)])
}

// covers counts the targets of a candidate's commit by their state: passed, asked for
// here, verified by other builds, or left.
func (p *answers) covers(cand *candidate) queue.Coverage {
	const passed, left, shared, asked = 0, 1, 2, 3
	by := map[string]int{}
	tree := cand.aim.kind.Whole() && cand.aim.kind != queue.WorthTogether
	for i, f := range p.facts.Links.Info(cand.link).Facts {
		k := cand.link.Keys[i]
		if p.facts.Links.WholeTree(cand.link, k) && !tree {
			continue
		}
		st := left
		switch {
		case f.Passed():
			st = passed
		case slices.Contains(cand.keys, k):
			st = asked
		case f.Build != nil:
			st = shared
		}
		by[k.Target] = max(by[k.Target], st)
	}
	for _, k := range cand.keys { // those of other changes, too
		by[k.Target] = asked
	}
	var count [4]int
	for _, st := range by {
		count[st]++
	}
	return queue.Coverage{Asked: count[asked], Shared: count[shared], Passed: count[passed], Left: count[left]}
}
