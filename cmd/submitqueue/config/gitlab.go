package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/doctor"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/workers/forgeci/gitlabci"
)

// gitlabFile is the CI file of a project on GitLab, unless the project says otherwise.
const gitlabFile = ".gitlab-ci.yml"

// gitlabHint writes comments about a CI file of GitLab: which jobs a step may name, and
// what the file lacks for that.
func (t tree) gitlabHint(b *bytes.Buffer) {
	if !t.Has(gitlabFile) {
		return
	}
	ci := doctor.ReadGitLabCI([]byte(t.Read(gitlabFile)), strings.TrimSuffix(buildRefs, "/"), "main", false)
	if ci.Err != nil {
		fmt.Fprintf(b, "# %s cannot be read: %s\n", gitlabFile, print.OneLine(ci.Err.Error()))
		return
	}
	line := func(format string, args ...any) { fmt.Fprintf(b, "# "+format+"\n", args...) }
	named := func(list []string) string {
		out := make([]string, len(list))
		for i, name := range list {
			out[i] = print.FlowYAML(print.OneLine(name))
		}
		return strings.Join(out, ", ")
	}
	jobs := slices.DeleteFunc(slices.Concat(ci.Sure, ci.Maybe), func(name string) bool { return slices.Contains(ci.Manual, name) })
	if len(jobs) == 0 {
		jobs = slices.Concat(ci.Manual, ci.Never)
	}
	if len(jobs) == 0 {
		return
	}
	line("On GitLab, a step may wait for jobs of %s on each build in place of run: checks: [%s]", gitlabFile, named(jobs))
	prefix := strings.TrimSuffix(buildRefs, "/")
	if ci.Starts == gitlabci.No {
		line("For that, put this first under workflow: rules: in %s, which makes no pipelines for builds by now:", gitlabFile)
		line("  %s", doctor.LetsBuilds(prefix))
	} else if ci.Starts == gitlabci.Maybe {
		line("Whether there are pipelines for builds depends on variables that %s does not set; this under workflow: rules: makes them:", gitlabFile)
		line("  %s", doctor.LetsBuilds(prefix))
	}
	if len(ci.Never) > 0 && len(ci.Sure)+len(ci.Maybe) > 0 {
		line("Not in pipelines of builds by their rules: %s", named(ci.Never))
	} else if len(ci.Never) > 0 {
		line("By their rules, none of these jobs is in pipelines of builds; give those that decide the rule: %s", doctor.LetsBuilds(prefix))
	}
	if len(ci.Manual) > 0 {
		line("Somebody has to start these in each pipeline: %s", named(ci.Manual))
	}
	if len(ci.Maybe) > 0 {
		line("Of these, the names or the rules depend on what only GitLab knows: %s", named(ci.Maybe))
	}
	if ci.Lists != gitlabci.No {
		line("Builds come with lists of targets in branches of their own, for which no pipeline is needed; under workflow: rules:")
		for _, part := range strings.Split(doctor.KeepsLists(prefix), ", ") {
			if part == "when: never" {
				part = "  " + part
			}
			line("  %s", part)
		}
	}
	if ci.Includes {
		line("It includes other files, whose jobs and rules are not known here; submitqueue doctor --forge gitlab asks GitLab.")
	}
}
