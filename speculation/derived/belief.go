package derived

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

const MinChance = 0.001

const FirstGuess = 0.95 // share of predictions that come true, before any has

// ClampChance replaces a chance outside the bounds by the nearest bound, and NaN by the
// lower one.
func ClampChance(q float64) float64 {
	if !(q >= MinChance) {
		return MinChance
	}
	return min(q, 1-MinChance)
}

// Good is the chance that a change is green on its own.
func (fs *Beliefs) Good(id queue.ChangeID) float64 {
	if b := fs.s.Beliefs[id]; b != nil {
		q := b.Good
		for i := range b.Doubts {
			if d := &b.Doubts[i]; d.Pair == "" {
				q = min(q, 1-d.Chance)
			}
		}
		return ClampChance(fs.unblamed(id, q))
	}
	return ClampChance(fs.unblamed(id, fs.Prior(fs.s.Changes[id])))
}

// Prior is the chance that a change is green on its own before anything of it is known.
// If the model knows only an average, the queue's own results correct it.
func (fs *Beliefs) Prior(ch *queue.Change) float64 {
	if ch.Guess.Good > 0 {
		return ClampChance(ch.Guess.Good)
	}
	return fs.untrained(ch)
}

// untrained is Prior without the answer of a trained model.
func (fs *Beliefs) untrained(ch *queue.Change) float64 {
	q := fs.Model.Good(ch)
	if fs.Model.Cold() && q > MinChance && q < 1-MinChance {
		q = predict.GoodRate(fs.s.Learned.Good, q)
	}
	return ClampChance(q)
}

// Ask has predictions come from another model from now on. Earlier predictions stay with
// their changes.
func (fs *Beliefs) Ask(m predict.Model) {
	fs.Model = m
	fs.acquitAll()
	fs.blamedAt = Freshness{}
	fs.Blame()
}

// Read asks a model that reads cases about a change that has just been analyzed, with a
// footprint, and keeps its answers with the change.
func (fs *Beliefs) Read(ch *queue.Change, f *queue.Footprint) {
	ch.Guess = queue.Guess{}
	r, ok := fs.Model.(predict.Reader)
	if !ok {
		return
	}
	said := fs.Story(ch)
	g := queue.Guess{}
	if q, ok := r.GoodOf(said); ok {
		g.Raw = ClampChance(q)
		g.Shifted = ClampChance(predict.Shifted(fs.s.Learned.Shift, g.Raw))
		g.Without = fs.untrained(ch)
		g.Good = predict.Blend(fs.s.Learned.Credit.Good, g.Shifted, g.Without)
	}
	if d, ok := r.DurationOf(said); ok {
		g.Took = time.Duration(max(0, min(d.Quantile(0.5), predict.Longest.Seconds())) * float64(time.Second))
		g.Usual = fs.estimate(f)
	}
	if g != (queue.Guess{}) {
		g.Model = fs.s.Model.Using
	}
	ch.Guess = g
}

// PairChance is the chance that two changes, each green on its own, are red
// together.
func (fs *Beliefs) PairChance(x, y queue.ChangeID) float64 {
	return fs.pair(x, y, fs.s.Changes[x], fs.s.Changes[y]).chance()
}

// PairBase is PairChance without the failures that count against the pair.
func (fs *Beliefs) PairBase(x, y queue.ChangeID) float64 {
	return fs.pair(x, y, fs.s.Changes[x], fs.s.Changes[y]).base()
}

// Holder returns a pair in such an order that the record of the second change holds the
// pair: the second is the undecided change, or the later by id.
func (fs *Beliefs) Holder(x, y queue.ChangeID) (queue.ChangeID, queue.ChangeID) {
	p := fs.pair(x, y, fs.s.Changes[x], fs.s.Changes[y])
	return p.x, p.y
}

// pair is two changes in the order of Holder, and the record that holds the pair. A change may be
// forgotten, and there may be no record.
type pair struct {
	*Beliefs
	x, y queue.ChangeID
	a, b *queue.Change
	held *queue.Belief
}

func (fs *Beliefs) pair(x, y queue.ChangeID, a, b *queue.Change) pair {
	gone := a != nil && a.Phase.Final()
	if late := b != nil && b.Phase.Final(); gone == late && x > y || late && !gone {
		x, y, a, b = y, x, b, a
	}
	return pair{fs, x, y, a, b, fs.s.Beliefs[y]}
}

func (p pair) base() float64 {
	if p.held != nil {
		if q, ok := p.held.Pairs[p.x]; ok {
			return q
		}
	}
	if b := p.s.Beliefs[p.x]; b != nil { // if one has just landed, its record may still hold the pair
		if q, ok := b.Pairs[p.y]; ok {
			return q
		}
	}
	if p.a == nil || p.b == nil {
		return 0
	}
	return p.pairPrior(p.a, p.b)
}

func (p pair) chance() float64 {
	q := p.base()
	if p.held != nil {
		for i := range p.held.Doubts {
			if d := &p.held.Doubts[i]; d.Pair == p.x {
				q = max(q, d.Chance)
			}
		}
	}
	return p.blamedPair(p.x, p.y, q)
}

// Rethink has the chance of a change worked out again.
func (fs *Beliefs) Rethink(id queue.ChangeID) {
	if n := fs.Futures.Nodes[id]; n != nil {
		n.Fair = false
	}
}

// RethinkAll has the chances of all changes worked out again.
func (fs *Beliefs) RethinkAll() {
	for _, n := range fs.Futures.Nodes {
		n.Fair = false
	}
}

// RethinkPair takes in that the chance of a pair has changed.
func (fs *Beliefs) RethinkPair(x, y queue.ChangeID) {
	q := fs.PairChance(x, y)
	for _, at := range []struct{ n, to queue.ChangeID }{{x, y}, {y, x}} {
		if n := fs.Futures.Nodes[at.n]; n != nil {
			for i := range n.Edges {
				if n.Edges[i].To.ID == at.to {
					n.Edges[i].Q = q
					n.Fair = false
				}
			}
		}
	}
}

// Accuracy returns the share of predictions that have come true lately.
func (fs *Beliefs) Accuracy() float64 {
	if fs.s.Accuracy == 0 {
		return FirstGuess
	}
	return fs.s.Accuracy
}

// Rates returns the rates that hold if a model knows only an average.
func (fs *Beliefs) Rates() (good, pair queue.Rate) {
	return predict.Coarse(fs.s.Learned.Good), predict.Coarse(fs.s.Learned.Pair)
}
