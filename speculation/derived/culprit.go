package derived

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/culprit"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// goneBad is the chance that a change that has left without landing is to blame for a failure
// with it, before other results of the target are looked at.
const goneBad = 0.5

// leastBlame is the chance of a pair below which a failure counts for nothing against it.
const leastBlame = 0.002

// blame tells which changes are to blame for the failures of one target, as far as is known.
type blame struct {
	members []queue.ChangeID // the changes that were built with it
	who     []accused        // what was known of each
	finding culprit.Finding
	alone   map[queue.ChangeID]float64    // factor of the chance that a change is good
	pairs   map[[2]queue.ChangeID]float64 // chance that two changes, in order of their ids, break the target
}

// share is how much one target counts.
type share struct {
	target string
	q      float64
}

// shares are sorted by target, so that their product is always the same.
type shares []share

func (s shares) with(target string, q float64) shares {
	at, ok := slices.BinarySearchFunc(s, target, func(x share, t string) int { return strings.Compare(x.target, t) })
	if !ok {
		return slices.Insert(s, at, share{target, q})
	}
	s[at].q = q
	return s
}

func (s shares) without(target string) shares {
	return slices.DeleteFunc(s, func(x share) bool { return x.target == target })
}

// Blame works out again which changes are to blame for the failures of targets, where what
// is known has changed.
func (fs *Beliefs) Blame() {
	if fs.blamedAt == fs.Freshness() {
		return
	}
	fs.blamedAt = fs.Freshness()
	good, pair := fs.Rates()
	if all := (average{good, pair, fs.s.Model.Using}); fs.blamedBy != all {
		fs.blamedBy = all
		fs.acquitAll()
	}
	if fs.accusing == nil {
		fs.accusing = map[string]bool{}
		for name := range fs.s.Outcomes {
			fs.unheard[name] = true
		}
	}
	// Of targets that have only passed nobody is to blame: there may be thousands of these.
	for name := range fs.unheard {
		if o := fs.s.Outcomes[name]; o != nil && o.Failed() {
			fs.accusing[name] = true
			continue
		}
		delete(fs.accusing, name)
		fs.blamed(name, nil)
	}
	var again []string
	for name := range fs.accusing {
		b := fs.blames[name]
		if b == nil || fs.unheard[name] || !slices.Equal(b.who, fs.accused(b.members)) {
			again = append(again, name)
		}
	}
	slices.Sort(again) // targets get their numbers in this order
	for _, name := range again {
		fs.blamed(name, fs.find(name, fs.s.Outcomes[name]))
	}
	clear(fs.unheard)
}

// acquitAll forgets which changes are to blame.
func (fs *Beliefs) acquitAll() {
	clear(fs.blames)
	clear(fs.aloneIn)
	clear(fs.pairsIn)
	fs.RethinkAll()
}

// average is what all chances beforehand rest on.
type average struct {
	good, pair queue.Rate
	model      int
}

// accused is a change that was built with a target.
type accused struct {
	x     *Affects // nil: no longer known
	is    standing
	alone float64 // chance beforehand that it breaks the target alone
}

// accused returns what is known of changes now, before any result. The slice is used again.
func (fs *Beliefs) accused(members []queue.ChangeID) []accused {
	who := Resize(fs.scratch, len(members))
	fs.scratch = who
	for i, id := range members {
		a := accused{x: fs.Futures.AffectedBy(id), is: gone, alone: goneBad}
		if ch := fs.s.Changes[id]; ch != nil {
			a.is = standingOf(ch)
			switch {
			case a.is == onMain:
				a.alone = 0
			case a.is == undecided && a.x != nil:
				a.alone = (1 - fs.Prior(ch)) / float64(max(1, len(a.x.Targets)))
			}
		}
		who[i] = a
	}
	return who
}

// blamed takes in which changes are to blame for the failures of a target now; nil: none.
func (fs *Beliefs) blamed(target string, now *blame) {
	was := fs.blames[target]
	if fs.blames[target] = now; now == nil {
		delete(fs.blames, target)
		now = &blame{}
	}
	if was == nil {
		was = &blame{}
	}
	for id, q := range now.alone {
		if old, ok := was.alone[id]; !ok || old != q {
			fs.aloneIn[id] = fs.aloneIn[id].with(target, q)
			fs.Rethink(id)
		}
	}
	for id := range was.alone {
		if _, ok := now.alone[id]; !ok {
			if fs.aloneIn[id] = fs.aloneIn[id].without(target); len(fs.aloneIn[id]) == 0 {
				delete(fs.aloneIn, id)
			}
			fs.Rethink(id)
		}
	}
	again := func(pair [2]queue.ChangeID) {
		fs.Rethink(pair[0])
		fs.Rethink(pair[1])
		fs.RethinkPair(pair[0], pair[1])
	}
	for pair, q := range now.pairs {
		if old, ok := was.pairs[pair]; !ok || old != q {
			fs.pairsIn[pair] = fs.pairsIn[pair].with(target, q)
			again(pair)
		}
	}
	for pair := range was.pairs {
		if _, ok := now.pairs[pair]; !ok {
			if fs.pairsIn[pair] = fs.pairsIn[pair].without(target); len(fs.pairsIn[pair]) == 0 {
				delete(fs.pairsIn, pair)
			}
			again(pair)
		}
	}
}

// standingOf says how a change counts among those that may be to blame.
func standingOf(ch *queue.Change) standing {
	switch {
	case ch.Phase == queue.Landed:
		return onMain
	case ch.Phase.Final():
		return gone
	}
	return undecided
}

type standing uint8

const (
	undecided standing = iota
	onMain             // it is not to blame alone
	gone               // it has left without landing
)

// find works out which changes are to blame for the failures of a target that has failed.
func (fs *Beliefs) find(target string, o *queue.Outcomes) *blame {
	b := &blame{alone: map[queue.ChangeID]float64{}, pairs: map[[2]queue.ChangeID]float64{}}
	t, places := fs.Futures.Assumed.Number(target), map[queue.ChangeID]int{}
	for _, x := range o.Sets {
		for _, id := range x.With {
			if _, ok := places[id]; !ok {
				places[id] = len(b.members)
				b.members = append(b.members, id)
			}
		}
	}
	b.who = slices.Clone(fs.accused(b.members))
	c := culprit.Case{Members: len(b.members), Alone: func(i int) float64 { return b.who[i].alone },
		Pair: func(i, j int) float64 {
			x, y := &b.who[i], &b.who[j]
			if x.is == gone || y.is == gone || x.is == onMain && y.is == onMain || x.x == nil || y.x == nil {
				return 0
			}
			return fs.pairPrior(fs.s.Changes[b.members[i]], fs.s.Changes[b.members[j]]) / float64(max(1, sharedBy(x.x, y.x)))
		}}
	for _, x := range o.Sets {
		var list []int
		for _, id := range x.With {
			if i := places[id]; b.who[i].x == nil || b.who[i].x.Touches(t) {
				list = append(list, i)
			}
		}
		if x.Passed {
			c.Passed = append(c.Passed, list)
		} else {
			c.Failed = append(c.Failed, list)
		}
	}
	b.finding = culprit.Find(c)
	for _, g := range b.finding.Guesses {
		switch {
		case g.B < 0 && b.who[g.A].is == undecided:
			b.alone[b.members[g.A]] = (1 - g.Chance) / (1 - g.Before)
		case g.B >= 0 && g.Chance > leastBlame:
			b.pairs[inOrder(b.members[g.A], b.members[g.B])] = g.Chance
		}
	}
	return b
}

// pairPrior is the chance that two changes, each green on its own, are red together, before any
// result.
func (fs *Beliefs) pairPrior(a, b *queue.Change) float64 {
	q := fs.Model.Conflict(a, b)
	if !(q > 0) {
		return 0
	}
	if fs.Model.Cold() && q < 1-MinChance {
		q = predict.PairRate(fs.s.Learned.Pair, q)
	}
	return min(q, 1-MinChance)
}

// sharedBy counts the targets that both changes affect.
func sharedBy(a, b *Affects) int {
	n, i := 0, 0
	for _, t := range a.Targets {
		for i < len(b.Targets) && b.Targets[i] < t {
			i++
		}
		if i < len(b.Targets) && b.Targets[i] == t {
			n++
		}
	}
	return n
}

func inOrder(x, y queue.ChangeID) [2]queue.ChangeID {
	if y < x {
		x, y = y, x
	}
	return [2]queue.ChangeID{x, y}
}

// unblamed takes the failures of targets into the chance q that a change is good.
func (fs *Beliefs) unblamed(id queue.ChangeID, q float64) float64 {
	for _, x := range fs.aloneIn[id] {
		q *= x.q
	}
	return q
}

// blamedPair takes the failures of targets into the chance q that two changes break together.
func (fs *Beliefs) blamedPair(x, y queue.ChangeID, q float64) float64 {
	if len(fs.pairsIn) == 0 {
		return q
	}
	for _, s := range fs.pairsIn[inOrder(x, y)] {
		q = 1 - (1-q)*(1-s.q)
	}
	return min(q, 1-MinChance)
}

// Blamed reports whether a target has failed with a change, and it is not known which changes are
// to blame.
func (fs *Beliefs) Blamed(id queue.ChangeID) bool { return len(fs.aloneIn[id]) > 0 }

// Suspects returns for which failures a change may be to blame, alone or with another, and
// which others may be instead. A failure is left out if the blame for it is all but another's.
func (fs *Beliefs) Suspects(id queue.ChangeID) []queue.Suspect {
	x := fs.Futures.AffectedBy(id)
	if x == nil {
		return nil
	}
	var out []queue.Suspect
	for _, t := range x.Targets {
		b := fs.blames[fs.Futures.Assumed.Names[t]]
		if b == nil {
			continue
		}
		for _, list := range b.finding.Failures {
			for _, at := range list {
				g := b.finding.Guesses[at]
				if g.Chance < leastBlame || b.members[g.A] != id && (g.B < 0 || b.members[g.B] != id) {
					continue
				}
				s := queue.Suspect{Chance: g.Chance}
				if g.B >= 0 {
					s.Pair = b.members[g.A]
					if s.Pair == id {
						s.Pair = b.members[g.B]
					}
				}
				for _, other := range list {
					o := b.finding.Guesses[other]
					if who := b.members[o.A]; o.B < 0 && who != id && who != s.Pair && o.Chance >= leastBlame {
						s.Others = append(s.Others, who)
					}
				}
				slices.Sort(s.Others)
				out = append(out, s)
			}
		}
	}
	return out
}
