package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/forgeci/gitlabci"
)

// pipelines looks at the project's CI, as far as the queue builds with it or waits for it.
func (r *report) pipelines(f GitLabFacts) {
	c, ok := f.rules()
	if !ok {
		return
	}
	off := f.Repo.Builds == "disabled"
	if f.Repo.MustSucceed {
		if off {
			r.add(Blocks, "pipelines", "pipelines must succeed before a merge, and CI is switched off: every merge request waits", "switch one of them off: "+f.page("merge_requests"))
		} else {
			r.fine("pipelines", "they must succeed: a merge request waits for its own pipeline before it lands, unless the configuration says otherwise")
		}
	}
	if !f.byForge() {
		return
	}
	if off {
		r.add(Blocks, "pipelines", "a step names jobs of GitLab's CI, which is switched off for the project", "switch it on: "+strings.TrimSuffix(f.Repo.WebURL, "/")+"/edit (Visibility, CI/CD)")
		return
	}
	r.jobs(f, c)
	r.rules(f, c)
	r.runners(f)
	r.variables(f)
}

// ciFile is the name of the CI file.
func (f GitLabFacts) ciFile() string {
	if f.Repo.CIPath != "" {
		return f.Repo.CIPath
	}
	return ".gitlab-ci.yml"
}

// jobs looks for the jobs that steps name.
func (r *report) jobs(f GitLabFacts, c *config.Config) {
	if f.LintErr != nil {
		r.unread("jobs", f.LintErr)
		return
	}
	file := f.ciFile()
	if !f.Lint.Valid {
		r.add(Blocks, "jobs", fmt.Sprintf("a step names jobs of GitLab's CI, and GitLab refuses %s: %s", file, strings.Join(f.Lint.Errors, "; ")), "put it right; its editor under Build > Pipeline editor says where")
		return
	}
	var names, unknown []string
	for _, j := range f.Lint.Jobs {
		names = append(names, j.Name)
	}
	for _, step := range c.Steps {
		for _, check := range step.Checks {
			if !hasJob(names, check.Name) {
				unknown = append(unknown, check.Name)
			}
		}
	}
	if len(unknown) > 0 {
		r.add(Warns, "jobs", fmt.Sprintf("%s on the default branch has no job %s, for which a step waits: its builds would wait until their time is over", file, strings.Join(unknown, ", ")),
			"compare checks: in "+config.Path+" with the names of the jobs; those of child pipelines are not seen, name the job that starts them")
		return
	}
	r.fine("jobs", "%s has all jobs that steps name", file)
}

// numbered matches the names that GitLab gives the jobs that parallel: makes of one.
var numbered = regexp.MustCompile(`^(.*?):? (\d+/\d+|\[.*\])$`)

func hasJob(names []string, want string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		m := numbered.FindStringSubmatch(want)
		return name == want || len(m) > 0 && m[1] == name
	})
}

func (r *report) runners(f GitLabFacts) {
	if f.RunnersErr != nil {
		r.unread("runners", f.RunnersErr)
		return
	}
	online := 0
	for _, x := range f.Runners {
		if x.Online && !x.Paused {
			online++
		}
	}
	switch {
	case online == 0 && len(f.Runners) == 0:
		r.add(Blocks, "runners", "the project has no runner, and a step is left to GitLab's CI", "give it one, or let it use those of the instance: "+f.page("ci_cd")+" (Runners)")
	case online == 0:
		r.add(Blocks, "runners", fmt.Sprintf("none of the project's runners is online (%d are known), and a step is left to GitLab's CI", len(f.Runners)), "start one, or look why it does not reach GitLab: "+f.page("ci_cd")+" (Runners)")
	default:
		r.fine("runners", "%d of %d are online", online, len(f.Runners))
	}
}

// roles are the least levels of access for setting variables, by the names in the setting.
var roles = map[string]int{"developer": developer, "maintainer": maintainer, "owner": 50}

// setsVariables reports whether the queue's account may set variables of pipelines.
func (f GitLabFacts) setsVariables() bool {
	level, known := roles[f.Repo.VariablesFrom]
	return f.Repo.VariablesFrom != "no_one_allowed" && !(known && f.Level < level)
}

// takesInputs reports whether the CI file declares inputs for the values that the queue
// gives a build's pipeline.
func (f GitLabFacts) takesInputs() bool {
	return slices.ContainsFunc(gitlabci.Inputs(f.CI), func(name string) bool { return strings.HasPrefix(name, "submitqueue_") })
}

func (r *report) variables(f GitLabFacts) {
	switch from := f.Repo.VariablesFrom; {
	case f.takesInputs():
		r.fine("variables", "%s declares inputs of the queue: the pipelines of builds are asked for, with submitqueue_build and the like", f.ciFile())
	case from == "": // versions before 17.1
	case !f.setsVariables():
		r.fine("variables", "%s may not give pipelines variables (Settings > CI/CD > Variables: %s): pushes start the pipelines of builds, without SUBMITQUEUE_BUILD and the like, unless the CI file declares inputs (spec: inputs: submitqueue_build); a build's list of targets is in the branch %s-targets/... all the same", f.Account.Name, strings.ReplaceAll(from, "_", " "), f.Prefix)
	default:
		r.fine("variables", "%s may give pipelines variables: those of builds are asked for, with SUBMITQUEUE_BUILD and the like", f.Account.Name)
	}
}
