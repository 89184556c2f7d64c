package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// deal is what of a future is worth building, but for time.
type deal struct {
	first   bool         // the change has had no build, so all of it is
	single  float64      // threshold of a target that it was made with
	unknown work         // what is not known
	open    []int        // places of the targets to be verified that no build verifies
	asked   work         // these
	due     []int        // edges to those ahead that affect one of them
	busy    []*liveBuild // that verify something of it
}

// work is a part of a change's work: its share of the whole, and the share that
// is likely to be done one after the other.
type work struct{ share, row float64 }

// makeDeal brings a deal up to date with its future.
func (p *planning) makeDeal(f *future, edges []edge, first bool, d *deal) {
	n := f.n
	*d = deal{first: first, single: p.single, open: d.open[:0], due: d.due[:0], busy: d.busy[:0]}
	all := first || f.spare || len(edges) == 0
	for i, st := range f.by {
		if st != unknown {
			continue
		}
		d.unknown.share += n.share[i]
		idle := f.known[i] == nil
		if k := f.known[i]; k != nil {
			var busy []*queue.Build
			busy, idle = k.work()
			for _, b := range busy {
				if live := p.live[b]; !slices.Contains(d.busy, live) {
					d.busy = append(d.busy, live)
				}
			}
		}
		if idle && (all || f.needed[i] >= p.single) {
			d.open = append(d.open, i)
			d.asked.share += n.share[i]
		}
	}
	open := resize(p.marked, len(n.x.targets))
	for _, i := range d.open {
		open[i] = true
	}
	p.marked = open
	// What one change ahead affects is of one area, and is built in a row.
	for i := range edges {
		unknownRow, openRow := 0.0, 0.0
		for _, at := range edges[i].shared {
			if f.by[at] == unknown {
				unknownRow += n.share[at]
			}
			if open[at] {
				openRow += n.share[at]
			}
		}
		d.unknown.row, d.asked.row = max(d.unknown.row, unknownRow), max(d.asked.row, openRow)
		if openRow > 0 {
			d.due = append(d.due, i)
		}
	}
}

// offer makes a candidate of what is not known of a future, as far as it is
// worth it, and gives the builds that run the rest their credit.
func (p *planning) offer(n *node, edges []edge, f *future, d *deal, value float64, aim aim) status {
	if f.status != unknown {
		p.answerFor(n, aim, answer{code: queue.ReasonWaitsKnown, known: f.status})
		return f.status
	}
	cand := candidate{change: n.id, node: n, takes: f.takes, value: value, aim: aim, always: len(edges) == 0}
	if at := p.front(); f.blind > 0 && (f.noLink != at || f.serial != p.serial) {
		p.walked = appendTaken(p.walked[:0], edges, f.takes)
		l, _, void := p.walk(at, append(p.walked, n.id))
		if l != nil && void == "" {
			cand.chain = slices.Clone(p.walked)
			return p.offerReal(cand, l)
		}
		if void == "" {
			f.noLink, f.serial = at, p.serial
		}
	}
	var verifying queue.Instant
	for _, b := range d.busy {
		b.worth(value)
		verifying = max(verifying, p.expected(b.Build))
	}
	if len(d.open) == 0 {
		p.answerFor(n, aim, idle(f, d))
		return unknown
	}
	if !n.x.all {
		cand.only = d.open
	}
	if !d.first && !f.spare && !cand.always && p.early(n, d.asked, max(p.due(edges, d), verifying), aim) {
		return unknown
	}
	p.found = append(p.found, cand)
	return unknown
}

// offerReal makes a candidate of a path that is merged already, by its own keys.
func (p *planning) offerReal(cand candidate, l *queue.Link) status {
	st := p.state(l)
	if st.status != unknown {
		p.answerFor(cand.node, cand.aim, answer{code: queue.ReasonWaitsKnown, known: st.status})
		return st.status
	}
	cand.link = l
	p.consider(cand, without(st.missing, st.tree))
	return unknown
}

// due is when the last of those ahead that affect one of the targets is expected
// to be decided.
func (p *planning) due(edges []edge, d *deal) queue.Instant {
	var at queue.Instant
	for _, i := range d.due {
		if to := edges[i].to; mindOf(to).plan == p.plans {
			at = max(at, mindOf(to).end)
		}
	}
	return at
}

// early reports whether a build that is not a change's first can wait: those
// ahead will be undecided for much longer than it takes (planner.md 9, rule 2; counted over those ahead that
// affect its targets only).
func (p *planning) early(n *node, part work, need queue.Instant, aim aim) bool {
	lead := n.span(part)
	lead += lead*3/10 + time.Minute
	if need.Sub(p.now) <= lead || p.without(config.IngredientJustInTime) {
		return false
	}
	p.lookAt(need.Add(-lead))
	p.answerFor(n, aim, answer{code: queue.ReasonWaitsTime, until: need.Add(-lead)})
	return true
}

// flips considers futures in which one outcome is another than in the
// likeliest, the likeliest of them first: worth as much less as they are less
// likely (planner.md 6.4, 6.5).
func (p *planning) flips(n *node, edges []edge, f *future, aging float64) {
	if p.without(config.IngredientFlips) {
		return
	}
	if !mindOf(n).flipped {
		mindOf(n).flipped = true
		p.findFlips(n, edges)
	}
	for i := range mindOf(n).flips {
		x := &mindOf(n).flips[i]
		value := f.mean * aging * x.ratio
		if value < p.worth {
			return
		}
		if !x.made {
			x.made = true
			p.flip(n, edges, f, x)
		}
		p.offer(n, edges, &x.future, &x.deal, value, aim{kind: queue.WorthFlip, odds: x.ratio})
	}
}

// findFlips finds the outcomes that are likely to be otherwise, the likeliest
// first.
func (p *planning) findFlips(n *node, edges []edge) {
	least := min(leastRatio, p.rules().Threshold/3)
	var best [maxFlips]int // edges
	var ratios [maxFlips]float64
	found := 0
	for i := range edges {
		ratio := (1 - mindOf(n).chance[i]) / mindOf(n).chance[i]
		if len(edges[i].shared) == 0 || ratio < least || edges[i].below {
			continue
		}
		at := found
		for at > 0 && ratios[at-1] < ratio {
			at--
		}
		if at < maxFlips {
			found = min(found+1, maxFlips)
			copy(best[at+1:found], best[at:])
			copy(ratios[at+1:found], ratios[at:])
			best[at], ratios[at] = i, ratio
		}
	}
	if cap(mindOf(n).flips) < found {
		mindOf(n).flips = make([]flip, maxFlips)
	}
	mindOf(n).flips = mindOf(n).flips[:found]
	for i := range mindOf(n).flips {
		d := &mindOf(n).flips[i].deal // its memory is used again
		mindOf(n).flips[i] = flip{edge: best[i], ratio: ratios[i], future: future{deal: deal{open: d.open, due: d.due, busy: d.busy}}}
	}
}

// leastRatio is how much less likely than the likeliest a future may be and
// still be looked at.
const leastRatio = 0.02

// flip is the future that differs from the likeliest in one outcome.
type flip struct {
	edge  int     // whose outcome
	ratio float64 // how much less likely it is
	made  bool    // the rest is
	future
}

// flip makes a future that differs from the likeliest in one outcome.
func (p *planning) flip(n *node, edges []edge, from *future, x *flip) {
	e, to := &edges[x.edge], &x.future
	to.n = n
	to.takes = slices.Clone(from.takes)
	to.takes[x.edge] = !to.takes[x.edge]
	to.by, to.known, to.needed = slices.Clone(from.by), slices.Clone(from.known), slices.Clone(from.needed)
	for _, i := range e.shared {
		to.by[i], to.known[i] = p.look(mindOf(n).marks[i] ^ e.to.x.mark)
		to.needed[i] *= x.ratio
	}
	if p.fall(edges, to.takes, x.edge) {
		p.see(n, edges, to.takes, to)
	}
	p.sum(to)
	p.makeDeal(to, edges, mindOf(n).deal.first, &to.deal)
	to.by, to.known, to.needed = nil, nil, nil // summed up in the deal
}

// taken returns the changes that are assumed to land, in order.
func taken(edges []edge, takes []bool) []queue.ChangeID { return appendTaken(nil, edges, takes) }

func appendTaken(out []queue.ChangeID, edges []edge, takes []bool) []queue.ChangeID {
	for i := range edges {
		if takes[i] {
			out = append(out, edges[i].to.id)
		}
	}
	return out
}
