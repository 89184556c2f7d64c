package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// named reports whether the targets of all undecided changes of a build (crew) are known by
// name, so that each result of a target tells of some of them.
func (c *blaming) named(crew []queue.ChangeID) bool {
	return len(crew) > 0 && !slices.ContainsFunc(crew, func(id queue.ChangeID) bool { return c.facts.Futures.AffectedBy(id).All })
}

// outcomes keeps the results of targets in a build, with the changes that may be to blame for
// them: those in the build that affect the target, and those below it that have landed and that
// one of these has not been tested with yet.
func (c *blaming) outcomes(b *queue.Build, crew []queue.ChangeID, targets []string, passed bool) {
	in := map[queue.ChangeID]bool{}
	for _, id := range append(below(b), b.Change) {
		if id != "" {
			in[id] = true
		}
	}
	l := c.s.Links[b.Link]
	for _, id := range crew {
		if rec := c.s.Beliefs[id]; rec != nil {
			for other := range rec.Pairs {
				if !in[other] && c.landedBelow(l, other) {
					in[other] = true
				}
			}
		}
	}
	all := derived.Sorted(in)
	with := c.concerned(all, targets)
	for i, name := range targets {
		x := queue.Outcome{Passed: passed, With: with[i]}
		if len(x.With) == 0 {
			continue
		}
		o := c.s.Outcomes[name]
		if o == nil {
			o = &queue.Outcomes{Target: name}
			c.s.Outcomes[name] = o
		}
		if o.Add(x) {
			c.touch(queue.KindOutcomes, name)
		}
	}
}

// concerned returns by target which changes affect it, in their order.
func (c *blaming) concerned(changes []queue.ChangeID, targets []string) [][]queue.ChangeID {
	out, at := make([][]queue.ChangeID, len(targets)), make(map[int]int, len(targets))
	for i, name := range targets {
		at[c.facts.Futures.Assumed.Number(name)] = i
	}
	_, everything := at[derived.Everything]
	for _, id := range changes {
		a := c.facts.Futures.AffectedBy(id)
		switch {
		case a == nil:
		case a.All || everything || len(a.Targets) > len(at):
			for t, i := range at {
				if a.Touches(t) {
					out[i] = append(out[i], id)
				}
			}
		default:
			for _, t := range a.Targets {
				if i, asked := at[t]; asked {
					out[i] = append(out[i], id)
				}
			}
		}
	}
	return out
}

// forgetOutcomes forgets results that tell nothing of a change without a verdict.
func (c *blaming) forgetOutcomes() {
	for name, o := range c.s.Outcomes {
		n := len(o.Sets)
		o.Sets = slices.DeleteFunc(o.Sets, func(x queue.Outcome) bool {
			return !slices.ContainsFunc(x.With, func(id queue.ChangeID) bool {
				ch := c.s.Changes[id]
				return ch != nil && !ch.Phase.Final()
			})
		})
		if len(o.Sets) == n {
			continue
		}
		if len(o.Sets) == 0 {
			delete(c.s.Outcomes, name)
		}
		c.touch(queue.KindOutcomes, name)
	}
}
