package doctor

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/forgeci/workflow"
)

// heads looks at each workflow that a step's checks come from. It says whether passes of the
// workflow on the head of a pull request count, or would count with earlier: count, and what
// is missing.
func (r *report) heads(f Facts, all []workflow.Workflow) {
	c, err := config.Parse(config.Path, f.Config)
	if err != nil {
		return // that is a separate finding
	}
	files := map[string][]byte{}
	for _, w := range f.Workflows {
		files[w.Path] = w.Data
	}
	for _, step := range c.Steps {
		if !step.ByForge() {
			continue
		}
		by := r.headsOf(step, files, all)
		if len(by.from) == 0 {
			continue // whether workflows report the checks is a separate finding
		}
		names, why := strings.Join(by.from, ", "), strings.Join(by.why, "; ")
		switch counts := step.CountsEarlier(); {
		case counts && why != "":
			r.add(Warns, "heads", fmt.Sprintf("step %q says earlier: count, and what %s passes on heads of pull requests counts for nothing: %s", step.Name, names, why),
				"let the jobs that decide do the same on every branch (the documentation has the list: Runners, Count what has passed on the pull request), or take earlier: count off the step")
		case counts:
			r.fine("heads", "step %q: what %s passes on heads of pull requests counts", step.Name, names)
		case why != "":
			r.fine("heads", "step %q: what %s passes on heads of pull requests could not count: %s", step.Name, names, why)
		default:
			r.fine("heads", "step %q: what %s passes on heads of pull requests would count with earlier: count, and save builds", step.Name, names)
		}
	}
}

// headRuns holds the workflows that a step's checks come from, and why their passes on
// heads prove nothing; both are sorted.
type headRuns struct{ from, why []string }

func (r *report) headsOf(step config.Step, files map[string][]byte, all []workflow.Workflow) (out headRuns) {
	for _, check := range step.Checks {
		if check.App != "" && check.App != config.AppActions {
			out.why = append(out.why, fmt.Sprintf("the check %q is of the App %s: nobody can tell which tree it is about", check.Name, check.App))
			continue
		}
		for _, w := range all {
			if !w.Reports(check.Name) || !w.Starts {
				continue // for builds, another workflow reports it
			}
			name := path.Base(w.Path)
			out.from = append(out.from, name)
			for _, why := range workflow.Differs(files, w.Path, check.Name, github.BuildBranch) {
				out.why = append(out.why, name+": "+why)
			}
			if !w.Heads && !w.SaysMerge() {
				out.why = append(out.why, name+": a push of a pull request's branch does not start it (on: push: branches), nor do runs of pull requests say which merge they test ("+workflow.TitleExample+")")
			}
		}
	}
	if step.Scope != config.ScopeRepository && step.Counts != config.CountsTree {
		out.why = append(out.why, "it does not say covers: tree")
	}
	for _, list := range []*[]string{&out.from, &out.why} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}
