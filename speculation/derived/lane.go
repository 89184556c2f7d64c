package derived

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Benefit is how many times more a build is worth for a change than for a change of
// benefit 1: the benefit of its lane times the greatest benefit of its projects.
func (fs *Facts) Benefit(ch *queue.Change) float64 {
	lane, project := fs.Benefits(ch)
	return lane * project
}

// Benefits returns how many times more builds of a change are worth by its lane, and by its
// project: 1 if none is configured.
func (fs *Facts) Benefits(ch *queue.Change) (ofLane, ofProject float64) {
	if ch.Now != nil {
		return nowBenefit, 1
	}
	if fs.Without(config.IngredientBenefit) {
		return 1, 1
	}
	rules := fs.Rules()
	lane, best := 0.0, 0.0
	for i := range rules.Lanes {
		if l := &rules.Lanes[i]; l.Name == ch.Lane {
			lane = l.Benefit
			break
		}
	}
	for _, i := range fs.projectsOf(ch.ID) {
		best = max(best, orOne(rules.Projects[i].Benefit))
	}
	return orOne(lane), orOne(best)
}

func orOne(benefit float64) float64 {
	if benefit == 0 {
		return 1
	}
	return benefit
}

// Projects remembers which projects changes belong to, under one configuration.
type Projects struct {
	config *config.Config
	of     map[queue.ChangeID]project
}

type project struct {
	footprint *queue.Footprint // the footprint that it was found by
	list      []int            // of Rules.Projects
}

// projectsOf returns the configured projects that a change belongs to.
func (fs *Facts) projectsOf(id queue.ChangeID) []int {
	if len(fs.Rules().Projects) == 0 {
		return nil
	}
	f := fs.s.Footprints[id]
	if f == nil {
		return nil
	}
	p := &fs.Quotas.projects
	if p.config != fs.s.Main.Config || len(p.of) > 2*len(fs.s.Footprints) {
		*p = Projects{config: fs.s.Main.Config, of: map[queue.ChangeID]project{}}
	}
	got, ok := p.of[id]
	if !ok || got.footprint != f {
		got = project{footprint: f}
		for i, x := range fs.Rules().Projects {
			if f.In(x) {
				got.list = append(got.list, i)
			}
		}
		p.of[id] = got
	}
	return got.list
}

const nowBenefit = 500 // how many times more its builds are worth
