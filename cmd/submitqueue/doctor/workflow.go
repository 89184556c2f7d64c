package doctor

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Workflow is what a workflow of GitHub Actions does when a build is pushed.
type Workflow struct {
	Path   string
	Starts bool     // a push to a branch of builds starts it
	Paths  bool     // but only where the push changes certain paths
	Pulls  bool     // pull requests start it
	Merges bool     // it runs for GitHub's own merge queue
	Checks []string // the checks it reports; those that cannot be told end in "*"
	Needs  []Need   // jobs that begin when others have passed
	Stops  bool     // a later run in the same group stops the earlier one, whatever the branch
	Parts  []string // commands that choose what to verify by comparing commits
	Err    error    // it could not be read
}

// Need is a job that begins when others of its workflow have passed, and is skipped
// when one of them fails.
type Need struct {
	Check  string   // as in Checks
	Others []string // theirs
}

// maxWorkflow bounds the size of a workflow that is read.
const maxWorkflow = 256 << 10

// ReadWorkflow reads a workflow, as far as it matters here.
func ReadWorkflow(name string, data []byte) (w Workflow) {
	w.Path = name
	defer func() {
		if p := recover(); p != nil { // files of a pull request may reach the YAML library
			w.Err = fmt.Errorf("this YAML cannot be read")
		}
	}()
	if len(data) > maxWorkflow {
		w.Err = fmt.Errorf("it has %d bytes", len(data))
		return w
	}
	var in struct {
		On          any            `yaml:"on"`
		Concurrency any            `yaml:"concurrency"`
		Jobs        map[string]any `yaml:"jobs"`
	}
	if err := yaml.Unmarshal(data, &in); err != nil {
		w.Err = fmt.Errorf("this is no YAML: %s", strings.SplitN(err.Error(), "\n", 2)[0])
		return w
	}
	w.triggers(in.On)
	w.Stops = stops(in.Concurrency)
	for id, j := range in.Jobs {
		job, _ := j.(map[string]any)
		w.Checks = append(w.Checks, checkOf(id, job))
		w.need(id, job, in.Jobs)
		w.Stops = w.Stops || stops(job["concurrency"])
	}
	slices.Sort(w.Checks)
	slices.SortFunc(w.Needs, func(a, b Need) int { return strings.Compare(a.Check, b.Check) })
	w.Parts = partial(string(data))
	return w
}

func (w *Workflow) triggers(on any) {
	names := map[string]any{}
	switch on := on.(type) {
	case string:
		names[on] = nil
	case []any:
		for _, n := range on {
			names[fmt.Sprint(n)] = nil
		}
	case map[string]any:
		names = on
	}
	_, pull := names["pull_request"]
	_, target := names["pull_request_target"]
	_, w.Merges = names["merge_group"]
	w.Pulls = pull || target
	push, ok := names["push"]
	if !ok {
		return
	}
	filter, _ := push.(map[string]any)
	w.Starts = startedBy(filter)
	w.Paths = w.Starts && (filter["paths"] != nil || filter["paths-ignore"] != nil)
}

// startedBy says whether a push to a branch of builds passes the filter.
func startedBy(filter map[string]any) bool {
	const branch = github.BuildBranch + "main/build"
	if list, ok := filter["branches"]; ok {
		return matches(list, branch)
	}
	if list, ok := filter["branches-ignore"]; ok {
		return !matches(list, branch)
	}
	_, tags := filter["tags"]
	_, others := filter["tags-ignore"]
	return !tags && !others // with a filter on tags alone, branches start nothing
}

// matches follows GitHub: the last pattern that fits decides.
func matches(patterns any, branch string) (yes bool) {
	list, ok := patterns.([]any)
	if !ok {
		list = []any{patterns}
	}
	for _, p := range list {
		pattern, not := strings.CutPrefix(fmt.Sprint(p), "!")
		if ok, err := doublestar.Match(pattern, branch); err == nil && ok {
			yes = !not
		}
	}
	return yes
}

// checkOf is the name of a job's check.
func checkOf(id string, job map[string]any) string {
	name := id
	if n, ok := job["name"].(string); ok {
		name = n
	}
	if before, _, dynamic := strings.Cut(name, "${{"); dynamic {
		return before + "*"
	}
	strategy, _ := job["strategy"].(map[string]any)
	_, calls := job["uses"]
	if strategy["matrix"] != nil || calls {
		return name + "*" // "name (a, b)", "name / job"
	}
	return name
}

// need notes what a job waits for, unless it runs whatever becomes of that.
func (w *Workflow) need(id string, job, jobs map[string]any) {
	others, ok := job["needs"].([]any)
	if one, single := job["needs"].(string); single {
		others, ok = []any{one}, true
	}
	if condition := fmt.Sprint(job["if"]); !ok || strings.Contains(condition, "always()") || strings.Contains(condition, "cancelled()") {
		return
	}
	n := Need{Check: checkOf(id, job)}
	for _, other := range others {
		name := fmt.Sprint(other)
		low, _ := jobs[name].(map[string]any)
		n.Others = append(n.Others, checkOf(name, low))
	}
	slices.Sort(n.Others)
	w.Needs = append(w.Needs, n)
}

// stops says whether runs of different branches stop one another.
func stops(concurrency any) bool {
	c, ok := concurrency.(map[string]any)
	if !ok {
		return false
	}
	group := fmt.Sprint(c["group"])
	return fmt.Sprint(c["cancel-in-progress"]) == "true" && !distinct.MatchString(group)
}

var (
	distinct = regexp.MustCompile(`github\.(ref|ref_name|sha|run_id|run_number)\b`)

	// parts are commands that verify only what has changed, as they see it.
	parts = map[string]*regexp.Regexp{
		"nx affected":                regexp.MustCompile(`\bnx\b[^\n]*\baffected\b`),
		"turbo --affected":           regexp.MustCompile(`\bturbo\b[^\n]*--affected`),
		"turbo --filter=...[COMMIT]": regexp.MustCompile(`\bturbo\b[^\n]*--filter[= ][^\n]*\[`),
		"lerna --since":              regexp.MustCompile(`\blerna\b[^\n]*--since`),
		"pnpm --filter ...[COMMIT]":  regexp.MustCompile(`\bpnpm\b[^\n]*--filter[= ][^\n]*\[`),
		"dorny/paths-filter":         regexp.MustCompile(`uses:\s*['"]?dorny/paths-filter`),
		"tj-actions/changed-files":   regexp.MustCompile(`uses:\s*['"]?tj-actions/changed-files`),
		"git diff":                   regexp.MustCompile(`\bgit diff\b[^\n]*(--name-only|--name-status)`),
		"bazel-diff":                 regexp.MustCompile(`\bbazel-diff\b`),
	}
)

func partial(text string) (list []string) {
	for name, re := range parts {
		if re.MatchString(text) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// reports says whether a workflow reports a check of this name.
func (w Workflow) reports(check string) bool {
	return slices.ContainsFunc(w.Checks, func(have string) bool {
		if start, open := strings.CutSuffix(have, "*"); open {
			return strings.HasPrefix(check, start)
		}
		return strings.EqualFold(have, check)
	})
}

func (r *report) workflows(f Facts) {
	if f.WorkflowsErr != nil {
		r.unread("workflows", f.WorkflowsErr)
		return
	}
	var all []Workflow
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
}

// actions says whether GitHub runs the workflows of our pushes at all. Policies on who
// may start workflows (workflow execution protections) are told by no interface: the
// runs that they have refused show them.
func (r *report) actions(f Facts, all []Workflow) {
	starts := slices.ContainsFunc(all, func(w Workflow) bool { return w.Starts })
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

// required looks for who reports the checks that the branch requires of every
// commit that is pushed to it.
func (r *report) required(f Facts, all []Workflow) {
	for _, c := range requiredChecks(f) {
		var lists, elsewhere []string
		for _, w := range all {
			switch {
			case w.reports(c.Context) && w.Starts:
				lists = append(lists, path.Base(w.Path))
			case w.reports(c.Context):
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

// awaited looks for who reports the checks that steps of the configuration wait
// for on builds.
func (r *report) awaited(f Facts, all []Workflow) {
	c, err := config.Parse(config.Path, f.Config)
	if err != nil {
		return // it is a finding of its own
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
				case !w.reports(check):
				case !w.Starts:
					elsewhere = name
				default:
					starts = name
					if step.Counts == config.CountsTree && (w.Paths || len(w.Parts) > 0) {
						r.add(Blocks, "checks", fmt.Sprintf("step %q says covers: tree, and %s verifies only a part of what is pushed (%s)", step.Name, name, strings.Join(w.chooses(), ", ")),
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

// twice tells of a check that several workflows report for one build: it has passed
// when it has in all of them.
func (r *report) twice(step config.Step, check string, all []Workflow) {
	var names []string
	for _, w := range all {
		if w.Starts && w.reports(check) {
			names = append(names, path.Base(w.Path))
		}
	}
	if len(names) > 1 {
		r.add(Warns, "checks", fmt.Sprintf("step %q waits for the check %q, which %s all report for a build: it has passed when all of their runs are over and none says otherwise", step.Name, check, strings.Join(names, ", ")),
			"give the jobs names of their own, and name those that decide in checks")
	}
}

// skipped tells of a check whose job is skipped when another one fails that the step
// does not wait for: then nothing says that the build has failed.
func (r *report) skipped(step config.Step, check string, all []Workflow) {
	for _, w := range all {
		for _, n := range w.Needs {
			if !w.Starts || !(Workflow{Checks: []string{n.Check}}).reports(check) {
				continue
			}
			missing := slices.DeleteFunc(slices.Clone(n.Others), func(other string) bool {
				return slices.ContainsFunc(step.Checks, func(c config.Check) bool { return (Workflow{Checks: []string{other}}).reports(c.Name) })
			})
			if len(missing) > 0 {
				r.add(Warns, "checks", fmt.Sprintf("step %q waits for the check %q, whose job in %s needs %s first: it appears late, and where one of these fails it is skipped, which is no result", step.Name, check, path.Base(w.Path), strings.Join(missing, ", ")),
					"name these in the step's checks, too, or give the job if: always() and let it fail")
			}
		}
	}
}

// chooses is how a workflow leaves things out.
func (w Workflow) chooses() []string {
	if w.Paths {
		return append([]string{"a filter on paths"}, w.Parts...)
	}
	return w.Parts
}

func (r *report) workflow(w Workflow) {
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
