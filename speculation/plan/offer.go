package plan

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Deal is the part of a future that is worth building, if time did not matter.
type Deal struct {
	first   bool                 // the change has had no build, so all of it is
	single  float64              // the threshold of targets when the deal was made
	unknown derived.Work         // the work without a known result
	again   []int                // of open: targets that have failed and are to be run again before that decides
	open    []int                // places of the targets to be verified that no build verifies
	asked   derived.Work         // their work
	Due     []int                // edges to the changes ahead that affect one of the open targets
	Busy    []*derived.LiveBuild // builds that verify some of the future's targets
	Doubted bool                 // some target has failed, and is to be run again before that decides
}

// row is the share of a target in a change's work that is not known, and that no build does.
type row struct{ unknown, open float64 }

// makeDeal brings a deal up to date with its future.
func (p *planning) makeDeal(f *Future, edges []derived.Edge, first bool, d *Deal) {
	n := f.N
	*d = Deal{first: first, single: p.single, open: d.open[:0], again: d.again[:0], Due: d.Due[:0], Busy: d.Busy[:0]}
	all := first || f.spare || len(edges) == 0
	rows := derived.Resize(p.rows, len(n.X.Targets))
	p.rows = rows
	var last *queue.Build
	for i, st := range f.By {
		if st != derived.Unknown {
			continue
		}
		d.unknown.Share += n.Share[i]
		rows[i].unknown = n.Share[i]
		w := &derived.KnownWork{Idle: true}
		switch {
		case f.works != nil:
			w = &f.works[i]
		case f.Known[i] != nil:
			w = f.Known[i].Work()
		}
		for _, b := range w.Busy {
			if b == last {
				continue // as for the target before
			}
			last = b
			if live := p.facts.Builds.Live[b]; !slices.Contains(d.Busy, live) {
				d.Busy = append(d.Busy, live)
			}
		}
		d.Doubted = d.Doubted || w.Doubted
		if w.Idle && (all || f.Needed[i] >= p.single) {
			d.open, rows[i].open = append(d.open, i), n.Share[i]
			d.asked.Share += n.Share[i]
			if w.Doubted {
				d.again = append(d.again, i)
			}
		}
	}
	// Targets that one change ahead affects are of one area, and are built in a row.
	for i, most := range MindOf(n).rows {
		if most > d.unknown.Row {
			row := 0.0
			for _, at := range edges[i].Shared {
				row += rows[at].unknown
			}
			d.unknown.Row = max(d.unknown.Row, row)
		}
		if len(d.open) == 0 {
			continue
		}
		row := 0.0
		for _, at := range edges[i].Shared {
			if row += rows[at].open; row > 0 && most <= d.asked.Row {
				break
			}
		}
		d.asked.Row = max(d.asked.Row, row)
		if row > 0 {
			d.Due = append(d.Due, i)
		}
	}
}

// offer makes a candidate of the unknown targets of a future, as far as they are worth
// a build, and gives the builds that run the others their credit.
func (p *planning) offer(n *derived.Node, edges []derived.Edge, f *Future, d *Deal, value float64, aim aim) derived.Status {
	if f.Status != derived.Unknown {
		p.answers.answerFor(n, aim, Answer{Code: queue.ReasonWaitsKnown, Known: f.Status})
		return f.Status
	}
	cand := candidate{change: n.ID, node: n, takes: f.takes, value: value, aim: aim, always: len(edges) == 0}
	if at := p.facts.Links.Front(); f.Blind > 0 && (f.noLink != at || f.serial != p.facts.Links.Serial()) {
		p.walked = appendTaken(p.walked[:0], edges, f.takes)
		l, _, void := p.facts.Links.Walk(at, append(p.walked, n.ID))
		if l != nil && void == "" {
			cand.chain = slices.Clone(p.walked)
			return p.offerReal(cand, l)
		}
		if void == "" {
			f.noLink, f.serial = at, p.facts.Links.Serial()
		}
	}
	var verifying queue.Instant
	for _, b := range d.Busy {
		b.Earn(value)
		verifying = max(verifying, p.facts.Builds.Expected(b.Build))
	}
	if len(d.open) == 0 {
		p.answers.answerFor(n, aim, Idle(f, d))
		return derived.Unknown
	}
	if !n.X.All {
		cand.only = d.open
	}
	if !d.first && !f.spare && !cand.always && p.early(n, d.asked, max(p.due(edges, d), verifying), aim) {
		switch {
		case len(d.again) > 0:
			// All changes behind it wait for this second result, and it is little work.
			cand.only = d.again
		case !aim.first() || f.mean < earlyNeed:
			return derived.Unknown
		case p.facts.Now < longWaited(n.Ch):
			p.lookAt(longWaited(n.Ch))
			return derived.Unknown
		default:
			cand.spare = true
		}
	}
	p.found = append(p.found, cand)
	return derived.Unknown
}

// longWait is how many times its own duration a change has waited when its later builds
// take free slots before their time. The result of such a build is then known before the
// change's turn. If it is a surprise, the changes behind are built again meanwhile.
// Otherwise a queue near its limit would find out surprises one after the other, each when
// it holds all others up, and would never recover.
const longWait = 1.2

// earlyNeed is the mean chance of a future's targets to be needed from which a change that
// has waited for long is built before its time. A less likely future is another one by the
// time that the build ends: deep in the line of a hot target one change had 72 builds so.
const earlyNeed = 0.6

// longWaited is when a change has waited for longWait times its own duration.
func longWaited(ch *queue.Change) queue.Instant {
	return ch.Arrival.Add(time.Duration(longWait*float64(ch.Predicted))) + 1
}

// offerReal makes a candidate of a path that is merged already, by its own keys.
func (p *planning) offerReal(cand candidate, l *queue.Link) derived.Status {
	st := p.facts.Links.State(l)
	if st.Status != derived.Unknown {
		p.answers.answerFor(cand.node, cand.aim, Answer{Code: queue.ReasonWaitsKnown, Known: st.Status})
		return st.Status
	}
	cand.link = l
	p.consider(cand, derived.Without(st.Missing, st.Tree))
	return derived.Unknown
}

// due is when the last of the changes ahead that affect one of the targets is expected
// to be decided.
func (p *planning) due(edges []derived.Edge, d *Deal) queue.Instant {
	var at queue.Instant
	for _, i := range d.Due {
		if to := edges[i].To; MindOf(to).Plan == p.Plans {
			at = max(at, MindOf(to).End)
		}
	}
	return at
}

// early reports whether a build that is not a change's first can wait: changes ahead
// will be undecided for much longer than it takes (only changes that affect its targets
// count).
func (p *planning) early(n *derived.Node, part derived.Work, need queue.Instant, aim aim) bool {
	lead := n.Span(part)
	lead += lead*3/10 + time.Minute
	if need.Sub(p.facts.Now) <= lead || p.facts.Without(config.IngredientJustInTime) {
		return false
	}
	p.lookAt(need.Add(-lead))
	p.answers.answerFor(n, aim, Answer{Code: queue.ReasonWaitsTime, Until: need.Add(-lead)})
	return true
}

// flips considers futures that differ from the likeliest in one outcome, the likeliest of
// them first. They are worth as much less as they are less likely, and must be worth the
// threshold of leastFlip, however many slots are idle: of those that only the lower one of idle
// slots would let in, one in eight comes true. Behind more than
// deepLine changes they come only when the result of the likeliest future is known, and
// their worth does not grow with waiting. In a long queue all have waited, and the slots
// would be full of unlikely futures.
func (p *planning) flips(n *derived.Node, edges []derived.Edge, f *Future, aging float64) {
	deep := len(edges) > deepLine
	if p.facts.Without(config.IngredientFlips) || deep && f.Status == derived.Unknown {
		return
	}
	if !MindOf(n).flipped {
		MindOf(n).flipped = true
		p.findFlips(n, edges)
	}
	if len(MindOf(n).flips) == 0 {
		return
	}
	for i := range MindOf(n).flips {
		x := &MindOf(n).flips[i]
		value := f.mean * aging * x.ratio
		if !p.worthFlip(n.ID, value) || deep && !p.worthFlip(n.ID, f.mean*x.ratio) {
			return
		}
		if !x.made {
			x.made = true
			p.flip(n, edges, f, x)
		}
		p.offer(n, edges, &x.Future, &x.deal, value, aim{kind: queue.WorthFlip, odds: x.ratio})
	}
}

// leastFlip is what a flip of a change must be worth: the threshold of the rules, and the lower
// the more changes wait for this one, down to that of idle slots. If its likeliest future does not
// come and no other one is known, all of them wait for as long as another build takes.
func (p *planning) leastFlip(id queue.ChangeID) float64 {
	return p.waitedFlip(p.facts.Order.Behind(id))
}

// worthFlip reports whether a value reaches leastFlip. It counts the changes that wait only where
// that matters.
func (p *planning) worthFlip(id queue.ChangeID, value float64) bool {
	return value >= p.waitedFlip(0) || value >= p.waitedFlip(len(p.facts.Order.ConflictsOf(id))) && value >= p.leastFlip(id)
}

// waitedFlip is what a flip of a change that so many wait for must be worth.
func (p *planning) waitedFlip(waiting int) float64 {
	return max(p.worth, p.facts.Rules().Threshold/(1+float64(waiting)/waitingFlip))
}

const waitingFlip = 40 // changes behind a change for which the threshold of its flips is halved

// findFlips finds the outcomes that are the likeliest to be otherwise, the likeliest
// first.
func (p *planning) findFlips(n *derived.Node, edges []derived.Edge) {
	least := min(leastRatio, p.facts.Rules().Threshold/3)
	var best [maxFlips]int // edges
	var ratios [maxFlips]float64
	found := 0
	for i := range edges {
		ratio := (1 - MindOf(n).chance[i]) / MindOf(n).chance[i]
		if len(edges[i].Shared) == 0 || ratio < least || edges[i].Below {
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
	if cap(MindOf(n).flips) < found {
		MindOf(n).flips = make([]flip, maxFlips)
	}
	MindOf(n).flips = MindOf(n).flips[:found]
	for i := range MindOf(n).flips {
		d := &MindOf(n).flips[i].deal // its memory is used again
		MindOf(n).flips[i] = flip{edge: best[i], ratio: ratios[i], Future: Future{deal: Deal{open: d.open, again: d.again, Due: d.Due, Busy: d.Busy}}}
	}
}

// deepLine is the number of changes ahead from which a change is far from its turn.
const deepLine = 8

// leastRatio is how much less likely than the likeliest future another may be and still
// be looked at.
const leastRatio = 0.02

// flip is the future that differs from the likeliest in one outcome.
type flip struct {
	edge  int     // the edge with the outcome that differs
	ratio float64 // how much less likely it is
	made  bool    // the future is made
	Future
}

// flip makes a future that differs from the likeliest in one outcome.
func (p *planning) flip(n *derived.Node, edges []derived.Edge, from *Future, x *flip) {
	e, to := &edges[x.edge], &x.Future
	to.N = n
	to.takes = slices.Clone(from.takes)
	to.takes[x.edge] = !to.takes[x.edge]
	to.By, to.Known, to.Needed = slices.Clone(from.By), slices.Clone(from.Known), slices.Clone(from.Needed)
	for _, i := range e.Shared {
		to.By[i], to.Known[i] = p.facts.Futures.Look(MindOf(n).marks[i] ^ e.To.X.Mark)
		to.Needed[i] *= x.ratio
	}
	if p.fall(edges, to.takes, x.edge) {
		p.See(n, edges, to.takes, to)
	}
	p.sum(to)
	p.makeDeal(to, edges, MindOf(n).Deal.first, &to.deal)
	to.By, to.Known, to.Needed = nil, nil, nil // summed up in the deal
}

// taken returns the changes that are assumed to land, in order.
func taken(edges []derived.Edge, takes []bool) []queue.ChangeID {
	return appendTaken(nil, edges, takes)
}

func appendTaken(out []queue.ChangeID, edges []derived.Edge, takes []bool) []queue.ChangeID {
	for i := range edges {
		if takes[i] {
			out = append(out, edges[i].To.ID)
		}
	}
	return out
}
