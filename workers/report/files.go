package report

import (
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue/config"
)

// placed is a place of report files; it may be of one target.
type placed struct {
	pattern string
	target  string // "": the report says it
	depth   int    // of the target's folder
}

// placesOf returns the places where a step writes its report, from the root of the repository.
func placesOf(step config.Step, targets []string) (list []placed) {
	for _, pattern := range step.ReportFiles {
		if !strings.Contains(pattern, config.TargetPlaceholder) {
			list = append(list, placed{pattern: path.Join(step.Dir, pattern)})
			continue
		}
		for _, target := range targets {
			dir, ok := placeOf(step.ToolName(target))
			if !named(step, target) || !ok {
				continue
			}
			p := path.Join(step.Dir, strings.ReplaceAll(pattern, config.TargetPlaceholder, escaped(dir)))
			list = append(list, placed{pattern: p, target: target, depth: strings.Count(dir, "/") + 1})
		}
	}
	return list
}

// placeOf returns the folder that a target's name stands for: ./a/b, //a/b, :a:b and a/b are
// a/b, and //a:b is a/b, too.
func placeOf(tool string) (string, bool) {
	dir := strings.TrimLeft(strings.ReplaceAll(strings.TrimPrefix(tool, "./"), ":", "/"), "/")
	if dir == "" {
		return "", false
	}
	return dir, path.Clean(dir) == dir && !strings.HasPrefix(dir, "../") && dir != ".."
}

// escaped returns a name as a pattern that matches it alone.
func escaped(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(name)
}

// Files returns the patterns, as of doublestar, of the files that the report may be in, from
// the root of the repository. The caller that has run the step hands over the files that the
// step has written.
func (r *Report) Files() (patterns []string) {
	for _, p := range r.places {
		patterns = append(patterns, p.pattern)
	}
	return slices.Compact(patterns)
}

// placed returns the target of a file by its name; "" if the report names its targets.
func (r *Report) placed(name string) (target string, ok bool) {
	depth := -1
	for _, p := range r.places {
		if match, err := doublestar.Match(p.pattern, name); err == nil && match && p.depth > depth {
			target, depth, ok = p.target, p.depth, true
		}
	}
	return target, ok
}

// fixed is a part of readers that can take the target of a file from outside.
type fixed struct{ fixedTo string }

// Fix makes the file that is read next a report of one target; "": the file names its targets.
func (f *fixed) Fix(target string) { f.fixedTo = target }

type fixing interface{ Fix(target string) }
