package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// answer is what the plan has said of a change: why no build of its likeliest
// future begins. It is derived memory and decides nothing; a change that the
// last plan has not come to is out of its window. Names and numbers are found
// when somebody asks (why.go).
type answer struct {
	plan   int
	kind   queue.WorthKind // of the candidate that it is about
	code   queue.ReasonCode
	known  status        // ReasonWaitsKnown: of the future
	target bool          // value is a target's chance to be needed
	value  float64       // of the candidate
	until  queue.Instant // when the plan looks at it again, if nothing happens
	place  int           // among the plan's candidates, from 1
	rivals int
}

// answer keeps what the plan says of a change. What lands is spoken of last by
// the train.
func (p *planning) answer(n *node, a answer) {
	if n == nil || mindOf(n).said.plan == p.plans && mindOf(n).said.kind == queue.WorthTrain {
		return
	}
	a.plan = p.plans
	mindOf(n).said = a
}

// answerFor does so where it is of the future that the change is to land on.
func (p *planning) answerFor(n *node, to aim, a answer) {
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

// answerOf says what has become of a candidate.
func (p *planning) answerOf(cand candidate, a answer) {
	if !cand.aim.first() {
		return
	}
	for _, id := range cand.members() {
		n := p.nodes[id]
		if n == nil || mindOf(n).said.plan != p.plans || mindOf(n).said.kind != cand.aim.kind && len(cand.also) == 0 {
			continue
		}
		a.plan, a.kind, a.value, a.place, a.rivals = p.plans, cand.aim.kind, cand.value, mindOf(n).said.place, mindOf(n).said.rivals
		mindOf(n).said = a
	}
}

// standing says of all candidates that they wait for a slot, in order.
func (p *planning) standing() {
	for i := range p.found {
		cand := &p.found[i]
		cand.rank = i + 1
		if !cand.aim.first() {
			continue
		}
		a := answer{kind: cand.aim.kind, code: queue.ReasonWaitsSlot, value: cand.value, place: cand.rank, rivals: len(p.found)}
		if !cand.always && cand.value < p.worth {
			a.code = queue.ReasonWaitsUnlikely
		}
		for _, id := range cand.members() {
			p.answer(p.nodes[id], a)
		}
	}
}

// idle says why nothing of a future is left to be built: builds of others verify
// it, or no target of it is likely enough to be needed.
func idle(f *future, d *deal) answer {
	if len(d.busy) > 0 {
		return answer{code: queue.ReasonWaitsShared}
	}
	a := answer{code: queue.ReasonWaitsUnlikely, target: true}
	for i, st := range f.by {
		if st == unknown {
			a.value = max(a.value, f.needed[i])
		}
	}
	return a
}

// knownWords names what a future has shown.
func knownWords(st status) string {
	switch st {
	case verified, treeKeysOnly:
		return queue.KnownPassed
	case failed:
		return queue.KnownFailed
	case conflicting:
		return queue.KnownConflict
	case empty:
		return queue.KnownEmpty
	}
	return ""
}

// sharers returns the live builds of others that verify what a change's
// likeliest future has open.
func (c *Core) sharers(n *node) []*queue.Build {
	var out []*queue.Build
	for i, k := range mindOf(n).likely.known {
		if k == nil || len(k.from) == 0 || mindOf(n).likely.by[i] != unknown {
			continue
		}
		busy, _ := k.work()
		for _, b := range busy {
			if !b.IsFor(n.id) && !slices.Contains(out, b) {
				out = append(out, b)
			}
		}
	}
	slices.SortFunc(out, func(a, b *queue.Build) int { return compareIDs(a.ID, b.ID) })
	return out
}
