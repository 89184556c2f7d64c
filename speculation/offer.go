package speculation

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// offer makes a candidate of what is not known of a future, as far as it is
// worth it, and gives the builds that run the rest their credit.
func (p *planning) offer(n *node, edges []edge, f *future, value float64, need queue.Instant, why string) status {
	if f.status != unknown {
		return f.status
	}
	base := taken(edges, f.takes)
	cand := candidate{change: n.id, chain: base, value: value, why: why, always: len(edges) == 0}
	if f.blind > 0 {
		l, _, void := p.walk(p.front(), append(slices.Clone(base), n.id))
		if l != nil && void == "" {
			return p.offerReal(n, f, cand, l)
		}
	}
	first := p.s.Changes[n.id].Builds == 0 || f.spare
	var verifying queue.Instant
	share := 0.0
	only := map[string]bool{}
	for i, t := range n.x.targets {
		if f.by[i] != unknown {
			continue
		}
		open := f.known[i] == nil
		if k := f.known[i]; k != nil {
			var busy []*queue.Build
			busy, open = p.work(k)
			for _, b := range busy {
				p.credit[b] = max(p.credit[b], value)
				verifying = max(verifying, p.expected(b))
			}
		}
		if open && (first || cand.always || f.needed[i] >= p.single) {
			only[p.assumed.names[t]] = true
			share += n.share[i]
		}
	}
	if len(only) == 0 {
		return unknown
	}
	if !n.x.all {
		cand.only = only
	}
	if !first && !cand.always && p.early(n, share, max(p.due(n, edges, only), verifying)) {
		return unknown
	}
	cand.why = p.explain(cand, edges, f)
	p.found = append(p.found, cand)
	return unknown
}

// offerReal makes a candidate of a path that is merged already, by its own keys.
func (p *planning) offerReal(n *node, f *future, cand candidate, l *queue.Link) status {
	st := p.state(l)
	if st.status != unknown {
		return st.status
	}
	cand.link = l
	if cand.why == "" {
		cand.why = "on its likeliest future"
	}
	p.consider(cand, without(st.missing, st.tree))
	return unknown
}

// due is when the last of those ahead that affect one of the targets is expected
// to be decided.
func (p *planning) due(n *node, edges []edge, only map[string]bool) queue.Instant {
	var at queue.Instant
	for i := range edges {
		o := p.outlooks[edges[i].to.id]
		if o == nil || o.end <= at {
			continue
		}
		if slices.ContainsFunc(edges[i].shared, func(t int) bool { return only[p.assumed.names[n.x.targets[t]]] }) {
			at = o.end
		}
	}
	return at
}

// early reports whether a build that is not a change's first can wait: those
// ahead will be undecided for much longer than it takes (planner.md 9, rule 2; counted over those ahead that
// affect its targets only).
func (p *planning) early(n *node, share float64, need queue.Instant) bool {
	lead := p.span(n, share)*16/10 + time.Minute
	if need.Sub(p.now) <= lead || p.without(queue.IngredientJustInTime) {
		return false
	}
	p.wakeAt(need.Add(-lead))
	return true
}

// flips considers futures in which one outcome is another than in the
// likeliest, the likeliest of them first (planner.md 6.4).
func (p *planning) flips(n *node, edges []edge, f *future, chance []float64, aging float64, need queue.Instant) {
	if p.without(queue.IngredientFlips) {
		return
	}
	type flip struct {
		at   int
		mean float64
	}
	var out []flip
	for i := range edges {
		if len(edges[i].shared) == 0 {
			continue
		}
		ratio := (1 - chance[i]) / chance[i]
		if 1-chance[i] < p.single && aging*ratio < p.worth {
			continue
		}
		mean := f.mean
		for _, at := range edges[i].shared {
			mean -= n.share[at] * f.needed[at] * (1 - ratio)
		}
		if mean*aging >= p.worth {
			out = append(out, flip{i, mean})
		}
	}
	slices.SortFunc(out, func(a, b flip) int { return cmp.Or(cmp.Compare(b.mean, a.mean), cmp.Compare(a.at, b.at)) })
	for _, x := range out[:min(len(out), maxFlips)] {
		takes := slices.Clone(f.takes)
		takes[x.at] = !takes[x.at]
		other := slices.Clone(chance)
		other[x.at] = 1 - chance[x.at]
		g := &p.two
		p.see(n, edges, takes, g)
		g.need(edges, other)
		what := "lands"
		if !takes[x.at] {
			what = "does not land"
		}
		p.offer(n, edges, g, x.mean*aging, need, fmt.Sprintf("in case %s %s", edges[x.at].to.id, what))
	}
}

// taken returns the changes that are assumed to land, in order.
func taken(edges []edge, takes []bool) []queue.ChangeID {
	var out []queue.ChangeID
	for i := range edges {
		if takes[i] {
			out = append(out, edges[i].to.id)
		}
	}
	return out
}

func (p *planning) explain(cand candidate, edges []edge, f *future) string {
	if cand.why != "" {
		return cand.why
	}
	why := "on main"
	if len(cand.chain) > 0 {
		why = fmt.Sprintf("on the likeliest future: %s first", names(cand.chain))
	}
	if n := len(edges) - len(cand.chain); n > 0 {
		why += fmt.Sprintf(", without %d that will probably fail", n)
	}
	return why
}
