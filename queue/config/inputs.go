package config

import (
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// checkInputs checks the declared inputs of the analysis, or of one of its
// parts, at a path.
func checkInputs(d *document, at string, list []Inputs, targets bool) {
	if len(list) > 0 && !targets && d.read("analysis") {
		d.report(at+".inputs", "%s.inputs is for targets, and without an analyzer the tree is one target that has every file: set analysis.analyzer, or delete inputs", at)
		return
	}
	for i, in := range list {
		path := fmt.Sprintf("%s.inputs[%d]", at, i)
		d.globs(path+".files", in.Files)
		for j, g := range in.Targets {
			sub := fmt.Sprintf("%s.targets[%d]", path, j)
			switch {
			case !d.glob(sub, g):
			case g == TargetTree || g == TargetUnowned:
				d.report(sub, "%s is %s, which is no target of an analyzer: name targets, or take the files into analysis.barrier", sub, quoted(g))
			case !doublestar.ValidatePattern(g):
				d.report(sub, "%s is %s, which is not a valid glob", sub, quoted(g))
			}
		}
	}
}
