package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// strong is the chance above which a pair counts on its own; the weak pairs of a change
// are one factor.
const strong = 0.02

// Future is one path of a change: which of the changes ahead are assumed to land, and
// what is known of the path.
type Future struct {
	N      *derived.Node
	takes  []bool            // by edge
	Status derived.Status    // of the whole: unknown, verified or failed
	bySet  bool              // failed because of a set
	inSets bool              // sets with its open keys have failed, which count or do not by what else is known
	summed derived.Freshness // of the facts, when Status was made
	By     []derived.Status
	Known  []*derived.Known    // by target; nil: nothing is known of it
	works  []derived.KnownWork // of the likeliest future: what is under way for each of Known
	Blind  int                 // targets that nothing is known of
	Needed []float64
	mean   float64        // of needed, by share of work
	spare  bool           // for free slots only: whole, and at once
	deal   Deal           // of a future that is not the likeliest
	noLink queue.CommitID // where main will be, if the change has no link from there; else empty
	serial int            // of the last link when that was seen
}

// See looks up the known results of a future.
func (p *Planner) See(n *derived.Node, edges []derived.Edge, takes []bool, f *Future) {
	f.N, f.takes = n, takes
	f.By = derived.Resize(f.By, len(n.X.Targets))
	f.Known = derived.Resize(f.Known, len(n.X.Targets))
	p.looked = p.facts.Futures.Keys(n, edges, takes, p.looked)
	for i, m := range p.looked {
		f.By[i], f.Known[i] = p.facts.Futures.Look(m)
	}
	p.sum(f)
}

// sum makes one status from the results of a future's targets.
func (p *Planner) sum(f *Future) {
	f.Status, f.Blind = derived.Verified, 0
	for i, st := range f.By {
		switch {
		case st == derived.Failed:
			f.Status = derived.Failed
		case st == derived.Unknown && f.Status == derived.Verified:
			f.Status = derived.Unknown
		}
		if f.Known[i] == nil {
			f.Blind++
		}
	}
	f.inSets, f.summed = false, p.facts.Freshness()
	f.bySet = f.Status == derived.Unknown && len(p.facts.Ledger.Sets) > 0 && p.setFails(f)
	if f.bySet {
		f.Status = derived.Failed
	}
}

// IsStale reports whether a future has to be summed up anew: what a failed set says of it rests on
// keys of other targets, and on what has landed since.
func (p *Planner) IsStale(f *Future) bool { return f.inSets && f.summed != p.facts.Freshness() }

// seeLikely brings a node's likeliest future up to date.
func (p *Planner) seeLikely(n *derived.Node, edges []derived.Edge) {
	f := &MindOf(n).Likely
	if n.Shape && len(n.Stirs) == 0 {
		if was := f.Status; p.IsStale(f) {
			p.sum(f)
			n.Dealt = n.Dealt && f.Status == was
		}
		return
	}
	changed := !n.Shape
	if !n.Shape {
		f.noLink = ""
		p.looked = p.facts.Futures.Keys(n, edges, MindOf(n).Takes, p.looked)
		if n.Stirred || len(MindOf(n).marks) != len(p.looked) {
			n.Stirred = false
			MindOf(n).marks, f.By, f.Known = make([]derived.Mark, len(p.looked)), make([]derived.Status, len(p.looked)), make([]*derived.Known, len(p.looked))
			f.works = make([]derived.KnownWork, len(p.looked))
		}
		for i, m := range p.looked {
			if m != MindOf(n).marks[i] {
				MindOf(n).marks[i] = m
				p.look(f, i, m)
			}
		}
	}
	for _, i := range n.Stirs {
		if p.look(f, i, MindOf(n).marks[i]) {
			changed = true // most news of a target are of other futures of it
		}
	}
	if slices.ContainsFunc(MindOf(n).flips, func(x flip) bool { return x.made }) {
		MindOf(n).flipped = false // the news may be of one of these
	}
	f.N, f.takes = n, MindOf(n).Takes
	n.Shape, n.Stirs = true, n.Stirs[:0]
	if changed || f.bySet || len(p.facts.Ledger.Sets) > 0 { // of sets, works say nothing
		n.Dealt = false
		p.sum(f)
	}
}

// look looks up what is known of a target of a likeliest future, and reports whether that is news.
func (p *Planner) look(f *Future, i int, m derived.Mark) bool {
	st, k := p.facts.Futures.Look(m)
	work := derived.KnownWork{Idle: true}
	if k != nil {
		work = *k.Work()
	}
	if was := f.works[i]; st == f.By[i] && k == f.Known[i] && work.Idle == was.Idle && work.Doubted == was.Doubted && slices.Equal(work.Busy, was.Busy) {
		return false
	}
	f.By[i], f.Known[i], f.works[i] = st, k, work
	return true
}

// setFails reports whether all keys of a failed set, at least one of which is red, are
// among those of a future.
func (p *Planner) setFails(f *Future) bool {
	held := map[queue.Digest]bool{}
	var open []queue.Digest
	for i, k := range f.Known {
		if k == nil {
			continue
		}
		for _, x := range k.From[0].Facts {
			held[x.ID] = true
			if f.By[i] == derived.Unknown {
				open = append(open, x.ID)
			}
		}
	}
	for _, id := range open {
		for _, sid := range p.facts.Ledger.Sets[id] {
			e := p.s.Ledger[sid]
			if e == nil {
				continue
			}
			f.inSets = true
			if e = derived.Filtered(e, func(x queue.Failure) bool {
				return !x.Clouded && p.facts.Ledger.RestsOn(x, p.takenBy(f)) && p.facts.Ledger.NotBeside(x, func(id queue.Digest) bool { return held[id] })
			}); !p.facts.Ledger.Decides(e) {
				continue
			}
			if !slices.ContainsFunc(e.Keys, func(k queue.Key) bool { return !held[k.ID()] }) {
				return true
			}
		}
	}
	return false
}

// takenBy returns the changes that are assumed to land on a future.
func (p *Planner) takenBy(f *Future) []queue.ChangeID { return taken(f.N.Edges, f.takes) }

// partOf returns the part of a change's work that it takes to verify the given keys.
func (p *planning) partOf(n *derived.Node, keys []queue.Key) derived.Work {
	if n.X.All {
		return derived.Work{Share: 1}
	}
	in := make([]bool, len(n.X.Targets))
	var part derived.Work
	for _, k := range keys {
		if t, ok := p.facts.Futures.Assumed.Numbers[k.Target]; ok {
			if i, has := slices.BinarySearch(n.X.Targets, t); has && !in[i] {
				in[i] = true
				part.Share += n.Share[i]
				part.Row = max(part.Row, n.Share[i])
			}
		}
	}
	for i := range n.Edges {
		row := 0.0
		for _, at := range n.Edges[i].Shared {
			if in[at] {
				row += n.Share[at]
			}
		}
		part.Row = max(part.Row, row)
	}
	return part
}

// ProbablyBreaks is the chance of a pair above which neither change overtakes the
// other.
const ProbablyBreaks = 0.1

// Leave takes an edge out of a deal that its plan has made: the edges behind it
// move up.
func (d *Deal) Leave(at int) {
	kept := d.Due[:0]
	for _, i := range d.Due {
		switch {
		case i < at:
			kept = append(kept, i)
		case i > at:
			kept = append(kept, i-1)
		}
	}
	d.Due = kept
}
