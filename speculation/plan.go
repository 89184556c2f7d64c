package speculation

import (
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Priors and limits of the plan. The planner proper (DESIGN 8) replaces the
// priors by learned ones behind the same functions; none of them can change a
// verdict.
const (
	goodVerified = 0.98
	goodFailed   = 0.05
	minChance    = 0.01
	maxDepth     = 128 // changes ahead beyond which no path is followed
	preemptGain  = 2.0 // what takes a running build's slot must be worth this much more
	valueMain    = 1000
	valueTrain   = 100
	parkedHours  = 7 * 24 // beyond this nobody waits for a chance to improve
)

// candidate is a build that could be worth running.
type candidate struct {
	link   *queue.Link
	chain  []queue.ChangeID
	keys   []queue.Key
	value  float64
	why    string
	always bool // not subject to the threshold: nothing is assumed
	spare  bool // only where slots are free when everything else has been served
}

// planning is the working state of one plan.
type planning struct {
	*Core
	found  []candidate
	credit map[queue.BuildID]float64
	unsure map[queue.ChangeID]bool // changes whose likeliest path is not resolved: what they need is not known
	looked map[queue.ChangeID]bool
	belief map[queue.ChangeID]float64
	began  map[queue.ChangeID]queue.Instant // when the first of a change's live builds began
}

// plan chooses builds. It reads facts and beliefs and writes builds only: it
// has no word for landing or rejecting.
func (c *Core) plan() {
	c.sortOrder()
	if c.s.Main.Tip == "" || c.s.Main.Config == nil {
		return
	}
	p := &planning{Core: c, credit: map[queue.BuildID]float64{}, unsure: map[queue.ChangeID]bool{},
		looked: map[queue.ChangeID]bool{}, belief: map[queue.ChangeID]float64{}, began: map[queue.ChangeID]queue.Instant{}}
	for _, b := range c.s.Builds {
		if !b.Cancel {
			p.began[b.Change] = queue.Earliest(p.began[b.Change], b.Started)
		}
	}
	p.main()
	p.train()
	p.paths()
	p.cancelRefuted()
	p.take()
}

// consider turns a link into a candidate for those of the given keys that
// nothing runs yet; builds that run the others get the credit.
func (p *planning) consider(cand candidate, keys []queue.Key) {
	for _, k := range keys {
		if id, ok := p.running[k.ID()]; ok && !p.s.Builds[id].Cancel {
			p.credit[id] = max(p.credit[id], cand.value)
			continue
		}
		cand.keys = append(cand.keys, k)
	}
	if len(cand.keys) > 0 {
		p.found = append(p.found, cand)
	}
}

// main considers the keys of main itself: the unproven ones at once, the red
// ones again with back-off.
func (p *planning) main() {
	root := p.root()
	if root == nil {
		return
	}
	m := &p.s.Main
	cand := candidate{link: root, value: valueMain, why: "main is not proven", always: true}
	p.consider(cand, p.onlyRunning(root))
	if root.Parent != m.Tip {
		return // main has moved on; what runs tells about most of its keys nonetheless
	}
	if m.Retry > p.now {
		p.wakeAt(m.Retry)
		return
	}
	st := p.state(root)
	keys := slices.Clone(st.missing)
	switch {
	case len(st.broken) == 0:
	case m.Retry == 0:
		m.Retry = p.now.Add(backoff(m.Backoff))
		p.touchMain()
		p.wakeAt(m.Retry)
	default:
		for _, e := range st.broken {
			for _, k := range e.Keys {
				if !p.passed(k) && !slices.Contains(keys, k) {
					keys = append(keys, k)
				}
			}
		}
	}
	p.consider(cand, keys)
}

func (p *planning) onlyRunning(l *queue.Link) []queue.Key {
	var keys []queue.Key
	for _, k := range l.Keys {
		if _, ok := p.running[k.ID()]; ok {
			keys = append(keys, k)
		}
	}
	return keys
}

// backoff is the pause before main's red keys are run for the n-th time again.
func backoff(n int) time.Duration { return min(time.Minute<<min(n, 10), 30*time.Minute) }

// train considers the keys on the whole tree of the links about to land.
func (p *planning) train() {
	at := p.front()
	for i, id := range p.s.Train {
		l := p.s.Links[queue.LinkOf(at, id)]
		if l == nil || l.Outcome != queue.Merged {
			return
		}
		if st := p.state(l); st.status == treeKeysOnly {
			p.looked[id] = true
			p.consider(candidate{link: l, chain: p.s.Train[:i], value: valueTrain - float64(i),
				why: "last check before it lands, on the commit that lands", always: true}, st.tree)
		}
		at = l.Commit
	}
}

// window is how many pending changes are planned for: enough to fill the slots
// three times over.
func (p *planning) window() int { return 3*p.s.Slots + 8 }

// paths considers each pending change's likeliest path and, for slots that
// stay free, the same path with the other outcome of the first undecided
// change ahead.
func (p *planning) paths() {
	n := 0
	for _, id := range p.order {
		if n >= p.window() {
			return
		}
		ahead := p.firstAhead(id)
		if len(ahead) > maxDepth {
			continue
		}
		if !p.verified[id] || len(ahead) > 0 {
			n++
		}
		p.looked[id] = true
		if len(ahead) == 0 && (p.aboard[id] || p.boarding[id]) {
			p.unsure[id] = p.boarding[id]
			continue // it is merged where it will land; a path of its own would tell nothing new
		}
		p.path(id, ahead)
	}
}

func (p *planning) path(id queue.ChangeID, ahead []queue.ChangeID) {
	ch := p.s.Changes[id]
	assumed, needed := p.likeliest(ahead)
	l := p.follow(id, assumed)
	if l == nil {
		p.unsure[id] = true
		p.belief[id] = p.good(id)
		return
	}
	st := p.state(l)
	switch st.status {
	case verified, treeKeysOnly:
		p.belief[id] = goodVerified
	case failed, conflicting, empty:
		p.belief[id] = goodFailed
	default:
		p.belief[id] = p.good(id)
	}
	if ch.Stale {
		p.unsure[id] = true
	}
	value := needed * (1 + p.now.Sub(ch.Arrival).Hours())
	why := "on main"
	if len(assumed) > 0 {
		why = fmt.Sprintf("on the likeliest future: %s first", names(assumed))
	}
	if len(ahead) > len(assumed) {
		why += fmt.Sprintf(", without %d that will probably fail", len(ahead)-len(assumed))
	}
	if st.status == unknown {
		p.consider(candidate{link: l, chain: assumed, value: value, why: why, always: len(ahead) == 0}, without(st.missing, st.tree))
	}
	if len(ahead) == 0 || len(ahead) > maxBypass {
		return
	}
	p.otherFutures(id, ahead, assumed, value)
}

// likeliest goes through the changes ahead in order and takes for each the
// likelier outcome; it returns those assumed to land and the chance that all
// assumptions hold.
func (p *planning) likeliest(ahead []queue.ChangeID) (assumed []queue.ChangeID, chance float64) {
	chance = 1
	for _, a := range ahead {
		q := p.chance(a)
		if q >= 0.5 {
			assumed = append(assumed, a)
		}
		chance *= max(q, 1-q)
	}
	return assumed, chance
}

func (p *planning) chance(id queue.ChangeID) float64 {
	if q, ok := p.belief[id]; ok {
		return q
	}
	return p.good(id)
}

// good is the chance that a change lands of which no result is known.
func (p *planning) good(id queue.ChangeID) float64 {
	q := p.model.Good(p.s.Changes[id])
	if !(q >= minChance) { // NaN, too
		return minChance
	}
	return min(q, 1-minChance)
}

// follow walks a path from where main will be, and has it resolved where it is
// not. A member of the base that does not merge is taken as not landing.
func (p *planning) follow(id queue.ChangeID, base []queue.ChangeID) *queue.Link {
	for {
		l, rest, void := p.walk(p.front(), append(slices.Clone(base), id))
		if void == "" {
			if l == nil {
				p.wants = append(p.wants, rest)
			}
			return l
		}
		base = slices.DeleteFunc(slices.Clone(base), func(x queue.ChangeID) bool { return x == void })
	}
}

func without(keys, drop []queue.Key) []queue.Key {
	if len(drop) == 0 {
		return keys
	}
	return slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return slices.Contains(drop, k) })
}

func names(ids []queue.ChangeID) string {
	if len(ids) > 3 {
		return fmt.Sprintf("%s and %d more", ids[0], len(ids)-1)
	}
	s := ""
	for i, id := range ids {
		if i > 0 {
			s += ", "
		}
		s += string(id)
	}
	return s
}
