package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// DefaultLanes returns the lanes of a configuration that names none: high,
// normal, which is the default one, and low.
func DefaultLanes() []Lane {
	return []Lane{{Name: "high", Benefit: 3}, {Name: "normal", Benefit: 1}, {Name: "low", Benefit: 0.5}}
}

// laneDefaults fills in lanes, projects and quotas. Permissions are filled in
// already.
func (c *Config) laneDefaults() {
	q := &c.Queue
	if len(q.Lanes) == 0 {
		q.Lanes = DefaultLanes()
	}
	if q.DefaultLane == "" {
		q.DefaultLane = usualLane(q.Lanes)
	}
	usual := q.laneAt(q.DefaultLane)
	for i := range q.Lanes {
		l := &q.Lanes[i]
		orDefault(&l.Benefit, 1)
		orDefault(&l.MaxWait, q.LaneMaxWait)
		if i < usual {
			orDefault(&l.Least, c.Permissions.Queue)
		}
		orDefault(&l.Least, c.Permissions.Land)
	}
	for i := range q.Projects {
		orDefault(&q.Projects[i].Benefit, 1)
	}
	for i := range q.Quotas {
		orDefault(&q.Quotas[i].Per, PerAll)
		orDefault(&q.Quotas[i].When, WhenContended)
	}
}

// usualLane is the lane called normal, else the last.
func usualLane(lanes []Lane) string {
	for _, l := range lanes {
		if l.Name == "normal" {
			return l.Name
		}
	}
	return lanes[len(lanes)-1].Name
}

// checkQueue reports mistakes that a single field of lanes, projects and quotas cannot show.
func checkQueue(d *document, c *Config) {
	q := &c.Queue
	lanes := map[string]int{}
	var known []string
	for i, l := range q.Lanes {
		path := fmt.Sprintf("queue.lanes[%d].name", i)
		if _, dup := lanes[l.Name]; !dup && l.Name != "" {
			known = append(known, l.Name)
		}
		d.once(path, l.Name, lanes)
	}
	if len(q.Lanes) == 0 {
		known = Rules{Lanes: DefaultLanes()}.LaneNames()
	}
	if name := q.DefaultLane; name != "" && len(known) > 0 && !slices.Contains(known, name) && !d.refused["queue.lanes"] {
		d.report("queue.default_lane", "queue.default_lane is %s, and no lane has that name%s: there are %s", quoted(name), didYouMean(name, known), strings.Join(known, ", "))
	}
	checkUsual(d, c)
	checkProjects(d, c)
	checkQuotas(d, q)
}

// checkUsual refuses a permission for the default lane: a change for which no
// lane is asked is in it, too.
func checkUsual(d *document, c *Config) {
	q := &c.Queue
	if len(q.Lanes) == 0 || d.refused["queue.lanes"] || d.refused["queue.default_lane"] {
		return
	}
	name := q.DefaultLane
	if name == "" {
		name = usualLane(q.Lanes)
	}
	i := q.laneAt(name)
	if i < 0 || q.Lanes[i].Least == "" || q.Lanes[i].Least == c.Permissions.Land || q.Lanes[i].Least == "write" {
		return
	}
	d.report(fmt.Sprintf("queue.lanes[%d].least", i), "queue.lanes[%d].least has no effect: %s is the default lane, and whoever may land is in it; set permissions.land, or delete least", i, quoted(name))
}

func checkProjects(d *document, c *Config) {
	names := map[string]int{}
	for i, p := range c.Queue.Projects {
		path := fmt.Sprintf("queue.projects[%d]", i)
		d.once(path+".name", p.Name, names)
		for j, g := range p.Targets {
			sub := fmt.Sprintf("%s.targets[%d]", path, j)
			switch {
			case g == "" || d.refused[sub]:
			case len(g) > maxGlob:
				d.report(sub, "%s has %d characters, and a glob may have at most %d", sub, len(g), maxGlob)
			case !doublestar.ValidatePattern(g):
				d.report(sub, "%s is not a valid glob: %s (is a bracket or brace not closed?)", sub, quoted(g))
			case c.Analysis.Analyzer == AnalyzerPaths && !d.refused["analysis.areas"] && !slices.ContainsFunc(c.Analysis.Areas, func(a Area) bool {
				return doublestar.MatchUnvalidated(targetGlob(g), targetGlob(a.Name))
			}):
				areas := make([]string, len(c.Analysis.Areas))
				for k, a := range c.Analysis.Areas {
					areas[k] = a.Name
				}
				d.report(sub, "%s is %s, and no area's name is like that%s", sub, quoted(g), didYouMean(g, areas))
			}
		}
	}
	if len(c.Queue.Projects) > 0 && !c.Analysis.HasTargets() && d.read("analysis") {
		d.report("queue.projects", "queue.projects name targets, but without an analyzer the tree is one target: set analysis.analyzer to go, cargo, node or paths, or delete projects")
	}
}

func checkQuotas(d *document, q *Rules) {
	names := map[string]int{}
	projects := make([]string, len(q.Projects))
	for i, p := range q.Projects {
		projects[i] = p.Name
	}
	for i, x := range q.Quotas {
		path := fmt.Sprintf("queue.quotas[%d]", i)
		d.once(path+".name", x.Name, names)
		if len(x.Authors) == 0 && x.Project == "" && x.Per != PerAuthor && !d.refused[path+".authors"] && !d.refused[path+".project"] && !d.refused[path+".per"] {
			d.report(path, "%s is about nobody: give it authors or a project, or per: author for a cap on each", path)
		}
		if x.Project != "" && !slices.Contains(projects, x.Project) && !d.refused["queue.projects"] {
			d.report(path+".project", "%s.project is %s, and none of queue.projects has that name%s", path, quoted(x.Project), didYouMean(x.Project, projects))
		}
		for j, a := range x.Authors {
			sub := fmt.Sprintf("%s.authors[%d]", path, j)
			if name := strings.TrimSuffix(a, "*"); strings.ContainsAny(name, "*@ \t\r\n") {
				d.report(sub, "%s must be a user's name without \"@\", with at most one \"*\" at its end, found %s", sub, quoted(a))
			}
		}
	}
}
