package bazel

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// Repositories that are folders of the tree, as they are declared in plain
// words. Repositories that are declared in another way are found once they have
// been fetched.
var (
	innerStatement = regexp.MustCompile(`(?m)^(?:local_repository|local_path_override)\s*\(([^()]*)\)`)
	givenStatement = regexp.MustCompile(`(?m)^new_local_repository\s*\(([^()]*)\)`)
	depStatement   = regexp.MustCompile(`(?m)^bazel_dep\s*\(([^()]*)\)`)
	depName        = regexp.MustCompile(`\brepo_name\s*=\s*["']([A-Za-z0-9_.~+-]+)["']`)
	innerName      = regexp.MustCompile(`\b(?:name|module_name)\s*=\s*["']([A-Za-z0-9_.~+-]+)["']`)
	innerPath      = regexp.MustCompile(`\bpath\s*=\s*["']([A-Za-z0-9_./+=~-]+)["']`)
)

// innerRepos returns the folders of the tree that are repositories: name → folder.
// It notes the repositories that new_local_repository makes of folders (given).
func (l *layout) innerRepos(ctx context.Context, t conflict.Tree) (map[string]string, error) {
	out, renamed := map[string]string{}, map[string]string{}
	for _, file := range roots {
		e, ok := l.resolve(file)
		if !ok || e.Mode == conflict.ModeSubmodule {
			continue
		}
		text, err := t.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		for _, m := range givenStatement.FindAllSubmatch(text, -1) {
			name, at := innerName.FindSubmatch(m[1]), innerPath.FindSubmatch(m[1])
			if name != nil && at != nil {
				l.given[string(name[1])] = path.Clean(string(at[1]))
			}
		}
		for _, m := range innerStatement.FindAllSubmatch(text, -1) {
			name, at := innerName.FindSubmatch(m[1]), innerPath.FindSubmatch(m[1])
			if name == nil || at == nil {
				continue
			}
			if dir := inside("", path.Clean(string(at[1]))); dir != "" && dir != "." && string(name[1]) != toolsRepo {
				out[string(name[1])] = dir
			}
		}
		for _, m := range depStatement.FindAllSubmatch(text, -1) {
			if name, as := innerName.FindSubmatch(m[1]), depName.FindSubmatch(m[1]); name != nil && as != nil && string(as[1]) != toolsRepo {
				renamed[string(as[1])] = string(name[1])
			}
		}
	}
	for as, name := range renamed { // labels have a module under the name that it is taken in by
		if dir := out[name]; dir != "" && out[as] == "" {
			out[as] = dir
		}
	}
	return out, nil
}

// madePath finds the folder of a repository in a text, however the repository is made of
// it: by a macro, or with calls among its arguments. If the name is put together of
// several, its beginning says in which folder all of them are.
var madePath = regexp.MustCompile(`\bpath\s*=\s*["']([A-Za-z0-9_./+=~-]+)(["'%{])`)

// madeFolders returns the folders of the tree of which files may make repositories, but for
// those that are known by name.
func (s *scanned) madeFolders(ctx context.Context, made []string) ([]string, error) {
	known := map[string]bool{".": true}
	for _, list := range []map[string]string{s.layout.repos, s.layout.given} {
		for _, dir := range list {
			known[dir] = true
		}
	}
	var out []string
	for _, file := range made {
		text, err := s.text(ctx, file)
		if err != nil {
			return nil, err
		}
		for _, m := range madePath.FindAllSubmatch(text, -1) {
			at := string(m[1])
			if m[2][0] == '%' || m[2][0] == '{' {
				at = folder(at)
			}
			if dir := inside("", path.Clean(at)); dir != "" && !known[dir] && len(s.layout.entries(dir)) > 0 {
				known[dir] = true
				out = append(out, dir)
			}
		}
	}
	return out, nil
}

// deletedPackages matches the option with which Bazel takes folders for no packages: their
// files belong to the packages around them.
var deletedPackages = regexp.MustCompile(`--deleted_packages[= \t]+["']?([A-Za-z0-9_./+=~@,-]+)`)

// deleted returns the folders that rc files say are no packages. The targets of such a folder
// are no targets, and nobody verifies them. So the option counts only where each build has it:
// in a line for all builds, of the workspace's own rc file or of what that imports. Where it
// is for some builds, of which it is not known whether the steps are such ones, the tree has no
// graph. An rc file of another workspace in the tree says nothing of this one.
func (s *scanned) deleted(ctx context.Context) (map[string]bool, error) {
	own, err := s.imported(ctx, []string{".bazelrc"})
	if err != nil {
		return nil, err
	}
	out, some := map[string]bool{}, map[string]string{}
	for _, file := range s.rc {
		ours := slices.Contains(own, file)
		if !ours && s.elsewhere(file) {
			continue
		}
		text, err := s.text(ctx, file)
		if err != nil {
			return nil, err
		}
		for word, dir := range deletions(string(text)) {
			command, _, _ := strings.Cut(word, ":")
			switch {
			case ours && slices.Contains([]string{"build", "common", "always"}, word):
				out[dir] = true
			case slices.Contains([]string{"build", "test", "coverage", "common", "always"}, command):
				some[dir] = file
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(some)) {
		if _, is := s.layout.packages[dir]; is && !out[dir] {
			return nil, fmt.Errorf("%s has --deleted_packages=%s for some builds only: have it in .bazelrc for all of them, as `build --deleted_packages=%s`", some[dir], dir, dir)
		}
	}
	return out, nil
}

// joinedLine matches the end of a line of an rc file that goes on in the next one.
var joinedLine = regexp.MustCompile(`\\\r?\n`)

// deletions yields the folders that the text of an rc file says are no packages, each with
// the first word of its line.
func deletions(text string) iter.Seq2[string, string] {
	return func(yield func(word, dir string) bool) {
		for line := range strings.Lines(joinedLine.ReplaceAllString(text, "")) {
			line, _, _ = strings.Cut(line, "#")
			words := strings.Fields(line)
			for _, m := range deletedPackages.FindAllStringSubmatch(line, -1) {
				for name := range strings.SplitSeq(m[1], ",") {
					if _, dir, ok := strings.Cut(name, "//"); ok {
						name = dir
					}
					if !yield(words[0], name) { // there are words, or nothing would match
						return
					}
				}
			}
		}
	}
}

// elsewhere reports whether a file is in another workspace within the tree.
func (s *scanned) elsewhere(file string) bool {
	for dir := folder(file); dir != ""; dir = folder(dir) {
		for _, root := range roots {
			if _, ok := s.layout.resolve(path.Join(dir, root)); ok {
				return true
			}
		}
	}
	return false
}

// exclude removes packages in folders that Bazel does not count as part of the
// tree.
func (l *layout) exclude(dirs map[string]bool) error {
	return l.remove(func(dir string) bool { return below(dir, dirs) })
}

// remove takes away the packages of the folders that out reports: their files belong to the
// packages around them. out may be called in any order, and only reports.
func (l *layout) remove(out func(dir string) bool) error {
	changed := false
	for dir := range l.packages {
		if out(dir) {
			delete(l.packages, dir)
			changed = true
		}
	}
	if !changed {
		return nil
	}
	for _, p := range l.packages {
		p.dirs, p.inner = nil, nil
	}
	return l.fill()
}

// scripts returns the .bzl files below a folder.
func (l *layout) scripts(dir string) []string {
	var out []string
	for _, e := range l.entries(dir) {
		if isScript(e.Path) {
			out = append(out, e.Path)
		}
	}
	return out
}
