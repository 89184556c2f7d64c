package doctor

import (
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/forgeci/gitlabci"
)

// GitLabCI is what a CI file does for builds of the queue.
type GitLabCI struct {
	Err      error
	Starts   gitlabci.Answer // there is a pipeline for them
	Lists    gitlabci.Answer // there is a pipeline for their lists of targets, which nobody needs
	Includes bool            // there may be more jobs, in other files
	Sure     []string        // jobs that are in the pipeline
	Maybe    []string        // jobs that may be in it: the file does not tell
	Never    []string        // jobs that are not in it
	Manual   []string        // jobs of the others that somebody has to start
}

// ReadGitLabCI reads a CI file as far as it matters to builds of changes to a branch,
// which is the project's default one. The branches of builds begin with a prefix. With
// asked, the server starts their pipelines by request, where the workflow's rules allow
// that; else a push starts them.
func ReadGitLabCI(data []byte, prefix, branch string, asked bool) GitLabCI {
	f := gitlabci.Read(data)
	run := gitlabci.Run{Branch: Refs(prefix)[0] + branch + "/1", Default: branch, Source: "api"}
	if !asked || f.Starts(run) == gitlabci.No {
		run.Source = "push"
	}
	lists := run
	lists.Source = "push"
	lists.Branch = Refs(prefix)[1] + branch + "/1"
	ci := GitLabCI{Err: f.Err, Starts: f.Starts(run), Lists: f.Starts(lists), Includes: f.Includes}
	some := gitlabci.No
	for _, j := range f.Jobs {
		in, manual := f.Has(j, run)
		switch {
		case j.Parallel && in != gitlabci.No:
			ci.Maybe = append(ci.Maybe, j.Name) // its jobs have other names
		case in == gitlabci.Yes:
			ci.Sure = append(ci.Sure, j.Name)
		case in == gitlabci.Maybe:
			ci.Maybe = append(ci.Maybe, j.Name)
		default:
			ci.Never = append(ci.Never, j.Name)
		}
		if manual && in != gitlabci.No {
			ci.Manual = append(ci.Manual, j.Name)
		}
		also, _ := f.Has(j, lists)
		some = max(some, also)
	}
	if run.Source == "api" {
		ci.Lists = gitlabci.No // they are pushed without a pipeline
	} else if !f.Includes {
		ci.Lists = min(ci.Lists, some) // without a job there is no pipeline
	}
	return ci
}

// LetsBuilds is the rule by which a CI file makes pipelines for builds.
func LetsBuilds(prefix string) string {
	return fmt.Sprintf(`- if: $CI_COMMIT_BRANCH =~ /^%s\//`, prefix)
}

// KeepsLists is the rule by which a CI file makes no pipelines for their lists of targets.
func KeepsLists(prefix string) string {
	return fmt.Sprintf(`- if: $CI_COMMIT_BRANCH =~ /^%s-targets\//, when: never`, prefix)
}

// rules judges whether the CI file makes pipelines for builds, with the jobs that steps
// name.
func (r *report) rules(f GitLabFacts, c *config.Config) {
	file := f.ciFile()
	if f.LintErr != nil || !f.Lint.Valid {
		return // that is a separate finding
	}
	ci := ReadGitLabCI([]byte(f.Lint.Merged), f.Prefix, f.Branch, f.setsVariables() || f.takesInputs())
	if ci.Err != nil || f.Lint.Merged == "" {
		return // GitLab accepts the file; only that counts
	}
	if ci.Starts == gitlabci.No {
		r.add(Blocks, "workflow", fmt.Sprintf("by the workflow rules of %s there is no pipeline for %s/..., so that builds wait until their time is over", file, f.Prefix), "put a rule first: "+LetsBuilds(f.Prefix))
	}
	if ci.Lists == gitlabci.Yes {
		r.add(Warns, "workflow", fmt.Sprintf("by the workflow rules of %s there is a pipeline for each %s-targets/... as well, which are lists that nobody tests", file, f.Prefix), "put a rule before the others: "+KeepsLists(f.Prefix))
	}
	for _, step := range c.Steps {
		for _, check := range step.Checks {
			switch {
			case slices.Contains(ci.Never, check.Name) && ci.Starts != gitlabci.No:
				r.add(Blocks, "workflow", fmt.Sprintf("by its rules the job %s is not in the pipelines of %s/..., so that builds wait until their time is over", check.Name, f.Prefix), "give the job a rule: "+LetsBuilds(f.Prefix))
			case slices.Contains(ci.Manual, check.Name):
				r.add(Warns, "workflow", fmt.Sprintf("somebody has to start the job %s, for which a step waits, in the pipeline of each build", check.Name), "give the job a rule that starts it: "+LetsBuilds(f.Prefix))
			}
		}
	}
	if ci.Starts == gitlabci.Maybe {
		r.fine("workflow", "whether there is a pipeline for %s/... depends on variables that only GitLab knows", f.Prefix)
	} else if ci.Starts == gitlabci.Yes {
		r.fine("workflow", "%s makes pipelines for %s/...", file, f.Prefix)
	}
}
