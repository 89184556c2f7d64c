package config

import (
	"slices"
	"strings"
	"time"
)

// The analyzers that run a tool.
const (
	AnalyzerCommand = "command" // the targets that the configured command prints
	AnalyzerGN      = "gn"      // the targets of GN
	AnalyzerBazel   = "bazel"   // the targets of Bazel
)

// withTool are the analyzers that run a tool, for which there is a time-out.
var withTool = []string{AnalyzerCommand, AnalyzerGN, AnalyzerBazel}

// defaultToolTimeout is the time-out of a tool where the file names none.
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
	if last := len(withTool) - 1; a.Timeout != 0 && !slices.Contains(withTool, a.Analyzer) {
		d.report(at+".timeout", "%s.timeout is read by the analyzers %s and %s only: delete timeout", at, strings.Join(withTool[:last], ", "), withTool[last])
	}
}
