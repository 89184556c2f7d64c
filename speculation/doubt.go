package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Bounds of the failures that are remembered.
const (
	maxDoubts = 32 // failures that one change may be to blame for
	maxPlaces = 8  // failed targets of each such failure
)

// addDoubt remembers a failure that a change, or a pair, may be to blame for.
// Earlier passes of the targets with that change or pair no longer count.
func (c *blaming) addDoubt(id queue.ChangeID, d queue.Doubt, red []int) {
	rec, x := c.belief(id), c.facts.Futures.AffectedBy(id)
	tested := rec.Tested
	if d.Pair != "" {
		tested = rec.Met[d.Pair]
	}
	for i, t := range x.Places {
		if !among(red, t) {
			continue
		}
		if hasBit(tested, i) {
			tested[i/64] &^= 1 << (i % 64)
		}
		if len(d.Places) < maxPlaces {
			d.Places = append(d.Places, i)
		}
	}
	rec.Doubts = append(rec.Doubts, d)
	if len(rec.Doubts) <= maxDoubts {
		return
	}
	old := rec.Doubts[0]
	rec.Doubts = slices.Delete(rec.Doubts, 0, 1)
	if old.Pair != "" {
		c.facts.Beliefs.RethinkPair(old.Pair, id)
	}
}

// blamed is how much a change, or a pair, is to blame for the failures of some of the
// targets so far.
func (c *blaming) blamed(id, pair queue.ChangeID, red []int) float64 {
	most := 0.0
	if rec := c.s.Beliefs[id]; rec != nil {
		x := c.facts.Futures.AffectedBy(id)
		for i := range rec.Doubts {
			if d := &rec.Doubts[i]; d.Pair == pair && d.Chance > most && (len(d.Places) == 0 ||
				slices.ContainsFunc(d.Places, func(p int) bool { return among(red, x.Places[p]) })) {
				most = d.Chance
			}
		}
	}
	return most
}

// dismiss takes back the doubts about a change, or about a pair, for failures on
// targets that have passed with it now. The others are more to blame for them.
func (c *blaming) dismiss(id, pair queue.ChangeID, x *derived.Affects, passed derived.TargetSet) {
	c.absolve(id, func(d *queue.Doubt) bool {
		return d.Pair == pair && slices.ContainsFunc(d.Places, func(p int) bool { return passed.Has(x.Places[p]) })
	})
}

// absolve takes back doubts about a change, and passes the blame on.
func (c *blaming) absolve(id queue.ChangeID, innocent func(*queue.Doubt) bool) {
	rec := c.s.Beliefs[id]
	if rec == nil {
		return
	}
	var gone []queue.Doubt
	for i := range rec.Doubts {
		if innocent(&rec.Doubts[i]) {
			gone = append(gone, rec.Doubts[i])
		}
	}
	if len(gone) == 0 {
		return
	}
	rec = c.belief(id)
	rec.Doubts = slices.DeleteFunc(rec.Doubts, func(d queue.Doubt) bool { return innocent(&d) })
	for _, d := range gone {
		c.shareBlame(id, &d)
		if d.Pair != "" {
			c.facts.Beliefs.RethinkPair(d.Pair, id)
		}
	}
}

// shareBlame gives the blame of one change to the others.
func (c *blaming) shareBlame(id queue.ChangeID, from *queue.Doubt) {
	who := append(slices.Clone(from.Others), id)
	if from.Pair != "" {
		who = append(who, from.Pair)
	}
	slices.Sort(who)
	left := map[*queue.Doubt]queue.ChangeID{}
	none := 1.0
	for _, other := range slices.Compact(who) {
		if rec := c.s.Beliefs[other]; rec != nil {
			for i := range rec.Doubts {
				if d := &rec.Doubts[i]; d.Event == from.Event {
					left[d] = other
					none *= 1 - d.Weight
				}
			}
		}
	}
	for d, other := range left {
		c.belief(other)
		d.Chance = min(d.Weight/(1-none), 1-derived.MinChance)
		if d.Pair != "" {
			c.facts.Beliefs.RethinkPair(d.Pair, other)
		}
	}
}

// explain takes back the doubts about others for which a change that has been
// turned down is to blame.
func (c *blaming) explain(id queue.ChangeID) {
	for _, at := range derived.Sorted(c.s.Beliefs) {
		rec := c.s.Beliefs[at]
		var gone []queue.ChangeID
		n := len(rec.Doubts)
		rec.Doubts = slices.DeleteFunc(rec.Doubts, func(d queue.Doubt) bool {
			explained := slices.Contains(d.Others, id)
			if explained && d.Pair != "" {
				gone = append(gone, d.Pair)
			}
			return explained
		})
		if len(rec.Doubts) == n {
			continue
		}
		c.belief(at)
		for _, pair := range gone {
			c.facts.Beliefs.RethinkPair(pair, at)
		}
	}
}

// moveDoubts takes in that a change of a pair has landed. It is not to blame alone, and
// the doubts about the pair are kept with the other change.
func (c *blaming) moveDoubts(landed, id queue.ChangeID) {
	was := c.s.Beliefs[landed]
	x, y := c.facts.Futures.AffectedBy(landed), c.facts.Futures.AffectedBy(id)
	if was == nil || x == nil || y == nil {
		return
	}
	for _, d := range was.Doubts {
		if d.Pair != id {
			continue
		}
		var red []int
		for _, p := range d.Places {
			red = append(red, x.Places[p])
		}
		slices.Sort(red)
		d.Pair, d.Places = landed, nil
		c.addDoubt(id, d, red)
	}
	was.Doubts = slices.DeleteFunc(was.Doubts, func(d queue.Doubt) bool { return d.Pair == id })
}

// takeOver gives a change the blame that it shared with another change, which is
// forgotten.
func takeOver(rec *queue.Belief, other queue.ChangeID) {
	if !slices.ContainsFunc(rec.Doubts, func(d queue.Doubt) bool { return d.Pair == other }) {
		return
	}
	var doubts []queue.Doubt
	for _, d := range rec.Doubts {
		if d.Pair == other {
			d.Pair = ""
		}
		at := slices.IndexFunc(doubts, func(o queue.Doubt) bool { return o.Event == d.Event && o.Pair == "" && d.Pair == "" })
		if at < 0 {
			doubts = append(doubts, d)
			continue
		}
		o := &doubts[at]
		anybody := o.Weight / o.Chance // that anybody was to blame, before the failure
		o.Weight += (1 - o.Weight) * d.Weight
		o.Chance = min(o.Weight/anybody, 1-derived.MinChance)
	}
	rec.Doubts = doubts
}
