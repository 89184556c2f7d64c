package config

import (
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// checkInputs checks the declared inputs of the analysis, or of one of its
// parts, at a path.
func checkInputs(r *reader, at string, list []Inputs, targets bool) {
	if len(list) > 0 && !targets && r.read("analysis") {
		r.report(at+".inputs", "%s.inputs is for targets, and without an analyzer the tree is one target that has every file: set analysis.analyzer, or delete inputs", at)
		return
	}
	for i, in := range list {
		path := fmt.Sprintf("%s.inputs[%d]", at, i)
		r.globs(path+".files", in.Files)
		for j, g := range in.Targets {
			sub := fmt.Sprintf("%s.targets[%d]", path, j)
			switch {
			case !r.glob(sub, g):
			case g == TargetTree || g == TargetUnowned:
				r.report(sub, "%s is %s, which is no target of an analyzer: name targets, or take the files into analysis.barrier", sub, quoted(g))
			case !doublestar.ValidatePattern(g):
				r.report(sub, "%s is %s, which is not a valid glob", sub, quoted(g))
			}
		}
	}
}
