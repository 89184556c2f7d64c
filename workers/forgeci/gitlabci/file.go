package gitlabci

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Answer is whether something happens, as far as the file tells.
type Answer int

// The answers.
const (
	No Answer = iota
	Maybe
	Yes
)

// Run is the branch and the source of a pipeline.
type Run struct {
	Branch  string
	Default string // branch of the project
	Source  string // "push", "api", ...
}

// File is a CI file, as it was read.
type File struct {
	Err      error    // it could not be read
	Includes bool     // there is more in other files
	Jobs     []Job    // sorted by name
	Inputs   []string // that its header declares and that take any text, sorted
	workflow []rule
	governed bool // there are workflow rules
	vars     map[string]*string
	varied   []string // variables that workflow rules set for a pipeline, in place of vars
}

// Job is one job of a file.
type Job struct {
	Name     string
	Manual   bool // it waits for somebody to start it, independent of its rules
	Parallel bool // it becomes several jobs, with numbers or words after the name
	rules    []rule
	ruled    bool
	only     []string
	except   []string
	limited  bool // only or except has keys that this package does not know
	vars     map[string]*string
}

// rule is one of a list of rules. The first rule that holds decides.
type rule struct {
	If      string
	unknown bool   // it has a condition besides If that is not known here
	when    string // "never": nothing happens; "manual": somebody has to start it
}

// global are the keys at the top level that are no jobs.
var global = []string{"default", "include", "stages", "variables", "workflow", "image", "services", "cache", "before_script", "after_script", "spec", "types"}

// Read reads a file.
func Read(data []byte) (f File) {
	header, top, err := documents(data)
	if err != nil {
		f.Err = errors.New(strings.TrimSpace(yaml.FormatError(err, false, false)))
		return f
	}
	f.Inputs = inputsOf(header["spec"])
	_, f.Includes = top["include"]
	f.vars = variablesOf(top["variables"])
	if w, ok := top["workflow"].(map[string]any); ok {
		f.workflow, f.governed = rulesOf(w["rules"])
		f.varied = variedBy(w["rules"])
	}
	for name, value := range top {
		body, ok := value.(map[string]any)
		if !ok || slices.Contains(global, name) || strings.HasPrefix(name, ".") {
			continue
		}
		body, err := extended(top, body, 0)
		if err != nil {
			f.Err = fmt.Errorf("job %s: %w", name, err)
			continue
		}
		f.Jobs = append(f.Jobs, jobOf(name, body))
	}
	slices.SortFunc(f.Jobs, func(a, b Job) int { return strings.Compare(a.Name, b.Name) })
	return f
}

// deepest bounds the depth of extends.
const deepest = 11

// extended is a job with what it extends; its own keys come first. Jobs in other files are left
// out.
func extended(top, body map[string]any, depth int) (map[string]any, error) {
	if depth > deepest {
		return nil, errors.New("extends leads in a circle")
	}
	out := map[string]any{}
	for _, name := range listOf(body["extends"]) {
		parent, ok := top[name].(map[string]any)
		if !ok {
			continue
		}
		parent, err := extended(top, parent, depth+1)
		if err != nil {
			return nil, err
		}
		merge(out, parent)
	}
	for k, v := range body {
		if k != "extends" {
			merge(out, map[string]any{k: v})
		}
	}
	return out, nil
}

// merge puts keys into a job as extends does: maps are merged, all else is replaced.
func merge(into, from map[string]any) {
	for k, v := range from {
		old, is := into[k].(map[string]any)
		if more, also := v.(map[string]any); is && also {
			both := maps.Clone(old)
			merge(both, more)
			v = both
		}
		into[k] = v
	}
}

func jobOf(name string, body map[string]any) Job {
	j := Job{Name: name, vars: variablesOf(body["variables"]), Manual: body["when"] == "manual"}
	_, j.Parallel = body["parallel"]
	if j.rules, j.ruled = rulesOf(body["rules"]); j.ruled {
		for i := range j.rules {
			if j.rules[i].when == "" {
				j.rules[i].when, _ = body["when"].(string)
			}
		}
		j.Manual = false
	}
	j.only, j.limited = refsOf(body["only"])
	var more bool
	j.except, more = refsOf(body["except"])
	j.limited = j.limited || more
	return j
}

// refsOf reads only and except: names of refs, and whether there is more to them.
func refsOf(v any) (refs []string, more bool) {
	m, ok := v.(map[string]any)
	if !ok {
		return listOf(v), false
	}
	for key := range m {
		more = more || key != "refs"
	}
	return listOf(m["refs"]), more
}

func rulesOf(v any) (list []rule, there bool) {
	items, ok := v.([]any)
	if !ok {
		return nil, v != nil
	}
	for _, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			list = append(list, rule{unknown: true}) // such as !reference
			continue
		}
		r := rule{}
		r.If, _ = m["if"].(string)
		r.when, _ = m["when"].(string)
		_, r.unknown = m["exists"] // changes is true for a branch that is new
		if changes, ok := m["changes"].(map[string]any); ok && changes["compare_to"] != nil {
			r.unknown = true // but for these
		}
		list = append(list, r)
	}
	return list, true
}

// variedBy returns the variables that rules set.
func variedBy(rules any) (names []string) {
	items, _ := rules.([]any)
	for _, item := range items {
		m, _ := item.(map[string]any)
		set, _ := m["variables"].(map[string]any)
		names = slices.AppendSeq(names, maps.Keys(set))
	}
	return names
}

func listOf(v any) (list []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		for _, x := range v {
			if s, ok := x.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}

// variablesOf reads variables that the file sets.
func variablesOf(v any) map[string]*string {
	out := map[string]*string{}
	m, _ := v.(map[string]any)
	for name, value := range m {
		if full, ok := value.(map[string]any); ok {
			value = full["value"]
		}
		if value != nil {
			text := fmt.Sprint(value)
			out[name] = &text
		}
	}
	return out
}
