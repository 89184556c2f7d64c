package workflow

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/goccy/go-yaml"
)

// Workflow is what a workflow of GitHub Actions does when a build is pushed.
type Workflow struct {
	Path   string
	Starts bool     // a push to a branch of builds starts it
	Paths  bool     // but only where the push changes certain paths
	Heads  bool     // a push to a branch of any name starts it, such as a pull request's
	Pulls  bool     // pull requests start it
	Merges bool     // it runs for GitHub's own merge queue
	Checks []string // the checks it reports; those that cannot be told end in "*"
	Maybe  []string // those of Checks whose jobs have a condition, for which they may be skipped
	Needs  []Need   // jobs that begin when others have passed
	Stops  bool     // a later run in the same group stops the earlier one, on any branch
	Parts  []string // commands that choose what to verify by comparing commits
	Err    error    // it could not be read

	pushes    bool           // some push starts it
	pulled    bool           // the event pull_request starts it
	pullPaths bool           // but only where certain paths are changed
	jobs      map[string]any // as they are written
	all       map[string]any
}

// Need is a job that begins when others of its workflow have passed, and is skipped
// when one of them fails.
type Need struct {
	Check  string   // as in Checks
	Others []string // theirs
}

// maxWorkflow bounds the size of a workflow that is read.
const maxWorkflow = 256 << 10

// Read reads the parts of a workflow that matter here. The names of the branches of builds
// begin with builds, such as "submitqueue/". Errors of reading are in Err.
func Read(name string, data []byte, builds string) (w Workflow) {
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
	w.triggers(in.On, builds)
	w.jobs = in.Jobs
	if !read(data, &w.all) {
		w.Err = fmt.Errorf("this YAML cannot be read")
	}
	w.Stops = stops(in.Concurrency)
	for id, j := range in.Jobs {
		job, _ := j.(map[string]any)
		w.Checks = append(w.Checks, checkOf(id, job))
		if condition, is := job["if"]; is && !holds.MatchString(fmt.Sprint(condition)) {
			w.Maybe = append(w.Maybe, checkOf(id, job))
		}
		w.need(id, job, in.Jobs)
		w.Stops = w.Stops || stops(job["concurrency"])
	}
	slices.Sort(w.Checks)
	slices.Sort(w.Maybe)
	slices.SortFunc(w.Needs, func(a, b Need) int { return strings.Compare(a.Check, b.Check) })
	w.Parts = partial(string(data))
	return w
}

func (w *Workflow) triggers(on any, builds string) {
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
	pulls, pull := names["pull_request"]
	if only, is := pulls.(map[string]any); is {
		w.pullPaths = only["paths"] != nil || only["paths-ignore"] != nil
	}
	_, target := names["pull_request_target"]
	_, w.Merges = names["merge_group"]
	w.Pulls, w.pulled = pull || target, pull
	push, ok := names["push"]
	if !ok {
		return
	}
	filter, _ := push.(map[string]any)
	w.pushes = true
	w.Starts = startedBy(filter, builds+"main/build")
	w.Heads = startedBy(filter, "topic") && startedBy(filter, "team/topic")
	w.Paths = w.Starts && (filter["paths"] != nil || filter["paths-ignore"] != nil)
}

// startedBy says whether a push to a branch passes the filter.
func startedBy(filter map[string]any, branch string) bool {
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

// need notes the jobs that a job waits for, unless it runs regardless of their results.
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

// stops says whether runs of different branches stop each other.
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

	// holds matches conditions that hold on each run that nobody cancels.
	holds = regexp.MustCompile(`^\s*(?:\$\{\{)?\s*(?:true|always\(\)|success\(\)|!\s*cancelled\(\))\s*(?:\}\})?\s*$`)

	// parts are commands that verify only the changes that they find themselves.
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

// Reports says whether a workflow reports a check of this name.
func (w Workflow) Reports(check string) bool {
	return slices.ContainsFunc(w.Checks, func(have string) bool {
		if start, open := strings.CutSuffix(have, "*"); open {
			return strings.HasPrefix(check, start)
		}
		return strings.EqualFold(have, check)
	})
}

// Chooses returns the ways in which a workflow leaves out a part of the verification.
func (w Workflow) Chooses() []string {
	if w.Paths {
		return append([]string{"a filter on paths"}, w.Parts...)
	}
	return w.Parts
}
