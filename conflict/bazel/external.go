package bazel

import (
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// externals are the external repositories that packages may load from.
type externals struct {
	made   []string                // the files of the tree that define them
	within []string                // folders of the tree that they may be made of, beside those known by name
	repos  map[string]repo         // by name
	parts  map[string]queue.Digest // digests of repositories in the tree
}

// repo is one external repository as files.
type repo struct {
	path   string // where it is, on this machine
	dir    string // or in the tree
	digest queue.Digest
}

// digest returns a digest of the files that can be loaded from a repository.
func (x *externals) digest(l *layout, name string) queue.Digest {
	r, ok := x.repos[name]
	switch {
	case !ok:
		return ""
	case r.dir == "":
		return r.digest
	}
	if d, ok := x.parts[name]; ok {
		return d
	}
	d := l.content([]string{r.dir})
	x.parts[name] = d
	return d
}

// inTree returns the folder of a repository that is a part of the tree.
func (x *externals) inTree(name string) (string, bool) {
	r := x.repos[name]
	return r.dir, r.dir != ""
}

// rcFiles returns the rc files of the tree and all files that they import.
func (s *scanned) rcFiles(ctx context.Context) ([]string, error) {
	var todo []string
	for _, e := range s.layout.files {
		if path.Ext(e.Path) == ".bazelrc" {
			todo = append(todo, e.Path)
		}
	}
	return s.imported(ctx, todo)
}

// imported returns rc files and all files that they import.
func (s *scanned) imported(ctx context.Context, todo []string) ([]string, error) {
	files := map[string]bool{}
	for len(todo) > 0 {
		file := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if files[file] {
			continue
		}
		files[file] = true
		more, err := s.imports(ctx, file)
		if err != nil {
			return nil, err
		}
		todo = append(todo, more...)
	}
	return slices.Sorted(maps.Keys(files)), nil
}

// imports returns the files of the tree that an rc file imports.
func (s *scanned) imports(ctx context.Context, file string) ([]string, error) {
	text, err := s.text(ctx, file)
	if err != nil {
		return nil, err
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) > 1 && (words[0] == "import" || words[0] == "try-import") {
			out = append(out, path.Clean(strings.TrimPrefix(strings.Trim(words[1], `"'`), "%workspace%/")))
		}
	}
	return out, nil
}

// workspaceFiles are where repositories are declared.
var workspaceFiles = []string{"WORKSPACE", "WORKSPACE.bazel", "WORKSPACE.bzlmod", "MODULE.bazel", "MODULE.bazel.lock"}

// fileLabel finds texts that may be labels of files: a lock file, a patch, a
// .bzl file with an extension. A label without a package is in the package of
// the file or, in a macro, in that of WORKSPACE.
var fileLabel = regexp.MustCompile(`["']([^"'\s]+)["']`)

// making returns the files of a tree that define its repositories: the files
// that declare them, all .bzl files that these load, and all files that one of
// them names by a label.
func (a *Analyzer) making(ctx context.Context, s *scanned) ([]string, error) {
	files := map[string]bool{}
	todo, _, err := a.closure(ctx, s, files, workspaceFiles)
	if err != nil {
		return nil, err
	}
	for len(todo) > 0 {
		file := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		text, err := s.text(ctx, file)
		if err != nil {
			return nil, err
		}
		for _, m := range fileLabel.FindAllSubmatch(text, -1) {
			for _, named := range s.mayName(file, string(m[1])) {
				if _, there := s.layout.resolve(named); !there || files[named] {
					continue
				}
				if !isScript(named) && !strings.HasSuffix(named, "MODULE.bazel") {
					files[named] = true
					continue
				}
				more, _, err := a.closure(ctx, s, files, []string{named})
				if err != nil {
					return nil, err
				}
				todo = append(todo, more...)
			}
		}
	}
	maps.DeleteFunc(files, func(file string, _ bool) bool { return s.layout.state(file) == s.layout.state("") })
	return slices.Sorted(maps.Keys(files)), nil
}

// mayName returns the files of the tree that a text in a file could name as a
// label.
func (s *scanned) mayName(file, text string) []string {
	if l, ok := parseLabel(text, s.workspace); ok {
		if l.repo != "" {
			return nil
		}
		return []string{l.file()}
	}
	dir, _ := s.layout.owner(file)
	text = strings.TrimPrefix(text, ":")
	return []string{path.Join(dir, text), path.Clean(text)}
}

// externals returns the repositories that a tree may load from: its own
// folders, and, if it loads from others, those of the target branch, if both
// declare them alike.
func (a trusting) externals(ctx context.Context, program string, s *scanned) (*externals, error) {
	made, err := a.making(ctx, s)
	if err != nil {
		return nil, err
	}
	within, err := s.madeFolders(ctx, made)
	if err != nil {
		return nil, err
	}
	x := &externals{made: made, within: within, repos: map[string]repo{}, parts: map[string]queue.Digest{}}
	for name, dir := range s.layout.repos {
		x.repos[name] = repo{dir: dir}
	}
	if len(s.outer) == 0 {
		return x, nil
	}
	if a.target == nil {
		return nil, fmt.Errorf("it loads %s, and the target branch, whose repositories are used, is not known: %w", s.outer[0], conflict.ErrProvisional)
	}
	target, err := a.targetScan(ctx)
	if err != nil {
		return nil, err
	}
	if file := differing(s, made, target.scanned, target.made); file != "" {
		return nil, undecided(s, file)
	}
	key := []string{s.version, s.workspace}
	for _, file := range made {
		key = append(key, file, s.layout.state(file))
	}
	f, err := a.fetch(ctx, program, target.scanned, fetching{string(digest.Of(key...)), s.outer})
	if err != nil {
		return nil, err
	}
	inner := map[string]bool{}
	for _, file := range f.reads {
		if !slices.Equal(s.layout.entries(file), target.layout.entries(file)) {
			return nil, undecided(s, file)
		}
	}
	x.made = append(x.made, f.reads...)
	for name, r := range f.repos {
		x.repos[name] = r
		if r.dir != "" {
			inner[r.dir] = true
		}
	}
	return x, s.layout.exclude(inner)
}

func undecided(s *scanned, file string) error {
	return fmt.Errorf("it loads %s, and %q is not what it is on the target branch; repositories are fetched as they are declared there, once it has landed: %w",
		s.outer[0], file, conflict.ErrProvisional)
}

// differing returns a file that differs between two trees.
func differing(s *scanned, made []string, t *scanned, target []string) string {
	for _, file := range slices.Concat(made, target) {
		if s.layout.state(file) != t.layout.state(file) {
			return file
		}
	}
	return ""
}

// targeted is a scanned target branch.
type targeted struct {
	*scanned
	made []string
}

func (a trusting) targetScan(ctx context.Context) (*targeted, error) {
	a.mu.Lock()
	last := a.last
	a.mu.Unlock()
	if last != nil && last.tree.ID() == a.target.ID() {
		return last, nil
	}
	s, err := a.scan(ctx, a.target)
	if err != nil {
		return nil, fmt.Errorf("the target branch: %w: %w", conflict.ErrProvisional, err)
	}
	made, err := a.making(ctx, s)
	if err != nil {
		return nil, fmt.Errorf("the target branch: %w: %w", conflict.ErrProvisional, err)
	}
	last = &targeted{s, made}
	a.mu.Lock()
	a.last = last
	a.mu.Unlock()
	return last, nil
}
