package config

import "strings"

// TargetTree is the name of the one target of a tree for which no graph is (or
// can be) computed; its hash is the tree id.
const TargetTree = "tree"

// TargetUnowned is the name of the target that holds the files no analyzer
// claims, under `unowned: target`.
const TargetUnowned = "unowned"

// TargetOf returns the name of one analyzer's target where several run.
func TargetOf(analyzer, target string) string { return analyzer + ":" + target }

// WholePart returns, of several analyzers, the one with the part of the tree
// that a target stands for as a whole: TargetOf(analyzer, TargetTree), which
// exists as long as the analyzer cannot read its part.
func WholePart(target string) (analyzer string, ok bool) {
	analyzer, rest, ok := strings.Cut(target, ":")
	ok = ok && rest == TargetTree && analyzer != "" && !strings.Contains(analyzer, "/")
	if !ok {
		return "", false
	}
	return analyzer, true
}

// undivided reports whether a target stands for files that no analyzer tells
// apart.
func undivided(target string) bool {
	_, part := WholePart(target)
	return part || everySteps(target)
}

// everySteps reports whether every step must pass a target, whatever the step's
// analyzer.
func everySteps(target string) bool { return target == TargetTree || target == TargetUnowned }

// Covers reports whether the step verifies a target: one of its analyzer's, or
// one that every step must pass.
func (s Step) Covers(target string) bool {
	return s.Analyzer == "" || everySteps(target) || strings.HasPrefix(target, TargetOf(s.Analyzer, ""))
}

// ToolName returns the name under which the step's command knows a target:
// without that of the step's analyzer.
func (s Step) ToolName(target string) string {
	if s.Analyzer == "" || undivided(target) {
		return target
	}
	return strings.TrimPrefix(target, TargetOf(s.Analyzer, ""))
}

// ToolNames is ToolName for a list.
func (s Step) ToolNames(targets []string) []string {
	names := make([]string, len(targets))
	for i, t := range targets {
		names[i] = s.ToolName(t)
	}
	return names
}
