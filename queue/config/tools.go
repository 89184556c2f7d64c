package config

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

// defaultToolTimeout is what a tool has where nothing is said.
const defaultToolTimeout = time.Minute

// checkTools reports settings of tools that are missing, or not for the
// analyzer, in the analysis or one of its parts.
func checkTools(d *document, at string, a Analysis) {
	d.globs(at+".program", a.Program)
	d.globs(at+".definitions", a.Definitions)
	if d.refused[at] || d.refused[at+".analyzer"] {
		return
	}
	command := a.Analyzer == AnalyzerCommand
	for _, f := range []struct {
		name  string
		given bool
	}{{"command", a.Command != ""}, {"program", len(a.Program) > 0}, {"definitions", len(a.Definitions) > 0}} {
		if f.given && !command {
			d.report(at+"."+f.name, "%s.%s is read by the analyzer command only: set %s.analyzer to command, or delete %s", at, f.name, at, f.name)
		}
	}
	if command && strings.TrimSpace(a.Command) == "" {
		d.report(at+".command", "%s.command is missing: the analyzer command needs a command that prints the targets", at)
	}
	if a.Timeout != 0 && !command && a.Analyzer != AnalyzerGN && a.Analyzer != AnalyzerBazel {
		d.report(at+".timeout", "%s.timeout is read by the analyzers command, gn and bazel only: delete timeout", at)
	}
}
