package speculation

import (
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Limits of the plan, and what builds of main and of the train are worth.
const (
	maxDepth    = 512 // changes ahead beyond which no path is followed
	maxFlips    = 4   // futures of one change that differ in one outcome from the likeliest
	valueMain   = 1000
	valueTrain  = 100
	idleShare   = 0.7    // part of the thresholds that idle slots do without, where predictions are bad
	parkedHours = 7 * 24 // beyond this nobody waits for a chance to improve
)

// candidate is a build that could be worth running.
type candidate struct {
	link   *queue.Link // nil: to be resolved
	change queue.ChangeID
	also   []queue.ChangeID // built by it, too
	group  []queue.ChangeID // of a rollup: its members
	chain  []queue.ChangeID // assumed to land before it
	lead   *node            // whose value it has, where several changes share it
	node   *node            // with takes: who is assumed to land, where chain is not made yet
	takes  []bool
	only   []int       // places of the node's targets that are to be verified; nil: all
	keys   []queue.Key // of link
	value  float64
	aim    aim
	rank   int  // by value, among all candidates of the plan
	always bool // not subject to the threshold: nothing is assumed
	spare  bool // only where slots are free when everything else has been served
}

// Train is what a plan is to know of the train that the turn has formed.
type Train struct {
	Aboard   map[queue.ChangeID]bool // members whose merge there is made
	Boarding map[queue.ChangeID]bool // members whose merge there is wanted or being verified, and those that are tried beside it
}

// planner makes one plan after the other. What it keeps between them saves work and
// is no fact: a new planner makes the same plan.
type planner struct {
	found   []candidate
	stamp   int     // of the last future that a plan has followed
	plans   int     // how many there have been
	seats   []*node // of the pending changes, as far as a plan has come to them
	seatsAt int     // seating then
	reach   reach   // what the line affects
	reachAt int     // anew then
	marked  []bool  // memory of makeDeal
	looked  []mark  // memory of see
	last    lastPlan
}

// planning is the working state of one plan.
type planning struct {
	*Core
	*planner
	Train
	worth   float64                 // threshold of a build's value
	single  float64                 // threshold of a target's chance to be needed, in a build that is not the first
	served  map[queue.ChangeID]bool // have joined another's build in this turn
	walked  []queue.ChangeID        // memory of offer
	since   []*affects              // of the last on the line, as far as somebody has asked
	capped  []*queue.Change         // may have no more builds; told when the plan is done, whose candidates name who is ahead by place
	lent    []borrower              // above a quota that binds only while others wait, in the order of the plan
	propose func(proposal)          // what comes of the plan goes this way, and no other
}

// lastPlan is what the last plan was made from, and the merges that it has asked for.
// A plan that starts or stops a build changes what it was made from.
type lastPlan struct {
	at    queue.Instant
	seen  freshness
	train Train
	wants []want
	next  queue.Instant // when another plan may be another one, if nothing happens; 0: no need
}

// repeats reports whether another plan would be the same. Those of steps on the
// whole tree are made again: they go by requests and live builds, too.
func (p *planning) repeats() bool {
	l := &p.last
	return l.at == p.now && l.seen == p.freshness() && !p.hasTreeSteps() &&
		maps.Equal(l.train.Aboard, p.Aboard) && maps.Equal(l.train.Boarding, p.Boarding)
}

// plan has the next plan made, and applies what it proposes. A plan reads facts and
// beliefs and writes its own memory: it has no word for landing or rejecting
// (proposal.go).
func (c *Core) plan() {
	c.sortOrder()
	if c.s.Main.Tip == "" || c.s.Main.Config == nil {
		return
	}
	p := &planning{Core: c, planner: &c.planner, Train: Train{c.aboard, c.boarding}}
	for x := range p.proposals() {
		c.apply(x)
	}
	c.wakeAt(c.planner.last.next)
}

// proposals returns what the plan proposes, one after the other. Whoever takes them
// applies each before the next, since what follows reads what is there by then, and
// takes them all.
func (p *planning) proposals() iter.Seq[proposal] {
	return func(yield func(proposal) bool) {
		if p.repeats() {
			for _, w := range p.last.wants {
				yield(merge{w})
			}
			return
		}
		p.last = lastPlan{at: p.now, seen: p.freshness(), train: p.Train}
		p.plans++
		p.propose = func(x proposal) { yield(x) }
		p.worth, p.single = p.thresholds()
		p.busy()
		p.part()
		p.main()
		p.controls()
		p.hunts()
		p.train()
		p.paths()
		p.joints()
		p.tryouts()
		p.upgrade()
		p.watch()
		p.cancelRefuted()
		p.take()
		for _, ch := range p.capped {
			p.propose(usedUp{ch.ID})
		}
		clear(p.found)
		p.found = p.found[:0]
	}
}

// lookAt asks for another plan at a moment, unless it has passed.
func (p *planning) lookAt(at queue.Instant) {
	if at > p.now {
		p.last.next = queue.Earliest(p.last.next, at)
	}
}

// merges proposes a chain of merges.
func (p *planning) merges(w want) {
	p.last.wants = append(p.last.wants, w)
	p.propose(merge{w})
}

// busy notes of each change when its live builds began and are expected to end.
func (p *planning) busy() {
	for _, b := range p.building {
		b.credit, b.wanted = 0, false
		if b.Cancel {
			continue
		}
		p.busyWith(b, b.change)
		for _, id := range b.Also {
			p.busyWith(b, p.s.Changes[id])
		}
	}
}

func (p *planning) busyWith(b *liveBuild, ch *queue.Change) {
	if ch == nil || ch.Phase != queue.Pending {
		return
	}
	n := p.node(ch.ID)
	if n == nil {
		return
	}
	if mindOf(n).busyIn != p.plans {
		mindOf(n).busyIn, mindOf(n).began, mindOf(n).ends = p.plans, 0, 0
	}
	mindOf(n).began = queue.Earliest(mindOf(n).began, b.Started)
	mindOf(n).ends = max(mindOf(n).ends, p.expected(b.Build))
}

// until returns when the last of a change's live builds is expected to end, or 0.
func (p *planning) until(n *node) queue.Instant {
	if mindOf(n).busyIn != p.plans {
		return 0
	}
	return mindOf(n).ends
}

// credit notes that a live build is worth something to somebody.
func (p *planning) credit(b *queue.Build, value float64) {
	p.live[b].worth(value)
}

func (b *liveBuild) worth(value float64) { b.credit, b.wanted = max(b.credit, value), true }

// keep gives a change's live builds its worth: it is not known yet whether the
// merge that is being made has other keys than they verify.
func (p *planning) keep(n *node, value float64) {
	if mindOf(n).busyIn != p.plans {
		return
	}
	for _, b := range p.building {
		if !b.Cancel && slices.Contains(b.For(), n.id) {
			p.credit(b.Build, value)
		}
	}
}

// thresholds follow the measured accuracy of predictions: where they are often
// wrong more futures must be built (planner.md 9, rule 6), and while less than
// half of the slots are busy many more.
func (c *Core) thresholds() (worth, single float64) {
	worse := min(1, max(0, (0.955-c.accuracy())/(0.955-0.88)))
	if c.without(config.IngredientAdaptive) {
		worse = 0
	}
	worth, single = c.rules().Threshold*(1-worse*2/3), 0.4-worse*0.25
	if 2*len(c.s.Builds) < c.s.Slots {
		worth, single = worth*(1-worse*idleShare), single*(1-worse*idleShare)
	}
	if c.without(config.IngredientTargetThreshold) {
		single = 0
	}
	return worth, single
}

// expected is when a live build is expected to end; one that takes longer than
// predicted is taken to need a tenth more.
func (c *Core) expected(b *queue.Build) queue.Instant {
	began := b.Started
	if began == 0 {
		began = c.now
	}
	took := c.predictBuild(b)
	if end := began.Add(took); end > c.now {
		return end
	}
	return c.now.Add(took / 10)
}

// predictBuild predicts how long a build takes from its start.
func (c *Core) predictBuild(b *queue.Build) time.Duration {
	if b.Predicted > 0 {
		return b.Predicted
	}
	var total time.Duration
	for _, j := range b.Jobs {
		for _, k := range j.Keys {
			total += c.duration(j.Step.Name, k.Target)
		}
	}
	return total
}

// consider turns a link into a candidate for those of the given keys that
// nothing runs yet; builds that run the others get the credit.
func (p *planning) consider(cand candidate, keys []queue.Key) {
	for _, k := range keys {
		if f := p.facts[k.ID()]; f != nil && f.build != nil {
			p.credit(f.build, cand.value)
			continue
		}
		cand.keys = append(cand.keys, k)
	}
	for _, keys := range byCommit(cand.link, cand.keys) {
		cand.keys = keys
		p.found = append(p.found, cand)
	}
}

// byCommit parts keys of a link by the commit that each is verified on.
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
	root := p.root()
	if root == nil {
		return
	}
	m := &p.s.Main
	cand := candidate{link: root, value: valueMain, aim: aim{kind: queue.WorthMain}, always: true}
	p.consider(cand, p.onlyRunning(root))
	if root.Parent != m.Tip {
		return // main has moved on; what runs tells about most of its keys nonetheless
	}
	p.consider(cand, p.dueKeys(root, m.Retry))
}

// dueKeys returns which keys of a root link are to be built now: the missing
// ones, and after a pause those that have failed. The pause is proposed here: retry is
// when it ends, or 0.
func (p *planning) dueKeys(root *queue.Link, retry queue.Instant) []queue.Key {
	if retry > p.now {
		p.lookAt(retry)
		return nil
	}
	st := p.state(root)
	keys := slices.Clone(st.missing)
	switch {
	case len(st.broken) == 0:
	case retry == 0:
		p.propose(pause{root.ID})
	default:
		for _, e := range st.broken {
			for _, k := range e.Keys {
				if !p.passed(k) && !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

func (p *planning) onlyRunning(l *queue.Link) []queue.Key {
	var keys []queue.Key
	for i, f := range p.info(l).facts {
		if f.build != nil {
			keys = append(keys, l.Keys[i])
		}
	}
	return keys
}

// backoff is the pause before main's red keys are run for the n-th time again.
func backoff(n int) time.Duration { return min(time.Minute<<min(n, 10), 30*time.Minute) }

// unrunRetry is the longest pause before what no runner could run is tried again: to
// install a tool takes minutes, and to find that it is not there takes no time.
const unrunRetry = 5 * time.Minute

// untilRetry is the pause after a build of main that has brought no result, the n-th in a
// row. Whether a runner can run the command at all is found out at once.
func (c *Core) untilRetry(b *queue.Build, n int) time.Duration {
	if !c.couldNotRun(b) {
		return backoff(n)
	}
	if n <= c.rules().Retries {
		return time.Second
	}
	return min(backoff(n), unrunRetry)
}

// couldNotRun reports whether a runner could not run a command of a build.
func (c *Core) couldNotRun(b *queue.Build) bool {
	for i := range b.Jobs {
		e := c.s.Ledger[opaqueID(b.Jobs[i].Keys)]
		if e != nil && e.Unrun() && slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return f.Build == b.ID }) {
			return true
		}
	}
	return false
}

// window is how many pending changes are planned for: enough to fill the slots
// three times over.
func (c *Core) window() int { return 3*c.s.Slots + 8 }

// paths considers the futures of each pending change.
func (p *planning) paths() {
	n, most := 0, p.window()
	if p.seatsAt != p.seating || len(p.seats) != len(p.order) {
		p.seats, p.seatsAt = make([]*node, len(p.order)), p.seating
	}
	for i, id := range p.order {
		if n >= most {
			return
		}
		x := p.seats[i]
		if x == nil {
			x = p.node(id)
			p.seats[i] = x
		}
		if x == nil || !x.made && len(p.firstAhead(id)) > maxDepth {
			continue
		}
		edges := p.edges(x)
		if p.flooded(id) {
			p.answer(x, answer{code: queue.ReasonWaitsQuota})
			continue
		}
		if (len(edges) > 0 || !p.verified[id]) && p.inTurn(id) {
			n++
		}
		found := len(p.found)
		p.path(x, edges)
		if p.rollupOf(id) != nil {
			p.found = p.found[:found] // it is built with the others
		}
	}
}

// path considers a change's likeliest future, and those near it.
func (p *planning) path(n *node, edges []edge) {
	p.weigh(n)
	mindOf(n).odds = p.expect(n, edges)
	need := p.likeliest(n, edges)
	p.seeLikely(n, edges)
	f := &mindOf(n).likely
	if first := n.ch.Builds == 0; !n.dealt || mindOf(n).deal.first != first || mindOf(n).deal.single != p.single {
		f.need(edges, mindOf(n).chance)
		p.makeDeal(f, edges, first, &mindOf(n).deal)
		n.dealt, mindOf(n).flipped = true, false
	}
	mindOf(n).plan = p.plans
	mindOf(n).end = max(p.ends(n, f), need)
	aging := p.aging(n.ch)
	if n.ch.Stale && f.blind > 0 {
		p.answer(n, answer{code: queue.ReasonAnalyzing})
		return // what it affects is not known
	}
	aging *= p.benefit(n.ch)
	if n.ch.Apart && len(edges) > 0 {
		p.answer(n, answer{code: queue.ReasonWaitsApart})
		return
	}
	switch {
	case len(edges) == 0:
		if p.verified[n.id] && (p.Aboard[n.id] || p.Boarding[n.id]) {
			p.answer(n, answer{code: queue.ReasonWaitsTrain})
			if p.Boarding[n.id] {
				p.keep(n, aging)
			}
			return // it is merged where it will land; another path of its own would tell nothing new
		}
		p.alone(n, f, aging)
		return
	case f.status == failed && p.regardless(n, nil) == failed:
		p.onMain(n) // it may be rejected, if it fails on main as it is
	}
	switch st := p.offer(n, edges, f, &mindOf(n).deal, f.mean*aging, aim{kind: queue.WorthLikeliest}); {
	case st == conflicting:
		mindOf(n).odds = unmergeable
	case f.status == verified:
		mindOf(n).odds = max(mindOf(n).odds, proven)
	}
	p.flips(n, edges, f, aging)
	p.spares(n, edges, f, f.mean*aging)
}

// alone considers a change that nobody is ahead of: nothing is assumed, and
// what is known of it decides. Where the assumption keys say that it may land or
// not and nothing comes of that, the merge itself is asked.
func (p *planning) alone(n *node, f *future, aging float64) {
	if f.status == unknown {
		p.offer(n, nil, f, &mindOf(n).deal, aging, aim{kind: queue.WorthAlone})
		return
	}
	l := p.onMain(n)
	if l == nil {
		p.answer(n, answer{code: queue.ReasonWaitsResolve})
		return
	}
	st := p.state(l)
	p.answer(n, answer{code: queue.ReasonWaitsKnown, known: st.status})
	if st.status == unknown {
		p.consider(candidate{link: l, change: n.id, value: aging, aim: aim{kind: queue.WorthAlone}, always: true}, without(st.missing, st.tree))
	}
}

// onMain returns the link of a change on main alone; it is resolved where it is
// not.
func (p *planning) onMain(n *node) *queue.Link {
	l, rest, _ := p.walk(p.front(), []queue.ChangeID{n.id})
	if l == nil {
		p.merges(rest)
	}
	return l
}

// follow walks a path from where main will be, and has it resolved where it is
// not. A member of the base that does not merge is taken as not landing. There is
// nothing to resolve where that is below the change itself.
func (p *planning) follow(id queue.ChangeID, base []queue.ChangeID) (*queue.Link, want) {
	for {
		l, rest, void := p.walk(p.front(), append(slices.Clone(base), id))
		if void == "" {
			return l, rest
		}
		ok := false
		if base, ok = p.dropVoid(base, void, id); !ok {
			return nil, want{} // nor does it, then
		}
	}
}

func without(keys, drop []queue.Key) []queue.Key {
	if len(drop) == 0 {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return slices.Contains(drop, k) })
}
