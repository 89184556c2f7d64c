package config

import (
	"cmp"
	"slices"
	"time"
)

// SubAnalysis is one of several analyzers of a repository. Its targets are called
// after it, NAME:TARGET, and it sees nothing outside of Under.
type SubAnalysis struct {
	// Analyzer is the program that reads the tree: paths, go, cargo, node, gn, bazel or command, as in analysis.analyzer.
	Analyzer string `json:"analyzer" yaml:"analyzer" jsonschema:"required,enum=paths,enum=go,enum=cargo,enum=node,enum=gn,enum=bazel,enum=command"`
	// Name begins the names of its targets, as in web:@shop/ui, and steps call it so: letters, digits, ".", "_" and "-". Default: the analyzer's name.
	Name string `json:"name,omitempty" yaml:"name,omitempty" jsonschema:"maxLength=32,pattern=^[a-zA-Z0-9._-]+$"`
	// Under is the folder that it looks at as if it were the whole repository: names, areas, program and definitions are relative to it. Default: the whole repository.
	Under string `json:"under,omitempty" yaml:"under,omitempty" jsonschema:"minLength=1,maxLength=300"`
	// Needs are the names of other analyzers whose targets affect all targets of this one. Default none.
	Needs []string `json:"needs,omitempty" yaml:"needs,omitempty"`
	// Barrier are globs, from the repository's root, of files that every target of this analyzer depends on. Default none.
	Barrier []string `json:"barrier,omitempty" yaml:"barrier,omitempty"`
	// Inputs are files that targets of this analyzer read and that it does not see, as in analysis.inputs: targets by their names within this analyzer, files from the repository's root. Default none.
	Inputs []Inputs `json:"inputs,omitempty" yaml:"inputs,omitempty" jsonschema:"minItems=1,maxItems=200"`
	// Areas are the targets of the analyzer paths, required there and refused elsewhere.
	Areas []Area `json:"areas,omitempty" yaml:"areas,omitempty" jsonschema:"maxItems=1000"`
	// Command is the shell command of the analyzer command, as in analysis.command.
	Command string `json:"command,omitempty" yaml:"command,omitempty" jsonschema:"minLength=1,maxLength=2000"`
	// Program are globs of all files that the command runs, as in analysis.program. Default none.
	Program []string `json:"program,omitempty" yaml:"program,omitempty"`
	// Definitions are globs of files that shape the output of the command, as in analysis.definitions. Default none.
	Definitions []string `json:"definitions,omitempty" yaml:"definitions,omitempty"`
	// Timeout ends the tool of the analyzers command, gn and bazel, as in analysis.timeout. From 1s to 10m; default 1m.
	Timeout time.Duration `json:"timeout,omitempty" yaml:"timeout,omitempty" jsonschema_extras:"x-minimum=1s,x-maximum=10m"`
}

// Analysis returns the settings of the analyzer as if it ran alone.
func (p SubAnalysis) Analysis() Analysis {
	return Analysis{Analyzer: p.Analyzer, Areas: p.Areas, Command: p.Command, Program: p.Program, Definitions: p.Definitions, Timeout: p.Timeout}
}

// PartName is the name of the part, even before Defaults has filled it in.
func (p SubAnalysis) PartName() string {
	if p.Name == "" {
		return p.Analyzer
	}
	return p.Name
}

// ToolTime returns how long the tools of all analyzers may take on one tree, one
// after the other, where that is more than their defaults.
func (a Analysis) ToolTime() time.Duration {
	limit := a.Timeout
	for _, p := range a.Analyzers {
		if slices.Contains(withTool, p.Analyzer) {
			limit += cmp.Or(p.Timeout, defaultToolTimeout)
		}
	}
	return limit
}

// HasTargets reports whether an analyzer runs: otherwise the tree is one target.
func (a Analysis) HasTargets() bool {
	return len(a.Analyzers) > 0 || a.Analyzer != "" && a.Analyzer != AnalyzerNone
}

// part returns, of several analyzers, the one of the targets that a step
// verifies: the one that the step names, or the only one.
func (a Analysis) part(s Step) (SubAnalysis, bool) {
	i := slices.IndexFunc(a.Analyzers, func(p SubAnalysis) bool {
		return p.PartName() == s.Analyzer || s.Analyzer == "" && len(a.Analyzers) == 1
	})
	if i < 0 || s.Scope == ScopeRepository {
		return SubAnalysis{}, false
	}
	return a.Analyzers[i], true
}

// partDefaults fills in the names of the analyzers, and the settings that steps
// take from the analyzer of the targets that they verify.
func (c *Config) partDefaults() {
	for i := range c.Analysis.Analyzers {
		p := &c.Analysis.Analyzers[i]
		orDefault(&p.Name, p.Analyzer)
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		if p, ok := c.Analysis.part(*s); ok {
			orDefault(&s.Analyzer, p.Name)
			orDefault(&s.Dir, p.Under)
		}
	}
}
