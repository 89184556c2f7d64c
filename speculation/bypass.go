package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// otherFutures considers the paths that a bypass needs: the likeliest path with
// another outcome of one change ahead, and all others once the likeliest is
// proven. They take slots that stay free; but where the one change will be
// undecided for much longer than this build takes, both outcomes are needed for
// what they are worth together ("CI at Scale", 2025: P_needed over changes that
// may be bypassed; here for one at a time).
func (p *planning) otherFutures(id queue.ChangeID, ahead, assumed []queue.ChangeID, value float64) {
	for mask := range 1 << len(ahead) {
		chain := subset(ahead, mask, id)
		base := chain[:len(chain)-1]
		other := difference(ahead, base, assumed)
		if len(other) == 0 || len(other) > 1 && !p.verified[id] {
			continue
		}
		slow := len(other) == 1 && p.late(other[0], id)
		if !slow && !p.verified[id] && other[0] != ahead[0] {
			continue
		}
		l := p.follow(id, base)
		if l == nil {
			continue
		}
		st := p.state(l)
		if st.status != unknown {
			continue
		}
		cand := candidate{link: l, chain: base, value: value, why: "in case " + names(other) + " does not land", spare: true}
		if slices.Contains(base, other[0]) {
			cand.why = "in case " + names(other) + " lands"
		}
		for _, a := range other {
			q := p.chance(a)
			cand.value *= min(q, 1-q) / max(q, 1-q)
		}
		if slow {
			cand.value, cand.spare = max(cand.value, value*bypassWorth), false
			cand.why += "; it would be long before that is known"
		}
		p.consider(cand, without(st.missing, st.tree))
	}
}

// difference returns the members of ahead that are in one of a and b only.
func difference(ahead, a, b []queue.ChangeID) []queue.ChangeID {
	var out []queue.ChangeID
	for _, x := range ahead {
		if slices.Contains(a, x) != slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	return out
}

// Of a bypass.
const (
	bypassWorth = 0.8 // of the likeliest path's value
	lateFactor  = 2   // how many times longer than the bypassing change the other takes
)

// late reports whether a change ahead will be undecided for so long that the
// one behind it has both its results well before. A build that has run for
// longer than was predicted is taken to need half as long again as it has: what
// is late tends to stay so.
func (p *planning) late(ahead, id queue.ChangeID) bool {
	mine := p.s.Changes[id].Predicted
	if mine <= 0 || p.verified[ahead] {
		return false
	}
	started := p.began[ahead]
	var elapsed time.Duration
	if started != 0 {
		elapsed = p.now.Sub(started)
		p.wakeAt(started.Add(2 * lateFactor * mine))
	}
	return max(p.s.Changes[ahead].Predicted-elapsed, elapsed/2) >= lateFactor*mine
}

// predictBuild predicts how long a build takes from its start.
func (c *Core) predictBuild(b *queue.Build) time.Duration {
	var total time.Duration
	for _, j := range b.Jobs {
		for _, k := range j.Keys {
			total += c.duration(j.Step.Name, k.Target)
		}
	}
	return total
}
