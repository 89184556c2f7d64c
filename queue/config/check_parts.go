package config

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// read reports whether checks of other values can rely on the value at a path:
// neither it nor the analyzers in it were refused.
func (d *document) read(path string) bool {
	for bad := range d.refused {
		if bad == path || strings.HasPrefix(bad, path+".analyzer") {
			return false
		}
	}
	return true
}

// of returns which analyzer finds the targets of a step.
func (a Analysis) of(s Step) string {
	if p, ok := a.part(s); ok {
		return p.Analyzer
	}
	return a.Analyzer
}

// checkUnowned refuses a policy that would leave out files nobody has named.
func checkUnowned(d *document, a Analysis) {
	if a.Unowned == UnownedIgnore && len(a.Ignore) == 0 && !d.refused["analysis.ignore"] {
		d.report("analysis.unowned", "analysis.unowned is ignore, and nothing is left out that is not written down: "+
			"add analysis.ignore with globs such as \"docs/**\", or with \"**\" for every file that no target claims")
	}
}

// checkParts checks the list of several analyzers.
func checkParts(d *document, c *Config) {
	const list = "analysis.analyzers"
	a := c.Analysis
	if d.refused["analysis"] || d.refused[list] || len(a.Analyzers) == 0 {
		return
	}
	if a.Analyzer != "" {
		d.report("analysis.analyzer", "analysis has both analyzer and analyzers: keep analyzer where one runs, analyzers where several do")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"areas", len(a.Areas) > 0}, {"command", a.Command != ""}, {"program", len(a.Program) > 0},
		{"definitions", len(a.Definitions) > 0}, {"timeout", a.Timeout != 0}} {
		if f.given {
			d.report("analysis."+f.name, "analysis.%s is beside analysis.analyzers: move it into the entry whose analyzer reads it", f.name)
		}
	}
	names := map[string]int{}
	needs := make([]needing, len(a.Analyzers))
	for i, p := range a.Analyzers {
		at := fmt.Sprintf("%s[%d]", list, i)
		if d.refused[at] || d.refused[at+".analyzer"] {
			continue
		}
		checkPart(d, at, p, names)
		needs[i] = needing{p.PartName(), p.Needs}
	}
	for i, p := range a.Analyzers {
		for j, need := range p.Needs {
			at := fmt.Sprintf("%s[%d].needs[%d]", list, i, j)
			if _, ok := names[need]; !ok && !d.refused[at] {
				d.report(at, "%s is %s, and no analyzer has that name%s", at, quoted(need), didYouMean(need, a.partNames()))
			}
		}
	}
	checkCycles(d, list, "analyzers need one another in a circle (%s): take one need out", needs)
	if d.read("analysis") {
		checkVerified(d, c)
	}
}

func (a Analysis) partNames() []string {
	names := make([]string, len(a.Analyzers))
	for i, p := range a.Analyzers {
		names[i] = p.PartName()
	}
	return names
}

func checkPart(d *document, at string, p SubAnalysis, names map[string]int) {
	path := at + ".name"
	switch name := p.PartName(); {
	case d.refused[path]:
	case slices.Contains([]string{TargetTree, TargetUnowned, "def", "list"}, name):
		d.report(path, "%s is %s, a name that the queue uses itself: give the analyzer another name", path, quoted(name))
	default:
		if line, dup := names[name]; dup {
			d.report(path, "%s is called %s, which the analyzer of line %d is already: give it another name", at, quoted(name), line)
			break
		}
		names[name] = d.place(path).line
	}
	d.folder(at+".under", p.Under)
	d.globs(at+".barrier", p.Barrier)
	checkInputs(d, at, p.Inputs, true)
	checkAreas(d, at, p.Analysis())
	checkTools(d, at, p.Analysis())
}

// folder checks the path of a folder in the repository.
func (d *document) folder(path, dir string) {
	if dir != "" && (!fs.ValidPath(dir) || dir == "." || strings.ContainsAny(dir, "\x00\r\n")) {
		d.report(path, "%s must be a folder from the repository's root, such as \"services/web\", without \"./\" and \"..\" and without a \"/\" at its ends, found %s", path, quoted(dir))
	}
}

// checkStepPart checks which analyzer's targets a step verifies, and where it runs.
func checkStepPart(d *document, path string, s Step, a Analysis) {
	at := path + ".analyzer"
	names := a.partNames()
	switch {
	case d.refused[at] || !d.read("analysis"):
	case s.Analyzer == "" && (s.Scope == ScopeRepository || len(names) < 2):
	case s.Analyzer == "":
		d.report(at, "%s.analyzer is missing: several analyzers run, so say whose targets the step verifies: %s; for a command that looks at the whole tree say scope: repository", path, quotedList(names))
	case s.Scope == ScopeRepository:
		d.report(at, "%s.analyzer is for steps on targets, and this one has scope: repository: take one of the two out", path)
	case len(names) == 0:
		d.report(at, "%s.analyzer names one of analysis.analyzers, and there is no such list: delete the line", path)
	case !slices.Contains(names, s.Analyzer):
		d.report(at, "%s.analyzer is %s, and no analyzer has that name%s; there are: %s", path, quoted(s.Analyzer), didYouMean(s.Analyzer, names), quotedList(names))
	}
	if s.Dir != "." {
		d.folder(path+".dir", s.Dir)
	}
}

func quotedList(names []string) string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = quoted(n)
	}
	return strings.Join(words, ", ")
}

// checkVerified refuses an analyzer if no step verifies its targets: changes to
// them would land untested.
func checkVerified(d *document, c *Config) {
	for i, p := range c.Analysis.Analyzers {
		at := fmt.Sprintf("analysis.analyzers[%d]", i)
		if !slices.ContainsFunc(c.Steps, func(s Step) bool {
			found, ok := c.Analysis.part(s)
			return s.Scope == ScopeRepository || ok && found.PartName() == p.PartName()
		}) {
			d.report(at, "no step verifies the targets of %s: changes to them would land untested; add a step with analyzer: %s, or one with scope: repository", quoted(p.PartName()), p.PartName())
		}
	}
}
