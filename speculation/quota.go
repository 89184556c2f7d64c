package speculation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Quotas cap the builds that run at one time. A build for which its quota has
// no place left waits; nothing is parked or rejected for that. A quota that
// binds while others wait lets it have a slot that is left when everybody else
// has been served, and what then runs is not stopped for others. Because each
// quota has at least one place, and the first build that waits for it and assumes
// nothing has its places in other quotas kept meanwhile, each change gets its
// turn. Builds of main and of what is about to land are counted
// and never wait: all others wait for them.

// portion is the place that a build takes in a quota.
type portion struct {
	quota  int    // of Rules.Quotas
	author string // of a quota that is counted for each author
}

// rations says which places of quotas are taken.
type rations struct {
	taken map[portion]int
	keeps map[portion]bool // the most valuable build that waits for one has its other places kept
	seen  map[portion]int  // changes that the plan has considered
}

// borrower is a build that can have a slot that nobody else wants.
type borrower struct {
	cand candidate
	kept bool // its places are counted
}

// quotas returns the quotas in force.
func (c *Core) quotas() []config.Quota {
	if c.without(config.IngredientQuotas) {
		return nil
	}
	return c.rules().Quotas
}

// ration counts the places that live builds take.
func (c *Core) ration() *rations {
	if c.rations == nil {
		c.rations = &rations{taken: map[portion]int{}, keeps: map[portion]bool{}, seen: map[portion]int{}}
		for _, b := range c.s.Builds {
			for _, id := range b.For() {
				if ch := c.s.Changes[id]; ch != nil {
					c.rations.take(c.portionsOf(ch))
				}
			}
		}
	}
	return c.rations
}

func (r *rations) take(places []portion) {
	for _, at := range places {
		r.taken[at]++
	}
}

// portionsOf returns the places that a build of a change takes.
func (c *Core) portionsOf(ch *queue.Change) []portion {
	var out []portion
	for i, q := range c.quotas() {
		if !q.HoldsAuthor(ch.Author) || q.Project != "" && !slices.ContainsFunc(c.projectsOf(ch.ID), func(p int) bool {
			return c.rules().Projects[p].Name == q.Project
		}) {
			continue
		}
		at := portion{quota: i}
		if q.Per == config.PerAuthor {
			at.author = strings.ToLower(ch.Author)
		}
		out = append(out, at)
	}
	return out
}

// full returns the first of some places whose quota has none left, those that
// bind always before the others, and false where there is none.
func (c *Core) full(places []portion) (found portion, full bool) {
	for _, at := range places {
		q := c.quotas()[at.quota]
		if c.ration().taken[at] < q.Limit(c.s.Slots) {
			continue
		}
		if q.When == config.WhenAlways {
			return at, true
		}
		if !full {
			found, full = at, true
		}
	}
	return found, full
}

// flooded reports whether the plan has considered enough changes of a quota to
// fill all that it may have: the next ones would only take the window from
// others. It counts the change.
func (p *planning) flooded(id queue.ChangeID) bool {
	if len(p.quotas()) == 0 || p.verified[id] {
		return false
	}
	r, most := p.ration(), p.window()
	for _, at := range p.portionsOf(p.s.Changes[id]) {
		r.seen[at]++
		q := p.quotas()[at.quota]
		if q.When == config.WhenAlways && r.seen[at] > 3*q.Limit(p.s.Slots)+8 || r.seen[at] > most {
			return true
		}
	}
	return false
}

// inTurn reports whether a change is within its quotas, going by the order: if
// not, it takes no part of the window.
func (p *planning) inTurn(id queue.ChangeID) bool {
	return len(p.quotas()) == 0 || !slices.ContainsFunc(p.portionsOf(p.s.Changes[id]), func(at portion) bool {
		return p.ration().seen[at] > p.quotas()[at.quota].Limit(p.s.Slots)
	})
}

// overQuota reports whether a candidate has to wait for its quotas. Where others
// may want the slot more, but need not, it is remembered for lend.
func (p *planning) overQuota(cand candidate) bool {
	ch := p.s.Changes[cand.change]
	if ch == nil || len(p.quotas()) == 0 || !cand.spare && slices.Contains(p.s.Train, ch.ID) {
		return false
	}
	r, places := p.ration(), p.portionsOf(ch)
	at, full := p.full(places)
	if !full {
		return false
	}
	p.answerOf(cand, answer{code: queue.ReasonWaitsQuota})
	kept := cand.always && !r.keeps[at]
	if kept {
		r.keeps[at] = true
		r.take(places)
	}
	if p.quotas()[at.quota].When != config.WhenAlways {
		p.lent = append(p.lent, borrower{cand: cand, kept: kept})
	}
	return true
}

// occupy takes the places of a candidate that runs now or next.
func (p *planning) occupy(cand candidate) {
	if ch := p.s.Changes[cand.change]; ch != nil && len(p.quotas()) > 0 {
		p.ration().take(p.portionsOf(ch))
	}
}

// lend starts builds that are above a quota in the slots that are left, and
// returns how many slots are left then.
func (p *planning) lend(free int) int {
	over := p.lent
	p.lent = nil
	for _, x := range over {
		if free <= 0 {
			break
		}
		if at, full := p.full(p.portionsOf(p.s.Changes[x.cand.change])); full && !x.kept && p.quotas()[at.quota].When == config.WhenAlways {
			continue // taken since
		}
		if x.cand.link == nil && !p.merge(&x.cand) {
			free--
			continue
		}
		x.cand.keys = slices.DeleteFunc(slices.Clone(x.cand.keys), func(k queue.Key) bool {
			f := p.facts[k.ID()]
			return f != nil && f.build != nil
		})
		if len(x.cand.keys) == 0 || !p.affordable(x.cand) {
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

// crowded says which quota a change's next build waits for, if it does.
func (c *Core) crowded(ch *queue.Change) queue.Reason {
	if ch.Phase != queue.Pending || c.verified[ch.ID] || len(c.quotas()) == 0 || slices.Contains(c.s.Train, ch.ID) {
		return queue.Reason{}
	}
	at, full := c.full(c.portionsOf(ch))
	if !full {
		return queue.Reason{}
	}
	q := c.quotas()[at.quota]
	if q.When != config.WhenAlways && len(c.s.Builds) < c.s.Slots {
		return queue.Reason{}
	}
	return queue.Reason{Code: queue.ReasonWaitsQuota, Names: []string{q.Name, strconv.Itoa(q.Limit(c.s.Slots)), string(q.When)}}
}
