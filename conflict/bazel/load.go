package bazel

import (
	"bytes"
	"context"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// source has the parts of a BUILD or .bzl file that can be read without Bazel.
type source struct {
	loads []string // labels as they are written
	named []string // labels that name a repository, even that of the tree
	globs bool     // it may look at which files exist

	settings []string // labels of build settings that its transitions read
	platform []string // labels in a file with transitions, to which of the platforms these may lead
}

// Both patterns are guesses that err on one side: a load statement that is
// written in another way is only found by Bazel, which then has no repository
// for it.
var loadStatement = regexp.MustCompile(`(?m)^[ \t]*load[ \t]*\(\s*(?:#[^\n]*\n\s*)*["']([^"'\n]+)["']`)

var repoLabel = regexp.MustCompile(`@[A-Za-z0-9_.~+-]*//[A-Za-z0-9_./+=~-]*(?::[A-Za-z0-9_./+=~-]+)?`)

func readSource(text []byte) source {
	s := source{}
	for _, word := range []string{"glob", "subpackages", "getattr"} { // native can be asked for its functions by name
		s.globs = s.globs || bytes.Contains(text, []byte(word))
	}
	for _, m := range loadStatement.FindAllSubmatch(text, -1) {
		s.loads = append(s.loads, string(m[1]))
	}
	if transitions.Match(text) {
		for _, name := range innerLabel.FindAll(text, -1) {
			s.platform = append(s.platform, string(name))
		}
	}
	for _, m := range transitionInputs.FindAllSubmatch(text, -1) {
		for _, name := range innerLabel.FindAll(m[1], -1) {
			s.settings = append(s.settings, string(name))
		}
	}
	for _, name := range repoLabel.FindAll(text, -1) {
		s.named = append(s.named, string(name))
	}
	slices.Sort(s.named)
	s.named = slices.Clip(slices.Compact(s.named))
	return s
}

// transitions matches the definition of a transition.
var transitions = regexp.MustCompile(`\btransition\s*\(`)

// transitionInputs finds the settings that a transition reads. They decide how rules with the
// transition are built, and are inputs of none.
var transitionInputs = regexp.MustCompile(`(?s)\btransition\s*\(.*?\binputs\s*=\s*\[([^\]]*)\]`)

// source reads the text at a path; there may be none.
func (a *Analyzer) source(ctx context.Context, s *scanned, file string) (source, error) {
	e, ok := s.layout.resolve(file)
	if !ok || e.Mode == conflict.ModeSubmodule {
		return source{}, nil
	}
	if src, ok := a.scans.Get(e.OID); ok {
		return src, nil
	}
	text, err := s.tree.Blob(ctx, e.OID)
	if err != nil {
		return source{}, err
	}
	src := readSource(text)
	a.scans.Add(e.OID, src)
	return src, nil
}

// closure adds to a set the given files of the tree and those that they load. It
// returns the files that were not in it, and the labels that these load from
// elsewhere.
func (a *Analyzer) closure(ctx context.Context, s *scanned, files map[string]bool, from []string) (added []string, outer map[string]bool, err error) {
	outer = map[string]bool{}
	for todo := slices.Clone(from); len(todo) > 0; {
		file := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if files[file] {
			continue
		}
		files[file] = true
		added = append(added, file)
		src, err := a.source(ctx, s, file)
		if err != nil {
			return nil, nil, err
		}
		for _, load := range src.loads {
			l, ok := parseLabel(load, s.workspace)
			switch {
			case (!ok || l.repo == "") && s.layout.inner(file) != "": // all of them are looked at
			case !ok: // :name, in the package of this file
				dir, _ := s.layout.owner(file)
				todo = append(todo, path.Join(dir, strings.TrimPrefix(load, ":")))
			case l.repo == "":
				todo = append(todo, l.file())
			case l.repo == toolsRepo || s.layout.repos[l.repo] != "" && s.layout.repos[l.repo] == s.layout.inner(file):
			case s.layout.repos[l.repo] != "":
				todo = append(todo, s.layout.scripts(s.layout.repos[l.repo])...)
			default:
				outer[l.String()] = true
			}
		}
	}
	return added, outer, nil
}

// inner returns the folder of the repository that a file of the tree is in, ""
// if none.
func (l *layout) inner(file string) string {
	for dir := folder(file); dir != ""; dir = folder(dir) {
		if l.apart[dir] {
			return dir
		}
	}
	return ""
}

// toolsRepo is a part of Bazel.
const toolsRepo = "bazel_tools"

// outerLoads returns the labels outside of the tree that its packages load.
func (a *Analyzer) outerLoads(ctx context.Context, s *scanned) ([]string, error) {
	var builds []string
	for _, p := range s.layout.packages {
		builds = append(builds, p.build)
	}
	_, outer, err := a.closure(ctx, s, map[string]bool{}, builds)
	return slices.Sorted(maps.Keys(outer)), err
}

var nameStatement = regexp.MustCompile(`(?m)^workspace\s*\(\s*name\s*=\s*["']([A-Za-z0-9_.-]+)["']`)

// workspaceName returns the name that a tree gives itself, "" if none.
func (s *scanned) workspaceName(ctx context.Context) (string, error) {
	for _, file := range roots[:2] {
		e, ok := s.layout.resolve(file)
		if !ok || e.Mode == conflict.ModeSubmodule {
			continue
		}
		text, err := s.tree.Blob(ctx, e.OID)
		if err != nil {
			return "", err
		}
		if m := nameStatement.FindSubmatch(text); m != nil {
			return string(m[1]), nil
		}
		return "", nil
	}
	return "", nil
}
