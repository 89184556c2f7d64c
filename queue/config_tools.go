package queue

import (
	"strings"
	"time"
)

// The analyzers that run a tool.
const (
	AnalyzerCommand = "command" // the targets that the configured command prints
	AnalyzerGN      = "gn"      // the targets of GN
	AnalyzerBazel   = "bazel"   // the targets of Bazel
)

// maxToolTimeout bounds how long an analysis may wait for a tool.
const maxToolTimeout = 10 * time.Minute

// checkTools reports settings of tools that are missing, or not for the analyzer.
func checkTools(r *configReader, a Analysis) {
	r.globs("analysis.program", a.Program)
	r.globs("analysis.definitions", a.Definitions)
	if r.bad["analysis"] || r.bad["analysis.analyzer"] {
		return
	}
	command := a.Analyzer == AnalyzerCommand
	for _, f := range []struct {
		name  string
		given bool
	}{{"command", a.Command != ""}, {"program", len(a.Program) > 0}, {"definitions", len(a.Definitions) > 0}} {
		if f.given && !command {
			r.report("analysis."+f.name, "analysis.%s is read by the analyzer command only: set analysis.analyzer to command, or delete %s", f.name, f.name)
		}
	}
	if command && strings.TrimSpace(a.Command) == "" {
		r.report("analysis.command", "analysis.command is missing: the analyzer command needs a command that prints the targets")
	}
	switch {
	case a.Timeout == 0:
	case !command && a.Analyzer != AnalyzerGN && a.Analyzer != AnalyzerBazel:
		r.report("analysis.timeout", "analysis.timeout is read by the analyzers command, gn and bazel only: delete timeout")
	case a.Timeout > maxToolTimeout:
		r.report("analysis.timeout", "analysis.timeout must be from 1s to %s, found %s", shortDuration(maxToolTimeout), shortDuration(a.Timeout))
	}
}
