package workflow

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Folder is the folder of a repository's workflows. All files in Folders are in every hash
// (package conflict, barrier).
const Folder = ".github/workflows/"

// Folders returns the folders of workflows and of the actions that they may use.
func Folders() []string { return []string{Folder, ".github/actions/"} }

// Differs returns the reasons why a pass of a check by the workflow at a path, on one branch of
// a repository, says nothing of another branch at the same tree. Without a reason the pass
// counts there, too. files are the files in Folders of that tree, by path. builds is as in
// Read.
//
// It looks at the jobs that report the check, the jobs that they need, the local actions and
// workflows that these use, and the settings of the whole workflow. Reasons are sorted. They
// may have hostile text from the file.
func Differs(files map[string][]byte, at, check, builds string) []string {
	d := differing{files: files, why: map[string]bool{}, seen: map[string]bool{}}
	data, there := d.files[at]
	if !there {
		return []string{at + " is not in the head's tree"}
	}
	w := Read(at, data, builds)
	switch {
	case w.Err != nil:
		return []string{w.Err.Error()}
	case !w.Starts:
		return []string{fmt.Sprintf("it does not run for builds (push to %s**), so it is not what they are verified by", builds)}
	}
	if w.Paths || w.pullPaths {
		d.add("a filter on paths decides when it runs")
	}
	for name, data := range files {
		if name == at || path.Dir(name)+"/" != Folder || !strings.HasSuffix(name, ".yml") && !strings.HasSuffix(name, ".yaml") {
			continue
		}
		other := Read(name, data, builds)
		if other.Err != nil {
			d.add("%s cannot be read, and may report the same check", path.Base(name))
		} else if other.Reports(check) && other.pushes {
			d.add("%s reports the same check", path.Base(name))
		}
	}
	d.jobs(w, check)
	return d.reasons()
}

// differing collects reasons.
type differing struct {
	files map[string][]byte
	why   map[string]bool
	seen  map[string]bool // files that were read
}

func (d *differing) add(format string, args ...any) { d.why[fmt.Sprintf(format, args...)] = true }

func (d *differing) reasons() []string {
	var out []string
	for r := range d.why {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// jobs looks at the jobs that report a check, and at the jobs that they need.
func (d *differing) jobs(w Workflow, check string) {
	var open []string
	for id, j := range w.jobs {
		job, _ := j.(map[string]any)
		if (Workflow{Checks: []string{checkOf(id, job)}}).Reports(check) {
			open = append(open, id)
		}
	}
	if len(open) == 0 {
		d.add("no job of it reports the check %q, as far as can be told", check)
	}
	for name, v := range w.all {
		if name == "env" || name == "defaults" {
			d.look(name, v)
		}
	}
	done := map[string]bool{}
	for len(open) > 0 {
		id := open[0]
		if open = open[1:]; done[id] {
			continue
		}
		done[id] = true
		job, _ := w.jobs[id].(map[string]any)
		if job == nil {
			d.add("its job %s cannot be read", id)
			continue
		}
		d.job(job)
		switch needs := job["needs"].(type) {
		case string:
			open = append(open, needs)
		case []any:
			for _, n := range needs {
				open = append(open, fmt.Sprint(n))
			}
		}
	}
}

func (d *differing) job(job map[string]any) {
	if job["environment"] != nil {
		d.add("it uses an environment, whose secrets and rules may go by the branch")
	}
	if uses, calls := job["uses"].(string); calls {
		local, is := strings.CutPrefix(uses, "./")
		if is {
			d.called(local)
		} else {
			d.add("it calls %s, which is not in the tree", uses)
		}
	}
	for name, v := range job {
		switch name {
		case "concurrency", "name", "uses", "needs", "environment", "permissions":
		default:
			d.look(name, v)
		}
	}
}

// called looks into a workflow of the same tree that a job calls.
func (d *differing) called(at string) {
	data, there := d.files[at]
	if !there {
		d.add("it calls %s, which is not there", at)
		return
	}
	if d.seen[at] {
		return
	}
	d.seen[at] = true
	var in map[string]any
	if !read(data, &in) {
		d.add("it calls %s, which cannot be read", at)
		return
	}
	jobs, _ := in["jobs"].(map[string]any)
	if jobs == nil {
		d.add("it calls %s, which has no jobs", at)
	}
	for _, j := range jobs {
		if job, ok := j.(map[string]any); ok {
			d.job(job)
		}
	}
	d.look("env", in["env"])
}

// action looks into an action of the same tree that a step uses.
func (d *differing) action(at string) {
	at = path.Clean(at)
	if d.seen[at] {
		return
	}
	d.seen[at] = true
	for _, name := range []string{"action.yml", "action.yaml"} {
		data, there := d.files[path.Join(at, name)]
		if !there {
			continue
		}
		var in map[string]any
		if !read(data, &in) {
			d.add("it uses ./%s, which cannot be read", at)
		}
		d.look("runs", in["runs"])
		return
	}
	d.add("it uses ./%s, which is no known file of .github/actions", at)
}

// read parses YAML, which anybody may have written.
func read(data []byte, into any) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return len(data) <= maxWorkflow && yaml.Unmarshal(data, into) == nil
}

// look walks a part of a workflow.
func (d *differing) look(key string, v any) {
	switch v := v.(type) {
	case map[string]any:
		if uses, is := v["uses"].(string); is {
			d.uses(uses, v)
		}
		for k, x := range v {
			if k != "name" || key == "env" || key == "with" {
				d.look(k, x)
			}
		}
	case []any:
		for _, x := range v {
			d.look(key, x)
		}
	case string:
		d.text(key, v)
	}
}

func (d *differing) uses(uses string, step map[string]any) {
	name, _, _ := strings.Cut(strings.ToLower(uses), "@")
	with, _ := step["with"].(map[string]any)
	switch {
	case strings.HasPrefix(uses, "./"):
		d.action(strings.TrimPrefix(uses, "./"))
	case strings.Contains(name, "cache"):
		d.add("it uses %s, which has what earlier runs of the branch have left", uses)
	case name == "actions/checkout" && (with["ref"] != nil || with["repository"] != nil):
		d.add("it checks out something else than what was pushed (ref or repository of actions/checkout)")
	}
	for _, word := range []string{"download-artifact"} {
		if strings.Contains(name, word) && with["run-id"] != nil {
			d.add("it uses what another run has left (%s)", uses)
		}
	}
}

var (
	expression = regexp.MustCompile(`(?s)\$\{\{(.*?)\}\}`)
	// contexts matches uses of the context github, with the property, if it is named.
	contexts = regexp.MustCompile(`(?i)\bgithub\b\s*(?:\.\s*([a-z_]+)|\[)?`)
	// variables matches the variables of a run that depend on its branch, event or person.
	variables = regexp.MustCompile(`\bGITHUB_(?:REF(?:_NAME|_TYPE|_PROTECTED)?|HEAD_REF|BASE_REF|EVENT_NAME|EVENT_PATH|ACTOR(?:_ID)?|TRIGGERING_ACTOR)\b`)
	history   = regexp.MustCompile(`\bgit\s[^\n;&|]*?\b(log|show|describe|rev-list|merge-base|diff|diff-tree|show-branch|name-rev|branch)\b`)
	// same has the properties of github that are the same on each branch, or names of the run
	// or commit, on which no choice of tests depends.
	same = map[string]bool{"sha": true, "repository": true, "repository_owner": true, "repository_id": true, "repository_owner_id": true,
		"repositoryurl": true, "workspace": true, "token": true, "server_url": true, "api_url": true, "graphql_url": true, "action": true,
		"action_path": true, "action_ref": true, "action_repository": true, "action_status": true, "job": true, "workflow": true,
		"run_id": true, "run_number": true, "run_attempt": true, "retention_days": true, "env": true, "path": true}
)

// text looks at one string.
func (d *differing) text(key, s string) {
	var expressions []string
	for _, m := range expression.FindAllStringSubmatch(s, -1) {
		expressions = append(expressions, m[1])
	}
	if key == "if" {
		expressions = append(expressions, s)
	}
	for _, e := range expressions {
		for _, m := range contexts.FindAllStringSubmatch(e, -1) {
			if name := strings.ToLower(m[1]); name == "" {
				d.add("it goes by all that GitHub says of the run")
			} else if !same[name] {
				d.add("it goes by github.%s", name)
			}
		}
	}
	for _, v := range variables.FindAllString(s, -1) {
		d.add("it goes by %s", v)
	}
	for _, m := range history.FindAllStringSubmatch(s, -1) {
		d.add("it looks at the history of commits (git %s)", m[1])
	}
	if strings.Contains(s, "type=gha") {
		d.add("it uses a cache of the branch (type=gha)")
	}
	for _, p := range partial(key + ": " + s) {
		d.add("it verifies what has changed as it sees it (%s)", p)
	}
}
