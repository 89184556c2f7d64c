package conflicttest

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Words is the analyzer of a small build system for tests, with the features
// that make large ones hard. Each directory with a file BUILD is a target named
// after it. The words of BUILD define the target:
//
//	dep:TARGET    it depends on a target, which may not exist
//	src:PATH      it owns a file, if that is there
//	glob          it owns every *.txt below it, but for what is below another BUILD
//	use:NAME      the words of rules/NAME count as its own
//	when:W:WORD   WORD counts while the file flags holds W
//	internal      it cannot be verified on its own
//
// Any other word is an attribute, and one that begins with # is a comment. Code
// is words as well; the test decides their meaning. Contents returns the content
// of a target without any hash.
//
// BUILD, rules/NAME and flags are files of the targets that read them. With
// Lean they are files of no target: their words are in hashes, their comments
// are not, and the settings ignore them.
type Words struct{ Lean bool }

var _ conflict.Analyzer = Words{}

// ID names the analyzer.
func (w Words) ID() string {
	if w.Lean {
		return "words/1 lean"
	}
	return "words/1"
}

// Graph returns the targets of a tree.
func (w Words) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	list, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	entries := make(map[string]conflict.Entry, len(list))
	files := map[string]string{}
	for _, e := range list {
		entries[e.Path] = e
		if defines(e.Path) {
			text, err := t.Blob(ctx, e.OID)
			if err != nil {
				return nil, err
			}
			files[e.Path] = string(text)
		} else {
			files[e.Path] = "here"
		}
	}
	g := &conflict.Graph{}
	for p, text := range files {
		if defines(p) {
			g.Definitions = append(g.Definitions, conflict.Definition{Name: conflict.DefinitionPrefix + p, Digest: digest.Of(text)})
		}
	}
	for _, dir := range packages(files) {
		m := made(files, dir)
		target := conflict.Target{Name: dir, Kind: "words", Internal: m.internal, Deps: m.deps, Attrs: digest.Of(m.attrs...), Reads: m.reads}
		for _, p := range m.owned(w.Lean) {
			target.Sources = append(target.Sources, entries[p])
		}
		g.Targets = append(g.Targets, target)
	}
	return g, nil
}

// defines reports whether a file shapes the graph.
func defines(file string) bool {
	return path.Base(file) == "BUILD" || strings.HasPrefix(file, "rules/") || file == "flags"
}

// packages returns the directories with a BUILD, sorted.
func packages(files map[string]string) []string {
	var dirs []string
	for p := range files {
		if dir, base := path.Split(p); base == "BUILD" && dir != "" {
			dirs = append(dirs, strings.TrimSuffix(dir, "/"))
		}
	}
	slices.Sort(dirs)
	return dirs
}

// making has all parts of a target, each list sorted and without repetitions.
type making struct {
	internal           bool
	attrs, deps, files []string
	reads              []string // names of definition nodes and listings
}

// owned returns the files that belong to the target.
func (m *making) owned(lean bool) []string {
	if !lean {
		return m.files
	}
	return slices.DeleteFunc(slices.Clone(m.files), defines)
}

func made(files map[string]string, dir string) making {
	var m making
	attrs, deps, own, reads := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	read := func(file string) []string {
		if _, ok := files[file]; ok {
			own[file] = true
		}
		reads[conflict.DefinitionPrefix+file] = true
		return strings.Fields(files[file])
	}
	used := map[string]bool{}
	for todo := read(dir + "/BUILD"); len(todo) > 0; {
		word := todo[0]
		todo = todo[1:]
		verb, rest, _ := strings.Cut(word, ":")
		switch {
		case word == "internal":
			m.internal = true
		case word == "glob":
			for _, p := range globbed(files, dir, reads) {
				own[p] = true
			}
		case verb == "dep":
			deps[rest] = true
		case verb == "src":
			reads[conflict.ListingOf(strings.TrimSuffix(path.Dir(rest), "/"))] = true
			if _, ok := files[rest]; ok {
				own[rest] = true
			}
		case verb == "use" && !used[rest]:
			used[rest] = true
			todo = slices.Concat(read("rules/"+rest), todo)
		case verb == "when":
			flag, then, _ := strings.Cut(rest, ":")
			if slices.Contains(read("flags"), flag) {
				todo = append([]string{then}, todo...)
			}
		case !strings.HasPrefix(word, "#"):
			attrs[word] = true
		}
	}
	m.attrs, m.deps = slices.Sorted(maps.Keys(attrs)), slices.Sorted(maps.Keys(deps))
	m.files, m.reads = slices.Sorted(maps.Keys(own)), slices.Sorted(maps.Keys(reads))
	return m
}

// globbed returns the texts below a directory that belong to no package below
// it, and notes the listings that were looked at.
func globbed(files map[string]string, dir string, reads map[string]bool) []string {
	reads[conflict.ListingOf(dir)] = true
	var out []string
	below := map[string]bool{}
	for p := range files {
		rest, ok := strings.CutPrefix(p, dir+"/")
		if !ok {
			continue
		}
		if sub, _, deep := strings.Cut(rest, "/"); deep {
			below[dir+"/"+sub] = true
		} else if strings.HasSuffix(rest, ".txt") {
			out = append(out, p)
		}
	}
	for sub := range below {
		reads[conflict.ListingOf(sub)] = true
		if _, nested := files[sub+"/BUILD"]; !nested {
			out = append(out, globbed(files, sub, reads)...)
		}
	}
	return out
}
