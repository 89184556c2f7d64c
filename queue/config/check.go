package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue/spell"
)

// The analyzers that a configuration can name.
const (
	AnalyzerNone  = "none"  // the whole tree is one target
	AnalyzerPaths = "paths" // the configured areas
	AnalyzerGo    = "go"    // the packages of Go modules
	AnalyzerCargo = "cargo" // the packages of Cargo workspaces
	AnalyzerNode  = "node"  // the packages of JavaScript workspaces
)

// What names may look like. The tags of Step and Area say the same to the schema.
const (
	stepNamePattern = `^[a-zA-Z0-9._-]+$`
	areaNamePattern = `^[a-zA-Z0-9._/-]+$`
	envNamePattern  = `^[A-Za-z_][A-Za-z0-9_]*$`
	wordPattern     = `^[a-zA-Z0-9][a-zA-Z0-9._:/@+-]*$`
)

// maxGlob bounds the length, and so the cost, of one glob.
const maxGlob = 300

// checkAll reports what single fields cannot show: names that must be
// unique, references, and settings that do not go together.
func checkAll(r *reader, c *Config) {
	names := map[string]int{}
	for i, s := range c.Steps {
		path := fmt.Sprintf("steps[%d]", i)
		r.name(path+".name", s.Name, names)
		checkStep(r, path, s, c.Analysis)
	}
	if len(c.Analysis.Analyzers) == 0 {
		checkAreas(r, "analysis", c.Analysis)
		checkTools(r, "analysis", c.Analysis)
	}
	checkParts(r, c)
	checkUnowned(r, c.Analysis)
	r.globs("analysis.ignore", c.Analysis.Ignore)
	r.globs("analysis.barrier", c.Analysis.Barrier)
	checkInputs(r, "analysis", c.Analysis.Inputs, c.Analysis.HasTargets())
	r.globs("permissions.protected_paths", c.Permissions.Protected)
	for i, b := range c.Permissions.Bots {
		path := fmt.Sprintf("permissions.bots[%d]", i)
		if !regexp.MustCompile(UserPattern).MatchString(b) || strings.HasPrefix(b, "@") {
			r.report(path, "%s must be an App's login such as \"renovate[bot]\", found %s", path, quoted(b))
		}
	}
	checkQueue(r, c)
	checkBatch(r, c)
	checkMethods(r, &c.Queue)
	checkVerify(r, &c.Queue)
	checkSkips(r, c)
	for i, x := range c.Queue.Off {
		if !slices.Contains(Ingredients(), x) {
			r.report(fmt.Sprintf("queue.off[%d]", i), "queue.off[%d] is none of the planner's ingredients: %s, found %s", i, joined(Ingredients()), quoted(string(x)))
		}
	}
	if l := c.Queue.Label; l != strings.TrimSpace(l) || strings.ContainsAny(l, "\r\n") {
		r.report("queue.label", "queue.label must be one line without spaces at its ends, found %s", quoted(l))
	}
	checkBlocking(r, c.Queue)
}

func joined(list []Ingredient) string {
	words := make([]string, len(list))
	for i, x := range list {
		words[i] = string(x)
	}
	return strings.Join(words, ", ")
}

// report adds an error about a path's value, unless it was refused before.
func (r *reader) report(path, format string, args ...any) {
	if r.bad[path] {
		return
	}
	r.bad[path] = true
	r.add(r.place(path), format, args...)
}

// place returns where a path's value is, or where its parent is when it is not written.
func (r *reader) place(path string) position {
	for {
		if at, ok := r.at[path]; ok {
			return at
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

// name checks a step's name; seen maps the names before it to their lines.
func (r *reader) name(path, name string, seen map[string]int) {
	if r.bad[path] || r.at[path] == (position{}) {
		return
	}
	if !regexp.MustCompile(stepNamePattern).MatchString(name) {
		r.report(path, "%s must be made of letters, digits, \".\", \"_\" and \"-\", found %s", path, quoted(name))
		return
	}
	r.once(path, name, seen)
}

func (r *reader) once(path, name string, seen map[string]int) {
	if line, dup := seen[name]; dup {
		r.report(path, "%s is %s, which line %d is already called: give it another name", path, quoted(name), line)
		return
	}
	seen[name] = r.place(path).line
}

func checkStep(r *reader, path string, s Step, a Analysis) {
	if !checkChecks(r, path, s, a) {
		return
	}
	if !r.bad[path+".run"] && r.at[path+".run"] != (position{}) && strings.TrimSpace(s.Run) == "" {
		r.report(path+".run", "%s.run is empty: write the command to run", path)
	}
	perTarget := strings.Contains(s.Run, "{targets}")
	noTargets, known := !a.HasTargets(), r.read("analysis")
	switch {
	case s.Scope == ScopeRepository && perTarget:
		r.report(path+".run", "%s.run names {targets}, but a step with scope: repository runs on the whole tree: take {targets} out", path)
	case noTargets && known && perTarget:
		r.report(path+".run", "%s.run names {targets}, but without an analyzer the tree is one target: set analysis.analyzer to go, cargo, node or paths, or take {targets} out", path)
	case !noTargets && known && s.Scope != ScopeRepository && !perTarget && !strings.Contains(s.Run, "SUBMITQUEUE_TARGETS") && strings.TrimSpace(s.Run) != "":
		// A result counts for each target by itself, and changes to different
		// targets do not wait for each other: a command on the whole tree would
		// have its result taken for trees that it has never seen.
		r.report(path+".run", "%s.run is not told its targets: put {targets} into the command, or read $SUBMITQUEUE_TARGETS; for a command that looks at the whole tree say scope: repository", path)
	}
	if s.Report == ReportGoTestJSON {
		switch {
		case s.Scope == ScopeRepository:
			r.report(path+".report", "%s.report go-test-json needs scope: targets, found scope: repository", path)
		case a.of(s) != AnalyzerGo && known:
			whose := "set analysis.analyzer to go"
			if len(a.Analyzers) > 0 {
				whose = "let the step verify the targets of an analyzer go"
			}
			r.report(path+".report", "%s.report go-test-json names Go packages: %s, or use report: exit-code", path, whose)
		}
	}
	checkStepPart(r, path, s, a)
	r.word(path+".image", s.Image)
	r.word(path+".os", s.OS)
	r.word(path+".arch", s.Arch)
	for i, t := range s.Tags {
		r.word(fmt.Sprintf("%s.tags[%d]", path, i), t)
	}
	for name := range s.Env {
		sub := path + ".env." + name
		switch {
		case !regexp.MustCompile(envNamePattern).MatchString(name):
			r.report(sub, "%s.env has the name %s: a variable's name is made of letters, digits and \"_\"", path, quoted(name))
		case strings.HasPrefix(name, "SUBMITQUEUE_"):
			r.report(sub, "%s.env sets %s: names that begin with SUBMITQUEUE_ are set by the queue", path, quoted(name))
		}
	}
}

func (r *reader) word(path, s string) {
	if s != "" && !regexp.MustCompile(wordPattern).MatchString(s) {
		r.report(path, "%s must be one word of letters, digits and \"._:/@+-\", found %s", path, quoted(s))
	}
}

// checkAreas checks the areas of the analysis, or of one of its parts, at a path.
func checkAreas(r *reader, at string, a Analysis) {
	if r.bad[at] || r.bad[at+".analyzer"] || r.bad[at+".areas"] {
		return
	}
	if a.Analyzer == AnalyzerPaths && len(a.Areas) == 0 {
		r.report(at+".areas", "%s.areas is missing: the analyzer paths needs at least one area with name and files", at)
		return
	}
	if a.Analyzer != AnalyzerPaths && len(a.Areas) > 0 {
		r.report(at+".areas", "%s.areas is read by the analyzer paths only: set %s.analyzer to paths, or delete areas", at, at)
		return
	}
	names := map[string]int{}
	for i, area := range a.Areas {
		path := fmt.Sprintf("%s.areas[%d]", at, i)
		r.areaName(path+".name", area.Name, names)
		r.globs(path+".files", area.Files)
	}
	for i, area := range a.Areas {
		for j, need := range area.Needs {
			path := fmt.Sprintf("%s.areas[%d].needs[%d]", at, i, j)
			if _, ok := names[need]; !ok && !r.bad[path] {
				known := make([]string, 0, len(a.Areas))
				for _, x := range a.Areas {
					known = append(known, x.Name)
				}
				r.report(path, "%s is %s, and no area has that name%s", path, quoted(need), didYouMean(need, known))
			}
		}
	}
	list := make([]needing, len(a.Areas))
	for i, area := range a.Areas {
		list[i] = needing{area.Name, area.Needs}
	}
	checkCycles(r, at+".areas", "areas need one another in a circle (%s): take one need out, or make them one area", list)
}

// needing is something in a list that needs others of the list.
type needing struct {
	name  string
	needs []string
}

func didYouMean(word string, names []string) string {
	if near := spell.Nearest(word, names); near != "" {
		return " (did you mean " + quoted(near) + "?)"
	}
	return ""
}

func (r *reader) areaName(path, name string, seen map[string]int) {
	if r.bad[path] || r.at[path] == (position{}) {
		return
	}
	if !regexp.MustCompile(areaNamePattern).MatchString(name) {
		r.report(path, "%s must be made of letters, digits, \".\", \"_\", \"-\" and \"/\", found %s", path, quoted(name))
		return
	}
	if name == TargetTree || name == TargetUnowned {
		r.report(path, "%s is %s, a name that the queue uses itself: give the area another name", path, quoted(name))
		return
	}
	r.once(path, name, seen)
}

// checkCycles reports each circle of needs in the list at a path once, at the
// entry that closes it.
func checkCycles(r *reader, at, format string, list []needing) {
	index := map[string]int{}
	for i, a := range list {
		if _, dup := index[a.name]; !dup {
			index[a.name] = i
		}
	}
	const unseen, open, done = 0, 1, 2
	state := make([]int, len(list))
	var trail []string
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		trail = append(trail, list[i].name)
		for j, need := range list[i].needs {
			k, ok := index[need]
			if !ok {
				continue
			}
			switch state[k] {
			case unseen:
				visit(k)
			case open:
				from := 0
				for trail[from] != list[k].name {
					from++
				}
				circle := append(append([]string{}, trail[from:]...), need)
				r.report(fmt.Sprintf("%s[%d].needs[%d]", at, i, j), format, spell.Clip(strings.Join(circle, " → "), 200))
			}
		}
		trail = trail[:len(trail)-1]
		state[i] = done
	}
	for i := range list {
		if state[i] == unseen {
			visit(i)
		}
	}
}

// glob reports what is wrong with any glob, and whether there is more to be looked at.
func (r *reader) glob(path, g string) bool {
	switch {
	case g == "" || r.bad[path]:
	case len(g) > maxGlob:
		r.report(path, "%s has %d characters, and a glob may have at most %d", path, len(g), maxGlob)
	case strings.HasPrefix(g, "!"):
		r.report(path, "%s is %s: exclusions with \"!\" are not supported, list what is meant", path, quoted(g))
	default:
		return true
	}
	return false
}

func (r *reader) globs(path string, globs []string) {
	for i, g := range globs {
		sub := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case !r.glob(sub, g):
		case strings.HasPrefix(g, "/"), strings.HasPrefix(g, "./"):
			r.report(sub, "%s is %s: globs begin at the repository's root, write %s", sub, quoted(g), quoted(strings.TrimLeft(g, "./")))
		case contains(strings.Split(g, "/"), ".."):
			r.report(sub, "%s is %s: a glob cannot leave the repository with \"..\"", sub, quoted(g))
		case strings.HasSuffix(g, "/"):
			r.report(sub, "%s is %s: to mean all files of a folder, write %s", sub, quoted(g), quoted(g+"**"))
		case !doublestar.ValidatePattern(g):
			r.report(sub, "%s is not a valid glob: %s (is a bracket or brace not closed?)", sub, quoted(g))
		}
	}
}
