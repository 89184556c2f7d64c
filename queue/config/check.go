package config

import (
	"cmp"
	"fmt"
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

// maxGlob bounds the length, and so the cost, of one glob.
const maxGlob = 300

// checkAll reports mistakes that a single field cannot show: names that must be
// unique, references, and settings that do not go together.
func checkAll(d *document, c *Config) {
	names := map[string]int{}
	for i, s := range c.Steps {
		path := fmt.Sprintf("steps[%d]", i)
		d.once(path+".name", s.Name, names)
		checkStep(d, path, s, c.Analysis)
	}
	checkEnv(d, "env", c.Env)
	checkQuarantine(d, "quarantine", c.Quarantine, false)
	checkQuarantineGuarded(d, c)
	if len(c.Analysis.Analyzers) == 0 {
		checkAreas(d, "analysis", c.Analysis)
		checkTools(d, "analysis", c.Analysis)
	}
	checkParts(d, c)
	checkUnowned(d, c.Analysis)
	d.globs("analysis.ignore", c.Analysis.Ignore)
	d.globs("analysis.barrier", c.Analysis.Barrier)
	checkInputs(d, "analysis", c.Analysis.Inputs, c.Analysis.HasTargets())
	d.globs("permissions.protected_paths", c.Permissions.Protected)
	checkWho(d, c)
	checkQueue(d, c)
	checkFreeze(d, c)
	checkAuto(d, &c.Queue)
	checkBatch(d, c)
	checkMethods(d, &c.Queue)
	checkSkips(d, c)
	checkBlocking(d, c.Queue)
}

// report adds an error about a path's value, unless it was refused before.
func (d *document) report(path, format string, args ...any) {
	d.reportAt(d.place(path), path, fmt.Sprintf(format, args...))
}

// reportAt is report for a value at a known place.
func (d *document) reportAt(at position, path, message string) {
	if !d.refused[path] {
		d.refused[path] = true
		d.add(at, "%s", message)
	}
}

// once checks that a name, unless it was refused, is the only one of its kind; seen
// maps the names before it to their lines.
func (d *document) once(path, name string, seen map[string]int) {
	if name == "" {
		return
	}
	if line, twice := seen[name]; twice {
		d.report(path, "%s is %s, which line %d is already called: give it another name", path, quoted(name), line)
		return
	}
	seen[name] = d.place(path).line
}

func checkStep(d *document, path string, s Step, a Analysis) {
	checkRetryOn(d, path, s)
	if !checkChecks(d, path, s, a) {
		return
	}
	if s.Run != "" && strings.TrimSpace(s.Run) == "" {
		d.report(path+".run", "%s.run is empty: write the command to run", path)
	}
	if limit := cmp.Or(s.Timeout, defaultTimeout); s.TimeoutFrom > limit && !d.refused[path+".timeout"] {
		d.report(path+".timeout_from", "%s.timeout_from is %s, which is more than timeout, %s: make it less, or raise timeout", path, s.TimeoutFrom, limit)
	}
	perTarget := strings.Contains(s.Run, "{targets}")
	noTargets, known := !a.HasTargets(), d.read("analysis")
	switch {
	case s.Scope == ScopeRepository && perTarget:
		d.report(path+".run", "%s.run names {targets}, but a step with scope: repository runs on the whole tree: take {targets} out", path)
	case noTargets && known && perTarget:
		d.report(path+".run", "%s.run names {targets}, but without an analyzer the tree is one target: set analysis.analyzer to go, cargo, node or paths, or take {targets} out", path)
	case !noTargets && known && s.Scope != ScopeRepository && !perTarget && !strings.Contains(s.Run, "SUBMITQUEUE_TARGETS") && strings.TrimSpace(s.Run) != "":
		// A result counts for each target on its own, and changes to different
		// targets do not wait for each other: the result of a command on the
		// whole tree would be taken for trees that it has never seen.
		d.report(path+".run", "%s.run is not told its targets: put {targets} into the command, or read $SUBMITQUEUE_TARGETS; for a command that looks at the whole tree say scope: repository", path)
	}
	checkStepPart(d, path, s, a)
	checkReport(d, path, s, a, s.Report.row())
	checkCaches(d, path, s)
	checkQuarantine(d, path+".quarantine", s.Quarantine, s.Scope == ScopeRepository || noTargets && known)
	if s.StrictNew != 0 && (s.Scope == ScopeRepository || noTargets && known) {
		d.report(path+".strict_new", "%s.strict_new is for steps on targets: the whole tree is never new; delete the line", path)
	}
	checkEnv(d, path+".env", s.Env)
}

// checkEnv reports variables that the queue sets itself.
func checkEnv(d *document, path string, env map[string]string) {
	for name := range env {
		if p, _ := d.find(steps(path + "." + name)); strings.HasPrefix(name, "SUBMITQUEUE_") {
			d.add(posOf(p.key), "%s sets %s: names that begin with SUBMITQUEUE_ are set by the queue", path, quoted(name))
		}
	}
}

// checkAreas checks the areas of the analysis, or of one of its parts, at a path.
func checkAreas(d *document, at string, a Analysis) {
	if d.refused[at] || d.refused[at+".analyzer"] || d.refused[at+".areas"] {
		return
	}
	if a.Analyzer == AnalyzerPaths && len(a.Areas) == 0 {
		d.report(at+".areas", "%s.areas is missing: the analyzer paths needs at least one area with name and files", at)
		return
	}
	if a.Analyzer != AnalyzerPaths && len(a.Areas) > 0 {
		d.report(at+".areas", "%s.areas is read by the analyzer paths only: set %s.analyzer to paths, or delete areas", at, at)
		return
	}
	names := map[string]int{}
	for i, area := range a.Areas {
		path := fmt.Sprintf("%s.areas[%d]", at, i)
		if name := area.Name; name == TargetTree || name == TargetUnowned {
			d.report(path+".name", "%s.name is %s, a name that the queue uses itself: give the area another name", path, quoted(name))
		}
		d.once(path+".name", area.Name, names)
		d.globs(path+".files", area.Files)
	}
	for i, area := range a.Areas {
		for j, need := range area.Needs {
			path := fmt.Sprintf("%s.areas[%d].needs[%d]", at, i, j)
			if _, ok := names[need]; !ok && !d.refused[path] {
				known := make([]string, 0, len(a.Areas))
				for _, x := range a.Areas {
					known = append(known, x.Name)
				}
				d.report(path, "%s is %s, and no area has that name%s", path, quoted(need), didYouMean(need, known))
			}
		}
	}
	list := make([]needing, len(a.Areas))
	for i, area := range a.Areas {
		list[i] = needing{area.Name, area.Needs}
	}
	checkCycles(d, at+".areas", "areas need one another in a circle (%s): take one need out, or make them one area", list)
}

// needing is something in a list that needs others of the list.
type needing struct {
	name  string
	needs []string
}

// checkCycles reports each circle of needs in the list at a path once, at the
// entry that closes it.
func checkCycles(d *document, at, format string, list []needing) {
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
				d.report(fmt.Sprintf("%s[%d].needs[%d]", at, i, j), format, spell.Clip(strings.Join(circle, " → "), 200))
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

// glob reports the mistakes that globs of all kinds can have, and returns whether the caller
// has to check further.
func (d *document) glob(path, g string) bool {
	switch {
	case g == "" || d.refused[path]:
	case len(g) > maxGlob:
		d.report(path, "%s has %d characters, and a glob may have at most %d", path, len(g), maxGlob)
	case strings.HasPrefix(g, "!"):
		d.report(path, "%s is %s: exclusions with \"!\" are not supported, list what is meant", path, quoted(g))
	default:
		return true
	}
	return false
}

func (d *document) globs(path string, globs []string) {
	for i, g := range globs {
		sub := fmt.Sprintf("%s[%d]", path, i)
		switch {
		case !d.glob(sub, g):
		case strings.HasPrefix(g, "/"), strings.HasPrefix(g, "./"):
			d.report(sub, "%s is %s: globs begin at the repository's root, write %s", sub, quoted(g), quoted(strings.TrimLeft(g, "./")))
		case slices.Contains(strings.Split(g, "/"), ".."):
			d.report(sub, "%s is %s: a glob cannot leave the repository with \"..\"", sub, quoted(g))
		case strings.HasSuffix(g, "/"):
			d.report(sub, "%s is %s: to mean all files of a folder, write %s", sub, quoted(g), quoted(g+"**"))
		case !doublestar.ValidatePattern(g):
			d.report(sub, "%s is not a valid glob: %s (is a bracket or brace not closed?)", sub, quoted(g))
		}
	}
}
