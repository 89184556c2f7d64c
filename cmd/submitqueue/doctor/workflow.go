package doctor

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/forgeci/workflow"
)

// ReadWorkflow reads a workflow as far as it matters to the queue's builds.
func ReadWorkflow(name string, data []byte) workflow.Workflow {
	return workflow.Read(name, data, github.BuildBranch)
}

func (r *report) workflows(f Facts) {
	if f.WorkflowsErr != nil {
		r.unread("workflows", f.WorkflowsErr)
		return
	}
	var all []workflow.Workflow
	for _, file := range f.Workflows {
		w := ReadWorkflow(file.Path, file.Data)
		if w.Err != nil {
			r.add(Warns, "workflows", fmt.Sprintf("%s: %v", w.Path, w.Err), "GitHub shows what is wrong on the repository's Actions page")
			continue
		}
		all = append(all, w)
	}
	bad := len(r.list)
	r.actions(f, all)
	r.required(f, all)
	r.awaited(f, all)
	var starting []string
	for _, w := range all {
		r.workflow(w)
		if w.Starts {
			starting = append(starting, path.Base(w.Path))
		}
	}
	switch {
	case len(r.list) > bad:
	case len(starting) > 0:
		r.fine("workflows", "builds start %s", strings.Join(starting, ", "))
	case len(all) > 0:
		r.fine("workflows", "no workflow runs on push to %s**: GitHub Actions builds nothing for the queue, its own runners do", github.BuildBranch)
	default:
		r.fine("workflows", "there are none")
	}
	r.heads(f, all)
}

// actions judges whether GitHub runs workflows for our pushes at all. No interface
// shows policies on the right to start workflows (workflow execution protections); only runs
// that they have refused show them.
func (r *report) actions(f Facts, all []workflow.Workflow) {
	starts := slices.ContainsFunc(all, func(w workflow.Workflow) bool { return w.Starts })
	switch {
	case f.ActionsErr != nil && !errors.Is(f.ActionsErr, forge.ErrForbidden):
		r.unread("actions", f.ActionsErr)
	case f.ActionsErr == nil && f.Actions.Off && starts:
		r.add(Blocks, "actions", "GitHub Actions is switched off for the repository, and builds are to start workflows", "switch it on: Settings > Actions > General, there or in the organization")
	}
	if x := f.Actions.Refused; x != nil {
		r.add(Blocks, "actions", fmt.Sprintf("GitHub has refused to start %s for a push of the App (%s, %s)", x.Path, x.Branch, x.URL),
			fmt.Sprintf("where the run says that the event or the actor is not allowed: let the App %s and the event push start workflows, Settings > Actions > Policies, there or in the organization or enterprise; else mend the workflow", f.App.Slug))
	}
}

// required looks for the workflows that report the checks that the branch requires of
// every pushed commit.
func (r *report) required(f Facts, all []workflow.Workflow) {
	for _, c := range requiredChecks(f) {
		var lists, elsewhere []string
		for _, w := range all {
			switch {
			case w.Reports(c.Context) && w.Starts:
				lists = append(lists, path.Base(w.Path))
			case w.Reports(c.Context):
				elsewhere = append(elsewhere, path.Base(w.Path))
			}
		}
		says := fmt.Sprintf("%s takes only commits on which %q has passed", f.Branch, c.Context)
		bypass := "or put the App on the bypass list of the rule"
		if c.classic {
			says += ", and no App can bypass a required check of branch protection"
			bypass = "or require it by a ruleset in place of the branch protection, with the App on its bypass list"
		}
		switch {
		case len(lists) > 0:
		case len(elsewhere) > 0:
			r.add(Blocks, "checks", fmt.Sprintf("%s, and %s, which reports it, does not run for builds", says, strings.Join(elsewhere, ", ")),
				fmt.Sprintf("add to it: on: push: branches: ['%s**'], %s", github.BuildBranch, bypass))
		default:
			r.add(Warns, "checks", says+", and no workflow here reports it", fmt.Sprintf("let the CI that reports it run on push to %s**, %s", github.BuildBranch, bypass))
		}
	}
}

// awaited looks for the workflows that report the checks that steps of the
// configuration wait for on builds.
func (r *report) awaited(f Facts, all []workflow.Workflow) {
	c, err := config.Parse(config.Path, f.Config)
	if err != nil {
		return // that is a separate finding
	}
	for _, step := range c.Steps {
		for _, c := range step.Checks {
			if c.App != "" && c.App != config.AppActions {
				continue // no workflow reports it
			}
			check := c.Name
			starts, elsewhere := "", ""
			r.twice(step, check, all)
			r.skipped(step, check, all)
			for _, w := range all {
				name := path.Base(w.Path)
				switch {
				case !w.Reports(check):
				case !w.Starts:
					elsewhere = name
				default:
					starts = name
					if step.Counts == config.CountsTree && (w.Paths || len(w.Parts) > 0) {
						r.add(Blocks, "checks", fmt.Sprintf("step %q says covers: tree, and %s verifies only a part of what is pushed (%s)", step.Name, name, strings.Join(w.Chooses(), ", ")),
							"take covers: tree off the step, or let the workflow verify everything")
					}
				}
			}
			says := fmt.Sprintf("step %q waits for the check %q", step.Name, check)
			switch {
			case starts != "":
			case elsewhere != "":
				r.add(Blocks, "checks", fmt.Sprintf("%s, and %s, which reports it, does not run for builds", says, elsewhere),
					fmt.Sprintf("add to it: on: push: branches: ['%s**']", github.BuildBranch))
			default:
				r.add(Warns, "checks", says+", and no workflow here reports it", fmt.Sprintf("let the CI that reports it run on push to %s**, or mend the name", github.BuildBranch))
			}
		}
	}
}

// twice reports a check that several workflows report for one build: it has passed when
// it has passed in all of them.
func (r *report) twice(step config.Step, check string, all []workflow.Workflow) {
	var names []string
	for _, w := range all {
		if w.Starts && w.Reports(check) {
			names = append(names, path.Base(w.Path))
		}
	}
	if len(names) > 1 {
		r.add(Warns, "checks", fmt.Sprintf("step %q waits for the check %q, which %s all report for a build: it has passed when all of their runs are over and none says otherwise", step.Name, check, strings.Join(names, ", ")),
			"give the jobs names of their own, and name those that decide in checks")
	}
}

// skipped reports a check if its job is skipped after the failure of another job that the
// step does not wait for: then nothing says that the build has failed.
func (r *report) skipped(step config.Step, check string, all []workflow.Workflow) {
	for _, w := range all {
		for _, n := range w.Needs {
			if !w.Starts || !(workflow.Workflow{Checks: []string{n.Check}}).Reports(check) {
				continue
			}
			missing := slices.DeleteFunc(slices.Clone(n.Others), func(other string) bool {
				return slices.ContainsFunc(step.Checks, func(c config.Check) bool { return (workflow.Workflow{Checks: []string{other}}).Reports(c.Name) })
			})
			if len(missing) > 0 {
				r.add(Warns, "checks", fmt.Sprintf("step %q waits for the check %q, whose job in %s needs %s first: it appears late, and where one of these fails it is skipped, which is no result", step.Name, check, path.Base(w.Path), strings.Join(missing, ", ")),
					"name these in the step's checks, too, or give the job if: always() and let it fail")
			}
		}
	}
}

func (r *report) workflow(w workflow.Workflow) {
	name := path.Base(w.Path)
	if w.Merges && !w.Starts {
		r.add(Warns, "workflows", name+" runs for GitHub's own merge queue (merge_group) and not for this one", fmt.Sprintf("add: push: branches: ['%s**']", github.BuildBranch))
	}
	if !w.Starts {
		return
	}
	if w.Paths {
		r.add(Warns, "workflows", name+" has a filter on paths: where it does not start, its checks never appear and the build waits for them", "take paths and paths-ignore off its push, and let jobs decide")
	}
	if w.Stops {
		r.add(Warns, "workflows", name+" stops a run when another of the same group begins, and builds of the queue are in the same group", "put ${{ github.ref }} into concurrency.group")
	}
	if len(w.Parts) > 0 {
		r.add(Warns, "workflows", fmt.Sprintf("%s verifies what has changed as it sees it (%s); on a build, which stands on other changes, that must be what the queue asked for", name, strings.Join(w.Parts, ", ")),
			"verify the targets that the queue names, or everything")
	}
}
