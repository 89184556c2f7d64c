package derived

import (
	"slices"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Quotas cap the builds that run at one time. A build waits if its quota has no place
// left; no change is parked or rejected for that. A slot that is left when
// all others are served goes to such a build, which is then not stopped for others.
// Each quota has at least one place. The places in other quotas of the first build
// without assumptions that waits for it are kept meanwhile, so each change gets its
// turn. Builds of main and of changes about to land are counted and never wait, since
// all others wait for them.

// Portion is the place that a build takes in a quota.
type Portion struct {
	Quota  int    // of Rules.Quotas
	author string // the author, if the quota is counted for each author
}

// Recount forgets which places are taken: builds have been started or stopped.
func (fs *Quotas) Recount() { fs.rations = nil }

// Rations says which places of quotas are taken.
type Rations struct {
	taken map[Portion]int
	Keeps map[Portion]bool // places for which a build waits; the other places of the most valuable one are kept
	Seen  map[Portion]int  // changes that the plan has considered
}

// Quotas returns the quotas in force.
func (fs *Quotas) Quotas() []config.Quota {
	if fs.Without(config.IngredientQuotas) {
		return nil
	}
	return fs.Rules().Quotas
}

// Ration counts the places that live builds take.
func (fs *Quotas) Ration() *Rations {
	if fs.rations == nil {
		fs.rations = &Rations{taken: map[Portion]int{}, Keeps: map[Portion]bool{}, Seen: map[Portion]int{}}
		for _, b := range fs.s.Builds {
			for _, id := range b.For() {
				if ch := fs.s.Changes[id]; ch != nil {
					fs.rations.Take(fs.PortionsOf(ch))
				}
			}
		}
	}
	return fs.rations
}

// Take counts a build into the places that it takes.
func (r *Rations) Take(places []Portion) {
	for _, at := range places {
		r.taken[at]++
	}
}

// PortionsOf returns the places that a build of a change takes.
func (fs *Quotas) PortionsOf(ch *queue.Change) []Portion {
	var out []Portion
	for i, q := range fs.Quotas() {
		if !q.HoldsAuthor(ch.Author) || q.Project != "" && !slices.ContainsFunc(fs.projectsOf(ch.ID), func(p int) bool {
			return fs.Rules().Projects[p].Name == q.Project
		}) {
			continue
		}
		at := Portion{Quota: i}
		if q.Per == config.PerAuthor {
			at.author = strings.ToLower(ch.Author)
		}
		out = append(out, at)
	}
	return out
}

// Full returns the first of some places that is in a full quota, and whether
// there is one. Quotas that always bind come before the others.
func (fs *Quotas) Full(places []Portion) (found Portion, full bool) {
	for _, at := range places {
		q := fs.Quotas()[at.Quota]
		if fs.Ration().taken[at] < q.Limit(fs.s.Slots) {
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

// Crowded says which quota a change's next build waits for, if it does.
func (fs *Quotas) Crowded(ch *queue.Change) queue.Reason {
	if ch.Phase != queue.Pending || fs.Futures.Verified[ch.ID] || len(fs.Quotas()) == 0 || slices.Contains(fs.s.Train, ch.ID) {
		return queue.Reason{}
	}
	at, full := fs.Full(fs.PortionsOf(ch))
	if !full {
		return queue.Reason{}
	}
	q := fs.Quotas()[at.Quota]
	if q.When != config.WhenAlways && len(fs.s.Builds) < fs.s.Slots {
		return queue.Reason{}
	}
	return queue.Reason{Code: queue.ReasonWaitsQuota, Names: []string{q.Name, strconv.Itoa(q.Limit(fs.s.Slots)), string(q.When)}}
}
