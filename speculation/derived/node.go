package derived

import (
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Node is a pending change as the plan sees it. It is derived memory, kept
// between turns: an event marks the parts that it can have changed, and the plan
// makes them again when it comes to the node.
type Node struct {
	ID    queue.ChangeID
	Ch    *queue.Change
	X     *Affects
	Share []float64 // by target: of the whole change's work
	cost  float64   // seconds of all its targets, one after the other
	Edges []Edge    // to the undecided changes ahead, in order
	Made  bool      // edges are up to date

	weighed bool  // share and cost are up to date
	Fair    bool  // the plan has taken in all of the edges
	Shape   bool  // it has taken in the assumption keys of the targets
	Dealt   bool  // it has taken in the results known of them
	Needed  bool  // it has taken in how likely the changes ahead decide each target, and the shares
	Stirs   []int // positions of targets of which something new may be known
	Stirred bool  // there were too many positions to keep: any target may have something new

	unproven int // a target that has not passed in all futures when that was last looked at

	Memory Memory // the plan's memory of it, or nil
}

// Memory is a plan's memory of a node between turns.
type Memory interface {
	// Leave takes in that, of so many changes ahead, the one at a place is gone.
	Leave(at, of int)
}

// Place is a target of a node.
type Place struct {
	n  *Node
	at int
}

// Edge leads to an undecided change ahead.
type Edge struct {
	To     *Node
	Shared []int   // positions, in the targets of the change behind, of targets that the change ahead affects
	Q      float64 // chance that the two are red together though each is green alone
	Below  bool    // the change behind is on top of the change ahead, in a stack
}

// Node returns the node of a change in the order, or nil.
func (fs *Futures) Node(id queue.ChangeID) *Node {
	if n := fs.Nodes[id]; n != nil {
		return n
	}
	x := fs.AffectedBy(id)
	if x == nil {
		return nil
	}
	n := &Node{ID: id, Ch: fs.s.Changes[id], X: x}
	fs.Nodes[id] = n
	for i, t := range x.Targets {
		for len(fs.nodesAt) <= t {
			fs.nodesAt = append(fs.nodesAt, nil)
		}
		fs.nodesAt[t] = append(fs.nodesAt[t], Place{n, i})
	}
	return n
}

// forgetNode drops the node of a change.
func (fs *Futures) forgetNode(id queue.ChangeID) {
	n := fs.Nodes[id]
	if n == nil {
		return
	}
	delete(fs.Nodes, id)
	fs.Order.seating++
	for _, t := range n.X.Targets {
		fs.nodesAt[t] = slices.DeleteFunc(fs.nodesAt[t], func(p Place) bool { return p.n == n })
	}
}

// stir has all nodes that a target concerns looked at again.
func (fs *Futures) stir(target int) {
	if target < len(fs.nodesAt) {
		for _, p := range fs.nodesAt[target] {
			n := p.n
			if n.Stirs = append(n.Stirs, p.at); len(n.Stirs) > 2*len(n.X.Targets)+8 {
				n.Stirs, n.Shape, n.Stirred = n.Stirs[:0], false, true // the plan has not reached it for long
			}
		}
	}
}

// shift takes in that a change has come onto the line: the assumption keys of the
// targets that it affects have changed.
func (fs *Futures) shift(x *Affects) {
	if x.All {
		for _, n := range fs.Nodes {
			n.Shape = false
		}
		return
	}
	for _, t := range x.Targets {
		if t < len(fs.nodesAt) {
			for _, p := range fs.nodesAt[t] {
				p.n.Shape = false
			}
		}
	}
	if len(fs.nodesAt) > 0 {
		for _, p := range fs.nodesAt[Everything] {
			p.n.Shape = false
		}
	}
}

// Weigh spreads a change's work over its targets, by their cost so far.
func (fs *Futures) Weigh(n *Node) {
	if n.weighed {
		return
	}
	n.weighed, n.Needed, n.Dealt = true, false, false
	n.Share = Resize(n.Share, len(n.X.Targets))
	total := 0.0
	for i, t := range n.X.Targets {
		n.Share[i] = fs.TargetCost(t)
		total += n.Share[i]
	}
	n.cost = total
	for i := range n.Share {
		if total > 0 {
			n.Share[i] /= total
		}
	}
}

// NewCost takes in a new observation of a target's cost.
func (fs *Futures) NewCost(t int) {
	if t < len(fs.costs) {
		fs.costs[t] = 0
	}
	if t < len(fs.nodesAt) {
		for _, p := range fs.nodesAt[t] {
			p.n.weighed = false
		}
	}
}

// Reweigh has all futures looked at again if there are failures that name no target.
// Such failures depend on the changes that were below them (setFails), and some of
// these have just landed.
func (fs *Futures) Reweigh() {
	if len(fs.Ledger.Sets) > 0 {
		for _, n := range fs.Nodes {
			n.Shape, n.Dealt = false, false
		}
	}
}

// NewCosts takes in that the predicted duration of any target may have changed.
func (fs *Futures) NewCosts() {
	clear(fs.costs)
	for _, n := range fs.Nodes {
		n.weighed = false
	}
}

// NewRules takes in that the configuration has changed.
func (fs *Futures) NewRules() {
	fs.NewCosts()
	fs.Assumed.stale = true
	for _, f := range fs.Ledger.Keys {
		fs.Ledger.changed(f)
	}
	for id := range fs.Ledger.spare { // all sets are among them
		if e := fs.s.Ledger[id]; e != nil {
			fs.Ledger.WeighSet(id, e)
		}
	}
}

// TargetCost predicts how long the steps of main take on one target, in seconds.
func (fs *Futures) TargetCost(t int) float64 {
	if t == Everything || fs.s.Main.Config == nil {
		return 1
	}
	for len(fs.costs) <= t {
		fs.costs = append(fs.costs, 0)
	}
	if fs.costs[t] == 0 {
		d := time.Millisecond
		for _, s := range fs.s.Main.Config.Steps {
			if s.Scope != config.ScopeRepository && s.Covers(fs.Assumed.Names[t]) {
				d += fs.Beliefs.Duration(s.Name, fs.Assumed.Names[t])
			}
		}
		fs.costs[t] = d.Seconds()
	}
	return fs.costs[t]
}

// Edges brings a node's edges up to date and returns them: if there are more than
// MaxDepth, only the first.
func (fs *Futures) Edges(n *Node) []Edge {
	if n.Made {
		return n.Edges
	}
	old := n.Edges
	n.Edges = make([]Edge, 0, len(old)+4)
	for _, a := range fs.Order.FirstAhead(n.ID) {
		to := fs.Node(a)
		if to == nil {
			continue
		}
		// A change that stays ahead keeps its place relative to the others.
		if at := slices.IndexFunc(old, func(e Edge) bool { return e.To == to }); at >= 0 {
			e := old[at]
			e.Q = fs.Beliefs.pair(a, n.ID, to.Ch, n.Ch).chance()
			n.Edges, old = append(n.Edges, e), old[at+1:]
			continue
		}
		n.Edges = append(n.Edges, Edge{To: to, Shared: Common(n.X, to.X), Q: fs.Beliefs.pair(a, n.ID, to.Ch, n.Ch).chance(), Below: fs.Order.IsBelow(to.Ch, n.Ch)})
	}
	n.Made, n.Fair, n.Shape, n.Needed, n.Dealt = true, false, false, false, false
	return n.Edges
}

// Common returns the positions, among a change's targets, of the targets that another
// change also affects. There may be none if two changes conflict by their edits of the
// dependency graph: then only the gate can tell.
func Common(n, with *Affects) []int {
	var out []int
	if !n.All && !with.All && len(n.Targets) > 8*len(with.Targets) {
		for _, t := range with.Targets {
			if i, ok := slices.BinarySearch(n.Targets, t); ok {
				out = append(out, i)
			}
		}
		return out
	}
	if !n.All && !with.All {
		for i, j := 0, 0; i < len(n.Targets) && j < len(with.Targets); {
			switch a, b := n.Targets[i], with.Targets[j]; {
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
	for i := range n.Targets {
		out = append(out, i)
	}
	return out
}

// Keys returns the assumption keys of a change's targets on a future.
func (fs *Futures) Keys(n *Node, edges []Edge, takes []bool, marks []Mark) []Mark {
	marks = Resize(marks, len(n.X.Targets))
	for i, t := range n.X.Targets {
		marks[i] = fs.Assumed.At(t) ^ n.X.Mark
	}
	for i := range edges {
		if e := &edges[i]; takes[i] {
			for _, p := range e.Shared {
				marks[p] ^= e.To.X.Mark
			}
		}
	}
	return marks
}

// Resize returns n zero values, in the memory of s if they fit.
func Resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// Span predicts how long building a part of a change takes: less than the
// whole takes, but not less than the targets take that are built in a row, as far as
// that is known.
func (n *Node) Span(part Work) time.Duration {
	whole := n.Ch.Predicted.Seconds()
	took := max((1-FixedShare)*part.Share*whole, part.Row*n.cost)
	return time.Duration(math.Round(min(whole, FixedShare*whole+took)*1e3)) * time.Millisecond
}

// FixedShare is the share of a build's time that does not shrink with its
// targets: fetching, setting up.
const FixedShare = 0.12

// Work is a part of a change's work: its share of the whole, and the share that
// is likely to be done one after the other.
type Work struct{ Share, Row float64 }
