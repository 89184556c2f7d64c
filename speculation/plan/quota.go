package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// borrower is a build above its quota that can have a free slot.
type borrower struct {
	cand candidate
	kept bool // its places are counted already
}

// flooded reports whether the plan has considered enough changes of a quota to
// fill all that it may have: the next ones would only take the window from
// others. It counts the change.
func (p *slots) flooded(id queue.ChangeID) bool {
	if len(p.facts.Quotas.Quotas()) == 0 || p.facts.Futures.Verified[id] {
		return false
	}
	r, most := p.facts.Quotas.Ration(), p.facts.Window()
	for _, at := range p.facts.Quotas.PortionsOf(p.s.Changes[id]) {
		r.Seen[at]++
		q := p.facts.Quotas.Quotas()[at.Quota]
		if q.When == config.WhenAlways && r.Seen[at] > 3*q.Limit(p.s.Slots)+8 || r.Seen[at] > most {
			return true
		}
	}
	return false
}

// inTurn reports whether a change is within its quotas, counted in the order. If it is
// not, it takes no part of the window.
func (p *slots) inTurn(id queue.ChangeID) bool {
	return len(p.facts.Quotas.Quotas()) == 0 || !slices.ContainsFunc(p.facts.Quotas.PortionsOf(p.s.Changes[id]), func(at derived.Portion) bool {
		return p.facts.Quotas.Ration().Seen[at] > p.facts.Quotas.Quotas()[at.Quota].Limit(p.s.Slots)
	})
}

// overQuota reports whether a candidate has to wait for its quotas. If the quota
// binds only while others wait, it is remembered for lend.
func (p *slots) overQuota(cand candidate) bool {
	ch := p.s.Changes[cand.change]
	if ch == nil || len(p.facts.Quotas.Quotas()) == 0 || !cand.spare && slices.Contains(p.s.Train, ch.ID) {
		return false
	}
	r, places := p.facts.Quotas.Ration(), p.facts.Quotas.PortionsOf(ch)
	at, full := p.facts.Quotas.Full(places)
	if !full {
		return false
	}
	p.answers.answerOf(cand, Answer{Code: queue.ReasonWaitsQuota})
	kept := cand.always && !r.Keeps[at]
	if kept {
		r.Keeps[at] = true
		r.Take(places)
	}
	if p.facts.Quotas.Quotas()[at.Quota].When != config.WhenAlways {
		p.lent = append(p.lent, borrower{cand: cand, kept: kept})
	}
	return true
}

// occupy takes the places of a candidate that runs now or next.
func (p *slots) occupy(cand candidate) {
	if ch := p.s.Changes[cand.change]; ch != nil && len(p.facts.Quotas.Quotas()) > 0 {
		p.facts.Quotas.Ration().Take(p.facts.Quotas.PortionsOf(ch))
	}
}

// lend starts builds that are above a quota in the slots that are left, and
// returns how many slots are left then.
func (p *slots) lend(free int) int {
	over := p.lent
	p.lent = nil
	for _, x := range over {
		if free <= 0 {
			break
		}
		if at, full := p.facts.Quotas.Full(p.facts.Quotas.PortionsOf(p.s.Changes[x.cand.change])); full && !x.kept && p.facts.Quotas.Quotas()[at.Quota].When == config.WhenAlways {
			continue // the place was taken since
		}
		if x.cand.link == nil && !p.merge(&x.cand) {
			free--
			continue
		}
		if !p.ready(&x.cand) {
			continue
		}
		if !x.kept {
			p.occupy(x.cand)
		}
		p.start(x.cand)
		free--
	}
	return free
}
