package plan

import (
	"cmp"
	"hash/fnv"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const (
	sampleNeed = 0.4 // chance of a target to be needed on the likeliest future, below which it is sampled
	samplePass = 0.6 // chance that a sample passes, at least
)

// sample returns the future of a change's first build if its likeliest one would tell next to
// nothing: deep in the line of a hot target some change ahead is almost surely bad, and all
// builds behind it fail alike, until they are made again without it, and fail for the next. So
// only some of the changes ahead are assumed to land that affect none but such targets, as many
// as pass together with a fair chance. These differ from change to change. From the results of
// many such builds at once follows which changes are to blame (package culprit). Other targets
// are built on the likeliest future as always. The returned future is nil if the likeliest
// future is good enough, a build of that value is not wanted, or the model knows more than an
// average.
func (p *planning) sample(n *derived.Node, edges []derived.Edge, f *Future, value float64) *Future {
	if value < p.worth || n.Ch.Builds > 0 || n.X.All || f.Status != derived.Unknown || !p.facts.Beliefs.Model.Cold() || p.facts.Without(config.IngredientSamples) {
		return nil
	}
	low := derived.Resize(p.marked, len(f.Needed))
	p.marked = low
	for i, q := range f.Needed {
		low[i] = q < sampleNeed && f.By[i] == derived.Unknown
	}
	takes := slices.Clone(f.takes)
	var free []draw
	for i := range edges {
		e := &edges[i]
		if !takes[i] || e.Below || len(e.Shared) == 0 || slices.ContainsFunc(e.Shared, func(at int) bool { return !low[at] }) {
			continue
		}
		takes[i] = false
		free = append(free, draw{edge: i, at: lot(n.ID, e.To.ID)})
	}
	slices.SortFunc(free, func(a, b draw) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.edge, b.edge)) })
	pass, in := p.facts.Beliefs.Good(n.ID), 0
	for k, d := range free {
		e := &edges[d.edge]
		q := pass * p.facts.Beliefs.Good(e.To.ID) * (1 - e.Q)
		for _, other := range free[:k] {
			if q < samplePass {
				break
			}
			if takes[other.edge] {
				q *= 1 - p.facts.Beliefs.PairChance(edges[other.edge].To.ID, e.To.ID)
			}
		}
		if q >= samplePass {
			pass = q
			takes[d.edge] = true
			in++
		}
	}
	if in == len(free) || !p.sound(edges, takes) {
		return nil
	}
	g := &Future{}
	if p.See(n, edges, takes, g); g.Status != derived.Unknown {
		return nil
	}
	g.Needed, g.mean = slices.Clone(f.Needed), f.mean
	p.makeDeal(g, edges, true, &g.deal)
	return g
}

// draw is a change ahead that a sample may leave out, and its place in the draw.
type draw struct {
	edge int
	at   uint64
}

// lot is the place of a change ahead in the draw for the sample of another: as good as random,
// and always the same.
func lot(id, ahead queue.ChangeID) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id))
	_, _ = h.Write([]byte(ahead))
	return h.Sum64()
}
