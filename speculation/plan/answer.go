package plan

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Answer is the plan's answer for a change: why no build of its likeliest future
// begins. It is derived memory and decides nothing. A change that the last plan has not
// reached is out of the plan's window. why.go adds names and numbers for a view.
type Answer struct {
	Plan   int
	kind   queue.WorthKind // of the candidate that it is about
	Code   queue.ReasonCode
	Known  derived.Status // ReasonWaitsKnown: of the future
	Target bool           // value is a target's chance to be needed
	Value  float64        // of the candidate
	Least  float64        // the value that it had to reach; 0: the threshold
	Until  queue.Instant  // when the plan looks at it again, if nothing happens
	Place  int            // among the plan's candidates, from 1
	Rivals int
}

// answer keeps the plan's answer for a change. For a change on the train, the train's
// answer stays.
func (p *answers) answer(n *derived.Node, a Answer) {
	if n == nil || MindOf(n).Said.Plan == p.Plans && MindOf(n).Said.kind == queue.WorthTrain {
		return
	}
	a.Plan = p.Plans
	MindOf(n).Said = a
}

// answerFor keeps an answer only if it is of the future that the change is to land on.
func (p *answers) answerFor(n *derived.Node, to aim, a Answer) {
	if to.first() {
		a.kind = to.kind
		p.answer(n, a)
	}
}

// members returns the changes that a candidate is for.
func (cand *candidate) members() []queue.ChangeID {
	if cand.group != nil {
		return cand.group
	}
	return append(cand.also[:len(cand.also):len(cand.also)], cand.change)
}

// answerOf keeps an answer for all changes of a candidate.
func (p *answers) answerOf(cand candidate, a Answer) {
	if !cand.aim.first() {
		return
	}
	for _, id := range cand.members() {
		n := p.facts.Futures.Nodes[id]
		if n == nil || MindOf(n).Said.Plan != p.Plans || MindOf(n).Said.kind != cand.aim.kind && len(cand.also) == 0 {
			continue
		}
		a.Plan, a.kind, a.Value, a.Place, a.Rivals = p.Plans, cand.aim.kind, cand.value, MindOf(n).Said.Place, MindOf(n).Said.Rivals
		MindOf(n).Said = a
	}
}

// standing ranks all candidates in order and says that they wait for a slot.
func (p *answers) standing() {
	for i := range p.found {
		cand := &p.found[i]
		cand.rank = i + 1
		if !cand.aim.first() {
			continue
		}
		a := Answer{kind: cand.aim.kind, Code: queue.ReasonWaitsSlot, Value: cand.value, Place: cand.rank, Rivals: len(p.found)}
		if !cand.always && cand.value < p.worth {
			a.Code = queue.ReasonWaitsUnlikely
		}
		for _, id := range cand.members() {
			p.answer(p.facts.Futures.Nodes[id], a)
		}
	}
}

// Idle says why no target of a future is left to be built: builds of others verify it,
// or no target of it is likely enough to be needed.
func Idle(f *Future, d *Deal) Answer {
	if len(d.Busy) > 0 {
		return Answer{Code: queue.ReasonWaitsShared}
	}
	a := Answer{Code: queue.ReasonWaitsUnlikely, Target: true}
	for i, st := range f.By {
		if st == derived.Unknown {
			a.Value = max(a.Value, f.Needed[i])
		}
	}
	return a
}
