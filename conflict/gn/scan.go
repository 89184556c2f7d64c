package gn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/checkout"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// scanned is the content of the tree's definition files, read without GN.
type scanned struct {
	*layout.Layout
	link        func(conflict.Entry) (string, error) // the path that is written in a link
	needs       map[string][]string                  // definition file → files that it imports or reads
	refused     map[string]error                     // definition files and links that GN must not see, and why
	deps        map[string]bool                      // definition files that have the word deps
	dirs        map[string][]string                  // target → folders in which its compiler looks for included files
	dotfile     string
	buildconfig string
}

// definition reports whether a file is one of GN's by its name.
func definition(file string) bool {
	return strings.HasSuffix(file, ".gn") || strings.HasSuffix(file, ".gni")
}

// scan reads all definition files of a tree.
func scan(ctx context.Context, t conflict.Tree, files []conflict.Entry) (*scanned, error) {
	link := func(e conflict.Entry) (string, error) {
		goal, err := t.Blob(ctx, e.OID)
		return string(goal), err
	}
	s := &scanned{Layout: layout.New(files), link: link, needs: map[string][]string{}, refused: map[string]error{}, deps: map[string]bool{}, dirs: map[string][]string{}}
	dot, ok := s.ByPath[".gn"]
	if !ok || dot.Mode == conflict.ModeLink {
		return nil, errors.New("the tree has no file .gn at its root")
	}
	src, err := t.Blob(ctx, dot.OID)
	if err != nil {
		return nil, err
	}
	if s.dotfile, s.buildconfig, err = makeDotfile(string(src)); err != nil {
		return nil, err
	}
	for _, e := range files {
		if e.Mode == conflict.ModeLink && !definition(e.Path) {
			if err := s.way(e); err != nil {
				return nil, err
			}
			continue
		}
		if e.Path == ".gn" || !definition(e.Path) || e.Mode == conflict.ModeSubmodule {
			continue
		}
		if e.Mode == conflict.ModeLink {
			s.refused[e.Path] = errors.New("it is a link")
			continue
		}
		src, err := t.Blob(ctx, e.OID)
		if err != nil {
			return nil, err
		}
		if s.needs[e.Path], s.deps[e.Path], err = needs(e.Path, string(src)); err != nil {
			s.refused[e.Path] = err
		}
	}
	return s, nil
}

// way keeps a link from GN by which it could load definition files under other names.
// The needs of a file are known for its own name only: a relative name in it would lead
// elsewhere, even out of the tree.
func (s *scanned) way(link conflict.Entry) error {
	goal, _, ok, err := s.Resolve(link.Path, s.link)
	if err != nil || !ok {
		return err
	}
	for _, e := range s.At(goal) {
		if definition(e.Path) {
			s.refused[link.Path] = fmt.Errorf("it is a link to a folder with definition files, such as //%s: use their own names", e.Path)
			break
		}
	}
	return nil
}

// needs returns the files that a definition file imports or reads, or why they
// are not known, and whether it has the word deps. A file that GN would refuse as
// well is left to GN and its message.
func needs(file, src string) (out []string, deps bool, err error) {
	list, err := tokens(src)
	if err != nil {
		return nil, false, err
	}
	var body template
	for i, t := range list {
		body.next(t)
		deps = deps || t.kind == word && t.text == "deps"
		if t.kind == text && strings.Contains(t.text, "exec_script") || t.kind == word && t.text == "exec_script" {
			return nil, false, fmt.Errorf("line %d: exec_script would run a program of the tree on the server", t.line)
		}
		if t.kind == word && t.text == "write_file" {
			return nil, false, fmt.Errorf("line %d: write_file could write definitions that nobody has looked at", t.line)
		}
		if t.kind != word || t.text != "import" && t.text != "read_file" && t.text != "path_exists" {
			continue
		}
		if i+3 >= len(list) || list[i+1].text != "(" || list[i+2].kind != text || !plain(list[i+2].text) || !strings.Contains("),", list[i+3].text) {
			return nil, false, fmt.Errorf("line %d: %s of something other than a plain name", t.line, t.text)
		}
		if body.in() && !strings.HasPrefix(list[i+2].text, "//") {
			return nil, false, fmt.Errorf("line %d: %s of a relative name in a template, where it is relative to the file that uses the template: begin it with //", t.line, t.text)
		}
		to, ok := resolve(path.Dir(file), list[i+2].text)
		if !ok || t.text == "import" && !definition(to) {
			return nil, false, fmt.Errorf("line %d: %s of %q, which is not a file of the tree that may be read", t.line, t.text, list[i+2].text)
		}
		out = append(out, to)
	}
	return out, deps, nil
}

// template finds the bodies of templates in a list of tokens.
type template struct {
	depth, from int // of braces; 1 + that of the outermost template, 0 outside of all
	begun       bool
}

func (b *template) in() bool { return b.from > 0 }

func (b *template) next(t token) {
	switch {
	case t.kind == word && t.text == "template":
		b.begun = true
	case t.kind == sign && t.text == "{":
		if b.depth++; b.begun && b.from == 0 {
			b.from = b.depth
		}
		b.begun = false
	case t.kind == sign && t.text == "}":
		if b.depth == b.from {
			b.from = 0
		}
		b.depth--
	}
}

// resolve returns the path of a name that a file in a folder uses.
func resolve(dir, name string) (string, bool) {
	file, ok := strings.CutPrefix(name, "//")
	if !ok {
		if strings.HasPrefix(name, "/") {
			return "", false
		}
		file = path.Join(dir, name)
	}
	file = path.Clean(file)
	if file == buildDir || strings.HasPrefix(file, buildDir+"/") {
		return "", false // files that a run has made are not the tree's
	}
	return file, file != "." && file != ".." && !strings.HasPrefix(file, "../") && !strings.HasPrefix(file, "/")
}

// closure returns the given definition files and all files that they import or
// read, sorted.
func (s *scanned) closure(files ...string) []string {
	seen := map[string]bool{}
	for len(files) > 0 {
		f := files[len(files)-1]
		files = files[:len(files)-1]
		if seen[f] {
			continue
		}
		seen[f] = true
		files = append(files, s.needs[f]...)
	}
	out := make([]string, 0, len(seen))
	for f := range seen {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

// foreign finds a place in a file that is not the tree's, such as the BUILD.gn of a label
// that leads out of it. GN's message shows the line. A message that has lost its
// beginning is not shown at all.
var (
	foreign = regexp.MustCompile(`(?m)^(?:ERROR at|See) /[^/]`)
	shows   = regexp.MustCompile(`(?m)^ERROR `)
)

// explain says why a file was taken away, if the run failed because of that.
func (s *scanned) explain(err error) error {
	failed := err.Error()
	if run := (*checkout.RunError)(nil); errors.As(err, &run) {
		switch {
		case foreign.MatchString(run.Last):
			return errors.New("gn gen: gn has read a file that is not a definition of the tree")
		case !shows.MatchString(run.Last):
			return fmt.Errorf("gn gen: %w", &checkout.RunError{Reason: run.Reason, Failed: run.Failed, Code: run.Code, Late: run.Late})
		}
	}
	for _, file := range slices.Sorted(maps.Keys(s.refused)) {
		if strings.Contains(failed, "/"+file+"\"") || strings.Contains(failed, "/"+file+"/") {
			return fmt.Errorf("//%s: %w", file, s.refused[file])
		}
	}
	return fmt.Errorf("gn gen: %w", err)
}

// checkRead refuses a run that has read files that it should not have read.
func (s *scanned) checkRead(depfile, dotfile string) error {
	data, err := os.ReadFile(depfile)
	if err != nil {
		return fmt.Errorf("gn gen has not said what it has read: %w", conflict.ErrProvisional)
	}
	_, list, _ := strings.Cut(string(data), ": ")
	build := filepath.Dir(depfile)
	may := map[string]bool{}
	for file, needs := range s.needs {
		may[file] = true
		for _, n := range needs {
			may[n] = s.ByPath[n].Mode != conflict.ModeLink
		}
	}
	for _, name := range strings.Fields(strings.ReplaceAll(list, `\ `, "\x00")) {
		name = strings.ReplaceAll(name, "\x00", " ")
		full := filepath.Join(build, name)
		if filepath.IsAbs(name) {
			full = name
		}
		rel, err := filepath.Rel(filepath.Dir(build), full)
		if full == dotfile || full == filepath.Join(build, "args.gn") { // args.gn is named even if it does not exist, as at first
			continue
		}
		if err != nil || !may[filepath.ToSlash(rel)] {
			return fmt.Errorf("gn has read a file that is not a definition of the tree")
		}
	}
	return nil
}
