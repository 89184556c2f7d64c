package plan

import (
	"iter"
	"maps"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const maxFlips = 4 // futures of one change that differ in one outcome from the likeliest

const valueMain = 1000

const valueTrain = 100

// candidate is a build that could be worth running.
type candidate struct {
	link   *queue.Link // nil: to be resolved
	change queue.ChangeID
	also   []queue.ChangeID // further changes of the same build
	group  []queue.ChangeID // of a rollup: its members
	chain  []queue.ChangeID // assumed to land before it
	lead   *derived.Node    // the change that it has the value of, if several changes share it
	node   *derived.Node    // with takes: the changes assumed to land, if chain is not made yet
	takes  []bool
	only   []int       // places of the node's targets that are to be verified; nil: all
	keys   []queue.Key // of link
	value  float64
	aim    aim
	rank   int  // by value, among all candidates of the plan
	always bool // not subject to the threshold: nothing is assumed
	spare  bool // only where slots are free when everything else has been served
}

// Train tells a plan of the train that the turn has formed.
type Train struct {
	Aboard   map[queue.ChangeID]bool // members with a merge made there
	Boarding map[queue.ChangeID]bool // members with a merge wanted or being verified there, and changes that are tried beside it
}

// Planner makes one plan after the other. Its memory between plans saves work and
// holds no facts: a new planner makes the same plan.
type Planner struct {
	s     *queue.State
	facts *derived.Facts

	found   []candidate
	stamp   int              // of the last future that a plan has followed
	Plans   int              // how many plans there have been
	seats   []*derived.Node  // of the pending changes, as far as plans have reached them
	seatsAt int              // seating then
	reach   reach            // the last change on the line that affects each target
	reachAt int              // anew then
	marked  []bool           // memory of sample
	rows    []row            // memory of makeDeal
	looked  []derived.Mark   // memory of see
	raced   map[race]float64 // of this plan: the chance that the first of two builds ends first
	last    lastPlan
}

// New returns a planner of a state that goes by the facts of it.
func New(s *queue.State, facts *derived.Facts) *Planner {
	return &Planner{s: s, facts: facts, raced: map[race]float64{}}
}

// Due returns when another plan may differ from the last, if nothing happens; 0 means
// never.
func (p *Planner) Due() queue.Instant { return p.last.next }

// planning is the working state of one plan. Its parts handle builds and shared builds
// (slots), rollups, builds of main and of tries (probes), and the answers for each
// change (answers).
type planning struct {
	*Planner
	Train
	slots   slots
	rollups rollups
	probes  probes
	answers answers

	worth   float64                 // threshold of a build's value
	single  float64                 // threshold of a target's chance to be needed, in a build that is not the first
	served  map[queue.ChangeID]bool // changes that have joined another's build in this turn
	walked  []queue.ChangeID        // memory of offer
	since   []*derived.Affects      // of the last changes on the line, as far as they were needed
	capped  []*queue.Change         // changes that may have no more builds; proposed when the plan is done, since its candidates name changes ahead by place
	lent    []borrower              // builds above a quota that binds only while others wait, in the order of the plan
	propose func(Proposal)          // all results of the plan go this way
}

type (
	slots   struct{ *planning }
	rollups struct{ *planning }
	probes  struct{ *planning }
	answers struct{ *planning }
)

// begin returns the next plan.
func (p *Planner) begin(t Train) *planning {
	n := &planning{Planner: p, Train: t}
	n.slots, n.rollups, n.probes, n.answers = slots{n}, rollups{n}, probes{n}, answers{n}
	return n
}

// Proposals makes the next plan and returns its proposals, one after the other. The
// caller applies each before it takes the next, since later ones rest on the facts as
// they are by then. It takes all of them.
func (p *Planner) Proposals(t Train) iter.Seq[Proposal] { return p.begin(t).proposals() }

// lastPlan holds the inputs of the last plan, and the merges that it has asked for. A
// plan that starts or stops a build changes its own inputs.
type lastPlan struct {
	at    queue.Instant
	seen  derived.Freshness
	train Train
	wants []derived.Want
	next  queue.Instant // when another plan may differ, if nothing happens; 0: no need
}

// repeats reports whether another plan would be the same. With steps on the whole tree
// plans are always made again: they also go by requests and live builds.
func (p *planning) repeats() bool {
	l := &p.last
	return l.at == p.facts.Now && l.seen == p.facts.Freshness() && !p.facts.TreeSteps.HasTreeSteps() &&
		maps.Equal(l.train.Aboard, p.Aboard) && maps.Equal(l.train.Boarding, p.Boarding)
}

// proposals returns the proposals of one plan.
func (p *planning) proposals() iter.Seq[Proposal] {
	return func(yield func(Proposal) bool) {
		p.facts.Beliefs.Blame()
		if p.repeats() {
			for _, w := range p.last.wants {
				yield(Merge{w})
			}
			return
		}
		p.last = lastPlan{at: p.facts.Now, seen: p.facts.Freshness(), train: p.Train}
		p.Plans++
		p.propose = func(x Proposal) { yield(x) }
		p.worth, p.single = p.facts.Thresholds()
		clear(p.raced)
		p.busy()
		p.rollups.part()
		p.main()
		p.probes.controls()
		p.probes.hunts()
		p.train()
		p.paths()
		p.rollups.joints()
		p.probes.tryouts()
		p.probes.upgrade()
		p.probes.watch()
		p.slots.cancelRefuted()
		p.slots.take()
		for _, ch := range p.capped {
			p.propose(UsedUp{ch.ID})
		}
		clear(p.found)
		p.found = p.found[:0]
	}
}

// lookAt asks for another plan at a moment, unless it has passed.
func (p *planning) lookAt(at queue.Instant) {
	if at > p.facts.Now {
		p.last.next = queue.Earliest(p.last.next, at)
	}
}

// merges proposes a chain of merges.
func (p *planning) merges(w derived.Want) {
	p.last.wants = append(p.last.wants, w)
	p.propose(Merge{w})
}

// busy notes of each change when the last of its live builds is expected to end.
func (p *planning) busy() {
	for _, b := range p.facts.Builds.Building {
		b.Credit, b.Wanted = 0, false
		if b.Cancel {
			continue
		}
		if b.Subject != nil && b.Subject.Phase == queue.Pending {
			p.busyWith(b, p.facts.Builds.SeatOf(b))
		}
		for _, id := range b.Also {
			if ch := p.s.Changes[id]; ch != nil && ch.Phase == queue.Pending {
				p.busyWith(b, p.facts.Futures.Node(id))
			}
		}
	}
}

func (p *planning) busyWith(b *derived.LiveBuild, n *derived.Node) {
	if n == nil {
		return
	}
	m := MindOf(n)
	if m.busyIn != p.Plans {
		m.busyIn, m.ends = p.Plans, 0
	}
	if end := p.facts.Builds.Expected(b.Build); end > m.ends {
		m.ends, m.busy = end, derived.Stretch{From: b.Started, Took: p.facts.Builds.PredictBuild(b.Build)}
		if b.Started == 0 {
			m.busy.From = p.facts.Now
		}
	}
}

// until returns when the last of a change's live builds is expected to end, or 0.
func (p *planning) until(n *derived.Node) queue.Instant {
	if MindOf(n).busyIn != p.Plans {
		return 0
	}
	return MindOf(n).ends
}

// credit notes that a live build is worth something.
func (p *planning) credit(b *queue.Build, value float64) {
	p.facts.Builds.Live[b].Earn(value)
}

// keep gives a change's live builds the change's worth: whether the merge under way has
// other keys than they verify is not known yet.
func (p *planning) keep(n *derived.Node, value float64) {
	if MindOf(n).busyIn != p.Plans {
		return
	}
	for _, b := range p.facts.Builds.Building {
		if !b.Cancel && slices.Contains(b.For(), n.ID) {
			p.credit(b.Build, value)
		}
	}
}

// consider turns a link into a candidate for those of the given keys that
// no build runs yet; builds that run the others get the credit.
func (p *planning) consider(cand candidate, keys []queue.Key) {
	for _, k := range keys {
		if f := p.facts.Ledger.Keys[k.ID()]; f != nil && f.Build != nil {
			p.credit(f.Build, cand.value)
			continue
		}
		cand.keys = append(cand.keys, k)
	}
	for _, keys := range byCommit(cand.link, cand.keys) {
		cand.keys = keys
		p.found = append(p.found, cand)
	}
}

// byCommit divides keys of a link by the commit that each is verified on.
func byCommit(l *queue.Link, keys []queue.Key) [][]queue.Key {
	if len(l.Parts) == 0 {
		if len(keys) == 0 {
			return nil
		}
		return [][]queue.Key{keys}
	}
	var out [][]queue.Key
	at := map[*queue.Halfway]int{}
	for _, k := range keys {
		part := l.PartOf(k)
		i, known := at[part]
		if !known {
			i = len(out)
			at[part], out = i, append(out, nil)
		}
		out[i] = append(out[i], k)
	}
	return out
}

// main considers the keys of main itself: the unproven ones at once, the red
// ones again with back-off.
func (p *planning) main() {
	root := p.facts.Root()
	if root == nil {
		return
	}
	m := &p.s.Main
	cand := candidate{link: root, value: valueMain, aim: aim{kind: queue.WorthMain}, always: true}
	p.consider(cand, p.onlyRunning(root))
	if root.Parent != m.Tip {
		return // main has moved on; running builds still tell about most of its keys
	}
	p.consider(cand, p.dueKeys(root, m.Retry))
}

// dueKeys returns which keys of a root link are to be built now: the missing
// ones, and after a pause those that have failed. The pause is proposed here: retry is
// when it ends, or 0.
func (p *planning) dueKeys(root *queue.Link, retry queue.Instant) []queue.Key {
	if retry > p.facts.Now {
		p.lookAt(retry)
		return nil
	}
	st := p.facts.Links.State(root)
	keys := slices.Clone(st.Missing)
	switch {
	case len(st.Broken) == 0:
	case retry == 0:
		p.propose(Pause{root.ID})
	default:
		for _, e := range st.Broken {
			for _, k := range e.Keys {
				if !p.facts.Ledger.Passed(k) && !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

func (p *planning) onlyRunning(l *queue.Link) []queue.Key {
	var keys []queue.Key
	for i, f := range p.facts.Links.Info(l).Facts {
		if f.Build != nil {
			keys = append(keys, l.Keys[i])
		}
	}
	return keys
}

// paths considers the futures of each pending change.
func (p *planning) paths() {
	n, most := 0, p.facts.Window()
	if p.seatsAt != p.facts.Order.Seating() || len(p.seats) != len(p.facts.Order.IDs) {
		p.seats, p.seatsAt = make([]*derived.Node, len(p.facts.Order.IDs)), p.facts.Order.Seating()
	}
	for i, id := range p.facts.Order.IDs {
		if n >= most {
			return
		}
		x := p.seats[i]
		if x == nil {
			x = p.facts.Futures.Node(id)
			p.seats[i] = x
		}
		if x == nil || !x.Made && len(p.facts.Order.FirstAhead(id)) > derived.MaxDepth {
			continue
		}
		edges := p.facts.Futures.Edges(x)
		if p.slots.flooded(id) {
			p.answers.answer(x, Answer{Code: queue.ReasonWaitsQuota})
			continue
		}
		if (len(edges) > 0 || !p.facts.Futures.Verified[id]) && p.slots.inTurn(id) {
			n++
		}
		found := len(p.found)
		p.path(x, edges)
		p.rollups.sift(x, found)
	}
}

// path considers a change's likeliest future, and those near it.
func (p *planning) path(n *derived.Node, edges []derived.Edge) {
	p.facts.Futures.Weigh(n)
	MindOf(n).Odds = p.Expect(n, edges)
	need, last := p.likeliest(n, edges)
	p.seeLikely(n, edges)
	f := &MindOf(n).Likely
	if first := n.Ch.Builds == 0; !n.Dealt || MindOf(n).Deal.first != first || MindOf(n).Deal.single != p.single {
		if !n.Needed {
			f.need(edges, MindOf(n).chance)
			n.Needed = true
		}
		p.makeDeal(f, edges, first, &MindOf(n).Deal)
		n.Dealt, MindOf(n).flipped = true, false
	}
	MindOf(n).Plan = p.Plans
	MindOf(n).End, MindOf(n).last = p.ends(n, f)
	if need > MindOf(n).End {
		MindOf(n).End, MindOf(n).last = need, last
	}
	aging := p.answers.aging(n.Ch)
	if n.Ch.Stale && f.Blind > 0 {
		p.answers.answer(n, Answer{Code: queue.ReasonAnalyzing})
		return // the targets that it affects are not known
	}
	aging *= p.facts.Benefit(n.Ch)
	if n.Ch.Apart && len(edges) > 0 {
		p.answers.answer(n, Answer{Code: queue.ReasonWaitsApart})
		return
	}
	switch {
	case len(edges) == 0:
		if p.facts.Futures.Verified[n.ID] && (p.Aboard[n.ID] || p.Boarding[n.ID]) {
			p.answers.answer(n, Answer{Code: queue.ReasonWaitsTrain})
			if p.Boarding[n.ID] {
				p.keep(n, aging)
			}
			return // it is merged where it will land; another path of it would tell nothing new
		}
		p.alone(n, f, aging)
		return
	case f.Status == derived.Failed && p.facts.Futures.Regardless(n, nil) == derived.Failed:
		p.onMain(n) // it may be rejected, if it fails on main as it is
	}
	if g := p.sample(n, edges, f, f.mean*aging); g != nil && p.offer(n, edges, g, &g.deal, f.mean*aging, aim{kind: queue.WorthSample}) == derived.Unknown {
		return
	}
	if p.offer(n, edges, f, &MindOf(n).Deal, f.mean*aging, aim{kind: queue.WorthLikeliest}) == derived.Conflicting {
		MindOf(n).Odds = unmergeable
	} else {
		MindOf(n).hear(proven)
	}
	p.flips(n, edges, f, aging)
	p.spares(n, edges, f, f.mean*aging)
}

// alone considers a change without a change ahead: no assumption is made. If the
// assumption keys have its outcome already and no verdict follows, it asks for the
// change's merge.
func (p *planning) alone(n *derived.Node, f *Future, aging float64) {
	MindOf(n).hear(1) // nothing is assumed
	if f.Status == derived.Unknown {
		p.offer(n, nil, f, &MindOf(n).Deal, aging, aim{kind: queue.WorthAlone})
		return
	}
	l := p.onMain(n)
	if l == nil {
		p.answers.answer(n, Answer{Code: queue.ReasonWaitsResolve})
		return
	}
	st := p.facts.Links.State(l)
	p.answers.answer(n, Answer{Code: queue.ReasonWaitsKnown, Known: st.Status})
	if st.Status == derived.Unknown {
		p.consider(candidate{link: l, change: n.ID, value: aging, aim: aim{kind: queue.WorthAlone}, always: true}, derived.Without(st.Missing, st.Tree))
	}
}

// onMain returns the link of a change on main alone; it asks for the merge if there
// is none.
func (p *planning) onMain(n *derived.Node) *queue.Link {
	l, rest, _ := p.facts.Links.Walk(p.facts.Links.Front(), []queue.ChangeID{n.ID})
	if l == nil {
		p.merges(rest)
	}
	return l
}

// follow walks a path from where main will be, and asks for merges that it lacks.
// A member of the base that does not merge is taken as not landing; if that is
// below the change in its stack, no merge is left to ask for.
func (p *planning) follow(id queue.ChangeID, base []queue.ChangeID) (*queue.Link, derived.Want) {
	for {
		l, rest, void := p.facts.Links.Walk(p.facts.Links.Front(), append(slices.Clone(base), id))
		if void == "" {
			return l, rest
		}
		ok := false
		if base, ok = p.dropVoid(base, void, id); !ok {
			return nil, derived.Want{} // then the change does not merge either
		}
	}
}
