package audit

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Reads are the paths that the processes of a command have looked at in a checkout,
// relative to its root, each with the programs that did.
type Reads struct {
	Content, Listed, Tested, Scanned map[string][]string
}

func newReads() Reads {
	return Reads{map[string][]string{}, map[string][]string{}, map[string][]string{}, map[string][]string{}}
}

func note(m map[string][]string, path, program string) {
	if !slices.Contains(m[path], program) {
		m[path] = append(m[path], program)
	}
}

// recorder makes Reads from the events that a tracer sees.
type recorder struct {
	root  string // absolute, without symbolic links
	links map[string]bool
	own   map[string]bool // paths that the command has written itself
	Reads
}

func newRecorder(root string, links []string) *recorder {
	r := &recorder{root: root, links: map[string]bool{}, own: map[string]bool{}, Reads: newReads()}
	for _, l := range links {
		r.links[l] = true
	}
	return r
}

// inside returns an absolute path relative to the root of the checkout, "." for the
// root.
func (r *recorder) inside(abs string) (string, bool) {
	if !path.IsAbs(abs) {
		return "", false
	}
	abs = path.Clean(abs)
	if abs == r.root {
		return ".", true
	}
	rel, ok := strings.CutPrefix(abs, r.root+"/")
	if !ok || rel == ".git" || strings.HasPrefix(rel, ".git/") {
		return "", false
	}
	return rel, true
}

// through notes the links of the repository that a path, as it was named, leads
// through or to.
func (r *recorder) through(abs, program string) {
	rel, ok := r.inside(abs)
	if !ok || len(r.links) == 0 {
		return
	}
	for at := rel; at != "."; at = path.Dir(at) {
		if r.links[at] && !r.own[at] {
			note(r.Content, at, program)
		}
	}
}

// content notes a read of a file, by the path that it really has.
func (r *recorder) content(abs string, p *process) {
	rel, ok := r.inside(abs)
	if !ok || rel == "." || r.own[rel] {
		return
	}
	if p.scans(rel) {
		note(r.Scanned, rel, p.name())
		return
	}
	note(r.Content, rel, p.name())
}

func (r *recorder) listed(abs string, p *process) {
	if rel, ok := r.inside(abs); ok {
		note(r.Listed, rel, p.name())
	}
}

func (r *recorder) tested(abs string, p *process) {
	if rel, ok := r.inside(abs); ok && rel != "." {
		note(r.Tested, rel, p.name())
	}
}

// wrote notes that the file at a path is not the commit's from now on.
func (r *recorder) wrote(abs string) {
	rel, ok := r.inside(abs)
	if !ok {
		return
	}
	if _, before := r.Content[rel]; !before {
		r.own[rel] = true
	}
}

// done returns what was seen. A path that is in Content is left out of Scanned, and a path in
// Content or Listed is left out of Tested.
func (r *recorder) done() Reads {
	maps.DeleteFunc(r.Tested, func(file string, _ []string) bool { return r.Content[file] != nil || r.Listed[file] != nil })
	maps.DeleteFunc(r.Scanned, func(file string, _ []string) bool { return r.Content[file] != nil })
	for _, m := range []map[string][]string{r.Content, r.Listed, r.Tested, r.Scanned} {
		for _, programs := range m {
			slices.Sort(programs)
		}
	}
	return r.Reads
}

// process is what is known of a process, or of a thread of one.
type process struct {
	cwd     string
	program string // base name of what it runs
	verb    string // of git
}

func (p *process) name() string {
	if p.verb != "" {
		return p.program + " " + p.verb
	}
	return p.program
}

// scans reports whether the process reads a file only because it looks at all files:
// see the package's doc.
func (p *process) scans(file string) bool {
	switch p.program {
	case "git":
		switch p.verb {
		case "status", "add", "commit", "diff", "diff-files", "diff-index", "update-index", "describe", "ls-files", "checkout", "reset", "clean", "stash":
			return true
		}
	case "go":
		return strings.HasSuffix(file, "_test.go")
	}
	return false
}

// runs notes the program that a process has begun to run.
func (p *process) runs(program string, args []string) {
	p.program, p.verb = path.Base(program), ""
	if p.program != "git" {
		return
	}
	for i := 1; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-C" || a == "-c":
			i++
		case !strings.HasPrefix(a, "-"):
			p.verb = a
			return
		}
	}
}
