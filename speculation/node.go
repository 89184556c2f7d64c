package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// node is a pending change as the plan sees it. It is derived memory, kept
// between turns: what of it can have changed is marked by whoever changes it,
// and looked at again when the plan comes to it.
type node struct {
	id    queue.ChangeID
	ch    *queue.Change
	x     *affects
	share []float64 // by target: of the whole change's work
	cost  float64   // seconds of all its targets, one after the other
	edges []edge    // to the undecided changes ahead, in order
	made  bool      // edges are up to date

	weighed bool  // share and cost are up to date
	fair    bool  // the plan has taken in all of the edges
	shape   bool  // it has taken in what the targets' assumption keys are
	dealt   bool  // it has taken in what is known of them
	stirs   []int // positions of targets of which something new may be known
	stirred bool  // there were too many of them to keep: it may be of any

	memory Memory // what the plan remembers of it; nil: nothing
}

// Memory is what a plan keeps of a node between turns.
type Memory interface {
	// Leave takes in that the change ahead at a place is gone, of so many.
	Leave(at, of int)
}

// place is a target of a node.
type place struct {
	n  *node
	at int
}

// edge leads to an undecided change ahead.
type edge struct {
	to     *node
	shared []int   // positions in the targets of the one behind that the one ahead affects
	q      float64 // chance that the two are red together where each is green alone
	below  bool    // the one behind is on top of the one ahead, in a stack
}

// strong is the chance above which a pair counts on its own; the weak ones of a
// change are one factor.
const strong = 0.02

// node returns what the plan remembers of a change in the order, or nil.
func (c *Core) node(id queue.ChangeID) *node {
	if n := c.nodes[id]; n != nil {
		return n
	}
	x := c.affectedBy(id)
	if x == nil {
		return nil
	}
	n := &node{id: id, ch: c.s.Changes[id], x: x}
	c.nodes[id] = n
	for i, t := range x.targets {
		for len(c.nodesAt) <= t {
			c.nodesAt = append(c.nodesAt, nil)
		}
		c.nodesAt[t] = append(c.nodesAt[t], place{n, i})
	}
	return n
}

// forgetNode gives up what the plan remembers of a change.
func (c *Core) forgetNode(id queue.ChangeID) {
	n := c.nodes[id]
	if n == nil {
		return
	}
	delete(c.nodes, id)
	c.seating++
	for _, t := range n.x.targets {
		c.nodesAt[t] = slices.DeleteFunc(c.nodesAt[t], func(p place) bool { return p.n == n })
	}
}

// stir has everybody whom a target concerns look at it again.
func (c *Core) stir(target int) {
	if target < len(c.nodesAt) {
		for _, p := range c.nodesAt[target] {
			n := p.n
			n.dealt = false
			if n.stirs = append(n.stirs, p.at); len(n.stirs) > 2*len(n.x.targets)+8 {
				n.stirs, n.shape, n.stirred = n.stirs[:0], false, true // nobody has looked for long
			}
		}
	}
}

// shift takes in that a change has come onto the line: assumption keys of what
// it affects have moved.
func (c *Core) shift(x *affects) {
	if x.all {
		for _, n := range c.nodes {
			n.shape = false
		}
		return
	}
	for _, t := range x.targets {
		if t < len(c.nodesAt) {
			for _, p := range c.nodesAt[t] {
				p.n.shape = false
			}
		}
	}
	if len(c.nodesAt) > 0 {
		for _, p := range c.nodesAt[everything] {
			p.n.shape = false
		}
	}
}

// weigh spreads a change's work over its targets, by what they have cost so far.
func (c *Core) weigh(n *node) {
	if n.weighed {
		return
	}
	n.weighed, n.dealt = true, false
	n.share = resize(n.share, len(n.x.targets))
	total := 0.0
	for i, t := range n.x.targets {
		n.share[i] = c.targetCost(t)
		total += n.share[i]
	}
	n.cost = total
	for i := range n.share {
		if total > 0 {
			n.share[i] /= total
		}
	}
}

// newCost takes in that what a target costs has been seen again.
func (c *Core) newCost(t int) {
	if t < len(c.costs) {
		c.costs[t] = 0
	}
	if t < len(c.nodesAt) {
		for _, p := range c.nodesAt[t] {
			p.n.weighed = false
		}
	}
}

// reweigh has all futures looked at again where failures that name no target are
// known: they count on what they stood on (setFails), and part of that has just landed.
func (c *Core) reweigh() {
	if len(c.sets) > 0 {
		for _, n := range c.nodes {
			n.shape, n.dealt = false, false
		}
	}
}

// newRules takes in that the configuration has changed.
func (c *Core) newRules() {
	clear(c.costs)
	for _, n := range c.nodes {
		n.weighed = false
	}
	c.assumed.stale = true
	for _, f := range c.facts {
		c.changed(f)
	}
	for id := range c.spare { // all sets are among them
		if e := c.s.Ledger[id]; e != nil {
			c.weighSet(id, e)
		}
	}
}

// targetCost predicts how long the steps of main take on one target, in seconds.
func (c *Core) targetCost(t int) float64 {
	if t == everything || c.s.Main.Config == nil {
		return 1
	}
	for len(c.costs) <= t {
		c.costs = append(c.costs, 0)
	}
	if c.costs[t] == 0 {
		d := time.Millisecond
		for _, s := range c.s.Main.Config.Steps {
			if s.Scope != config.ScopeRepository && s.Covers(c.assumed.names[t]) {
				d += c.duration(s.Name, c.assumed.names[t])
			}
		}
		c.costs[t] = d.Seconds()
	}
	return c.costs[t]
}

// edges brings a node's edges up to date and returns them: of more than maxDepth
// only the first.
func (c *Core) edges(n *node) []edge {
	if n.made {
		return n.edges
	}
	old := n.edges
	n.edges = make([]edge, 0, len(old)+4)
	for _, a := range c.firstAhead(n.id) {
		to := c.node(a)
		if to == nil {
			continue
		}
		// Who stays ahead keeps its place relative to the others.
		if at := slices.IndexFunc(old, func(e edge) bool { return e.to == to }); at >= 0 {
			n.edges, old = append(n.edges, old[at]), old[at+1:]
			continue
		}
		n.edges = append(n.edges, edge{to: to, shared: common(n.x, to.x), q: c.pairChance(a, n.id), below: c.isBelow(to.ch, n.ch)})
	}
	n.made, n.fair, n.shape, n.dealt = true, false, false, false
	return n.edges
}

// common returns the positions among a change's targets of those that another
// affects, too. There may be none where two changes conflict by what they do to
// the graph: then only the gate can tell.
func common(n, with *affects) []int {
	var out []int
	if !n.all && !with.all && len(n.targets) > 8*len(with.targets) {
		for _, t := range with.targets {
			if i, ok := slices.BinarySearch(n.targets, t); ok {
				out = append(out, i)
			}
		}
		return out
	}
	if !n.all && !with.all {
		for i, j := 0, 0; i < len(n.targets) && j < len(with.targets); {
			switch a, b := n.targets[i], with.targets[j]; {
			case a < b:
				i++
			case a > b:
				j++
			default:
				out = append(out, i)
				i, j = i+1, j+1
			}
		}
		return out
	}
	for i := range n.targets {
		out = append(out, i)
	}
	return out
}

// future is one path of a change: who of those ahead is assumed to land, and
// what is known of it.
type future struct {
	n      *node
	takes  []bool // by edge
	status status // of the whole: unknown, verified or failed
	by     []status
	known  []*known // by target; nil: nothing is known of it
	blind  int      // targets that nothing is known of
	needed []float64
	mean   float64        // of needed, by share of work
	spare  bool           // for free slots only: whole, and at once
	deal   deal           // of one that is not the likeliest
	noLink queue.CommitID // where main will be, if it has no link from there; else empty
	serial int            // of the last link when that was seen
}

// keys returns the assumption keys of a change's targets on a future.
func (c *Core) keys(n *node, edges []edge, takes []bool, marks []mark) []mark {
	marks = resize(marks, len(n.x.targets))
	for i, t := range n.x.targets {
		marks[i] = c.assumed.at(t) ^ n.x.mark
	}
	for i := range edges {
		if e := &edges[i]; takes[i] {
			for _, p := range e.shared {
				marks[p] ^= e.to.x.mark
			}
		}
	}
	return marks
}

// see looks up what is known of a future.
func (c *Core) see(n *node, edges []edge, takes []bool, f *future) {
	f.n, f.takes = n, takes
	f.by = resize(f.by, len(n.x.targets))
	f.known = resize(f.known, len(n.x.targets))
	c.planner.looked = c.keys(n, edges, takes, c.planner.looked)
	for i, m := range c.planner.looked {
		f.by[i], f.known[i] = c.look(m)
	}
	c.sum(f)
}

// sum makes one of what is known of a future's targets.
func (c *Core) sum(f *future) {
	f.status, f.blind = verified, 0
	for i, st := range f.by {
		switch {
		case st == failed:
			f.status = failed
		case st == unknown && f.status == verified:
			f.status = unknown
		}
		if f.known[i] == nil {
			f.blind++
		}
	}
	if f.status == unknown && len(c.sets) > 0 && c.setFails(f) {
		f.status = failed
	}
}

// seeLikely brings a node's likeliest future up to date.
func (c *Core) seeLikely(n *node, edges []edge) {
	f := &mindOf(n).likely
	if n.shape && len(n.stirs) == 0 {
		return
	}
	if !n.shape {
		f.noLink = ""
		c.planner.looked = c.keys(n, edges, mindOf(n).takes, c.planner.looked)
		if n.stirred || len(mindOf(n).marks) != len(c.planner.looked) {
			n.stirred = false
			mindOf(n).marks, f.by, f.known = make([]mark, len(c.planner.looked)), make([]status, len(c.planner.looked)), make([]*known, len(c.planner.looked))
		}
		for i, m := range c.planner.looked {
			if m != mindOf(n).marks[i] {
				mindOf(n).marks[i] = m
				f.by[i], f.known[i] = c.look(m)
			}
		}
	}
	for _, i := range n.stirs {
		f.by[i], f.known[i] = c.look(mindOf(n).marks[i])
	}
	f.n, f.takes = n, mindOf(n).takes
	n.shape, n.stirs, n.dealt = true, n.stirs[:0], false
	c.sum(f)
}

// setFails reports whether keys that failed together, nobody knows which, are
// all among those of a future.
func (c *Core) setFails(f *future) bool {
	held := map[queue.Digest]bool{}
	var open []queue.Digest
	for i, k := range f.known {
		if k == nil {
			continue
		}
		for _, x := range k.from[0].facts {
			held[x.id] = true
			if f.by[i] == unknown {
				open = append(open, x.id)
			}
		}
	}
	for _, id := range open {
		for _, sid := range c.sets[id] {
			e := c.s.Ledger[sid]
			if e == nil {
				continue
			}
			if e = filtered(e, func(x queue.Failure) bool { return !x.Clouded && c.restsOn(x, c.takenBy(f)) }); !c.decides(e) {
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
func (c *Core) takenBy(f *future) []queue.ChangeID { return taken(f.n.edges, f.takes) }

func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// partOf returns the part of a change's work that verifying the given keys is.
func (c *Core) partOf(n *node, keys []queue.Key) work {
	if n.x.all {
		return work{share: 1}
	}
	in := make([]bool, len(n.x.targets))
	var part work
	for _, k := range keys {
		if t, ok := c.assumed.numbers[k.Target]; ok {
			if i, has := slices.BinarySearch(n.x.targets, t); has && !in[i] {
				in[i] = true
				part.share += n.share[i]
				part.row = max(part.row, n.share[i])
			}
		}
	}
	for i := range n.edges {
		row := 0.0
		for _, at := range n.edges[i].shared {
			if in[at] {
				row += n.share[at]
			}
		}
		part.row = max(part.row, row)
	}
	return part
}
