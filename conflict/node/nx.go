package node

import (
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// project is the content of a project.json, or of nx in a package.json.
type project struct {
	name     string
	tags     []string
	implicit []string // patterns of projects
	on       []string // projects with tasks that run before its own
	inputs   []string // globs beside its own files
	tools    []string // packages that hold its executors
	paths    []string // the words in options and commands that may be paths from the root
	tasks    []string // the names of its targets and of those that these wait for, and their executors
	defaults []defaultInputs
	inferred bool // plugins, its own or of a preset, may give projects targets that no file names
}

// defaultInputs are the inputs that nx.json gives to the targets of a name, or with an executor.
type defaultInputs struct {
	task   string
	inputs []string
}

func parseProject(file string, data []byte) (*project, error) {
	o, err := parseCommented(file, data)
	if err != nil {
		return nil, err
	}
	return readProject(o), nil
}

func readProject(o object) *project {
	p := &project{name: o.text("name"), tags: o.texts("tags"), implicit: o.texts("implicitDependencies")}
	p.readInputs(o.object("namedInputs"))
	targets := o.object("targets")
	if targets == nil {
		targets = o.object("architect")
	}
	for _, name := range targets.keys() {
		p.tasks = append(p.tasks, name)
		p.readTarget(targets.object(name))
	}
	return p
}

// readTarget reads a target of a project or one of targetDefaults.
func (p *project) readTarget(t object) {
	for _, key := range []string{"executor", "builder"} {
		p.tasks = append(p.tasks, t.text(key))
		tool, _, _ := strings.Cut(t.text(key), ":")
		p.tools = append(p.tools, tool)
	}
	for _, raw := range t.list("dependsOn") {
		var text string
		if json.Unmarshal(raw, &text) == nil {
			name, task, ok := strings.Cut(text, ":")
			if ok && !strings.HasPrefix(text, "^") {
				p.on = append(p.on, name)
			}
			p.tasks = append(p.tasks, strings.TrimPrefix(text, "^"), task)
			continue
		}
		var o object
		if json.Unmarshal(raw, &o) == nil {
			p.tasks = append(p.tasks, o.text("target"))
		}
		p.readProjects(raw)
	}
	p.readInputs(object{"inputs": t["inputs"]})
	for _, key := range []string{"options", "configurations", "command"} {
		var v any
		if json.Unmarshal(t[key], &v) == nil {
			p.readPaths(v)
		}
	}
}

// readPaths reads options that tools may take for paths from the root.
func (p *project) readPaths(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			p.readPaths(v[k])
		}
	case []any:
		for _, e := range v {
			p.readPaths(e)
		}
	case string:
		for _, s := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune(" =,;'\"", r) }) {
			if strings.Contains(s, "/") {
				p.paths = append(p.paths, s)
			}
		}
	}
}

// readProjects reads "projects" of an entry of dependsOn or inputs.
func (p *project) readProjects(raw json.RawMessage) {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return
	}
	for _, name := range append(o.texts("projects"), o.text("projects")) {
		if name != "" && name != "self" && name != "dependencies" {
			p.on = append(p.on, name)
		}
	}
}

// readInputs reads lists of inputs.
func (p *project) readInputs(lists object) {
	for _, key := range lists.keys() {
		for _, raw := range lists.list(key) {
			text := ""
			if json.Unmarshal(raw, &text) != nil {
				var o object
				if json.Unmarshal(raw, &o) != nil {
					continue
				}
				text = cmp.Or(o.text("fileset"), o.text("json"))
				p.readProjects(raw)
			}
			if glob, ok := strings.CutPrefix(text, "{workspaceRoot}/"); ok || strings.HasPrefix(text, "{projectRoot}/") && strings.Contains(text, "..") {
				p.inputs = append(p.inputs, glob)
			}
		}
	}
}

// parseNx reads nx.json: the files that it names are in the hashes of all projects.
func parseNx(file string, data []byte) (*project, error) {
	o, err := parseCommented(file, data)
	if err != nil {
		return nil, err
	}
	p := &project{}
	p.readInputs(o.object("namedInputs"))
	defaults := o.object("targetDefaults")
	for _, name := range defaults.keys() {
		read := len(p.inputs)
		p.readTarget(defaults.object(name))
		p.defaults = append(p.defaults, defaultInputs{name, slices.Clone(p.inputs[read:])})
		p.inputs = p.inputs[:read]
	}
	preset := o.text("extends")
	p.inferred = len(o.list("plugins")) > 0 || preset != "" && !strings.HasPrefix(preset, "nx/presets/")
	p.inputs = append(p.inputs, o.object("implicitDependencies").keys()...)
	for _, raw := range o.list("plugins") {
		var plugin string
		if json.Unmarshal(raw, &plugin) != nil {
			var with object
			if json.Unmarshal(raw, &with) == nil {
				plugin = with.text("plugin")
			}
		}
		p.tools = append(p.tools, plugin)
	}
	return p, nil
}

// inputsOf returns the inputs of nx.json that tasks of a root's members may have. What it says
// of a task that no member has or waits for, such as one of the root alone, is left out.
func (b *builder) inputsOf(r *root) []string {
	all := r.nx.inferred
	for _, name := range []string{"workspace.json", "angular.json"} { // they list targets, too
		_, there := b.has(r.dir, name)
		all = all || there
	}
	may := map[string]bool{}
	for _, task := range r.nx.tasks {
		may[task] = true
	}
	for _, p := range r.members {
		for _, task := range slices.Concat(p.man.scripts, p.nx.tasks) {
			may[task] = true
		}
		for _, word := range p.man.words {
			for part := range strings.FieldsFuncSeq(word, func(r rune) bool { return r == '=' || r == ',' }) {
				_, task, _ := strings.Cut(part, ":") // project:task:configuration
				may[part], may[task], may[task[:max(strings.LastIndexByte(task, ':'), 0)]] = true, true, true
			}
		}
	}
	inputs := slices.Clone(r.nx.inputs)
	for _, d := range r.nx.defaults {
		if all || may[d.task] || strings.ContainsAny(d.task, "*?[{!") || strings.HasPrefix(d.task, "nx:") {
			inputs = append(inputs, d.inputs...)
		}
	}
	return inputs
}

// applyProject adds the edges of one project's configuration.
func (b *builder) applyProject(p *pkg, x *project) {
	for _, glob := range x.inputs {
		b.addInputs(p, p.root, "$TURBO_ROOT$/"+strings.ReplaceAll(glob, "{projectName}", "*"))
	}
	project, _ := below(p.root.dir, p.dir)
	for _, s := range x.paths {
		s = strings.NewReplacer("{projectRoot}", project, "{workspaceRoot}", ".").Replace(s)
		if at, ok := layout.Join(p.root.dir, s); ok && len(b.layout.At(at)) > 0 && at != p.root.dir {
			b.dependPath(p, "", at)
		}
	}
	for _, tool := range x.tools {
		if strings.HasPrefix(tool, ".") {
			b.dependPath(p, p.root.dir, tool)
		} else if tool != "" {
			b.dependName(p, bareName(tool))
		}
	}
	for _, pattern := range slices.Concat(x.implicit, x.on) {
		b.dependPattern(p, pattern, x.implicit)
	}
}

// dependPattern adds edges to the projects that a pattern of Nx names: a name, a
// glob of names or directories, or a tag. A project that is excluded is only
// left out of globs: an edge that is found elsewhere stays. For a glob or a tag,
// p reads the names of all projects, and those of future ones.
func (b *builder) dependPattern(p *pkg, pattern string, all []string) {
	if strings.HasPrefix(pattern, "!") {
		return
	}
	if len(b.byName[pattern]) > 0 {
		b.dependName(p, pattern)
		return
	}
	tag, tagged := strings.CutPrefix(pattern, "tag:")
	if !tagged && !strings.ContainsAny(pattern, "*?[{") {
		b.dependName(p, pattern)
		b.dependPath(p, p.root.dir, pattern)
		return
	}
	for _, q := range p.root.members {
		p.reads = append(p.reads, conflict.ListingOf(layout.Dir(q.dir)),
			conflict.DefinitionPrefix+path.Join(q.dir, "package.json"), conflict.DefinitionPrefix+path.Join(q.dir, "project.json"))
		hit := !tagged && (globbed(pattern, q.nx.name) || globbed(pattern, q.man.name) || globbed(pattern, strings.TrimPrefix(q.dir, p.root.dir+"/")))
		for _, t := range q.nx.tags {
			hit = hit || tagged && globbed(tag, t)
		}
		for _, x := range all {
			if not, ok := strings.CutPrefix(x, "!"); ok && (not == q.nx.name || not == q.man.name) {
				hit = false
			}
		}
		if hit {
			b.depend(p, q)
		}
	}
}

// globbed reports whether a name matches; an invalid glob matches all names.
func globbed(pattern, name string) bool {
	if pattern == "*" {
		return true
	}
	ok, err := path.Match(pattern, name)
	return ok || err != nil
}
