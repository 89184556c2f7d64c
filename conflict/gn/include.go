package gn

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// A compiler reads every file that a source includes, though GN knows only of those that
// a target lists. Where the file is of a target on which the includer depends, the includer's
// hash has it. All others are inputs of the includer: GN's own check for them, `gn check`, is
// not part of a build.

// included matches a line that has a compiler, an assembler, or a compiler of interfaces read
// another file.
var included = regexp.MustCompile(`\A[ \t]*(?:[#%][ \t]*(?:include|include_next|import|embed)|\.?(?:include|incbin)|import(?:[ \t]+(?:public|weak))?)[ \t]*["<]([^">\n]+)[">]`)

// compiled are the endings of files that may include others. Those that others include in turn
// are definition nodes, if they are headers.
var compiled = map[string]bool{".c": false, ".cc": false, ".cpp": false, ".cxx": false, ".c++": false, ".C": false, ".m": false, ".mm": false, ".cu": false,
	".s": false, ".S": false, ".asm": false, ".rc": false,
	".h": true, ".hh": true, ".hpp": true, ".hxx": true, ".h++": true, ".H": true, ".cuh": true, ".inc": true, ".inl": true, ".ipp": true, ".tcc": true, ".def": true,
	".proto": true, ".mojom": true, ".idl": true}

// keptIncludes is how many files an analyzer remembers, and includesBatch how many it reads at
// once.
const (
	keptIncludes  = 1 << 17
	includesBatch = 64
)

// longestLine bounds a line that includes a file, and mostLookups how often files are looked
// for in folders for one tree; a file that is found counts as foundLookups.
const (
	longestLine  = 1000
	mostLookups  = 1 << 28
	foundLookups = 64
)

var errIncludes = errors.New("sources of targets include too many files, or in too many folders")

// includer finds the files that the sources of targets include.
type includer struct {
	*scanned
	*Analyzer
	tree  conflict.Tree
	g     *conflict.Graph
	left  int              // lookups
	links bool             // the tree has links or submodules
	deps  [][]int          // target → its dependencies
	has   map[string][]int // file → the targets with the file in their hash
	marks []int            // target → 1 + the target among whose dependencies it was seen last
	of    int              // that target
	todo  []int            // the dependencies of it that have not been looked at
}

// include adds to each target the files that its sources include and that are in its hash
// neither by itself nor by a dependency.
func (a *Analyzer) include(ctx context.Context, t conflict.Tree, s *scanned, g *conflict.Graph) error {
	x := &includer{scanned: s, Analyzer: a, tree: t, g: g, left: a.lookups, deps: make([][]int, len(g.Targets)), has: map[string][]int{}, marks: make([]int, len(g.Targets)), of: -1}
	x.links = slices.ContainsFunc(s.Sorted, func(e conflict.Entry) bool {
		return e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule
	})
	unknown, index := map[string]bool{}, map[string]int{}
	for i := range g.Targets {
		index[g.Targets[i].Name] = i
	}
	for i := range g.Targets {
		for _, d := range g.Targets[i].Deps {
			if j, ok := index[d]; ok {
				x.deps[i] = append(x.deps[i], j)
			}
		}
		for _, e := range filesOf(&g.Targets[i]) {
			x.has[e.Path] = append(x.has[e.Path], i)
			if _, ok := compiled[path.Ext(e.Path)]; ok && plainFile(e) && !a.includes.Contains(e.OID) {
				unknown[e.OID] = true
			}
		}
	}
	for oids := range slices.Chunk(slices.Sorted(maps.Keys(unknown)), includesBatch) {
		contents, err := conflict.Blobs(ctx, t, oids)
		if err != nil {
			return err
		}
		for i, oid := range oids {
			a.includes.Add(oid, includesOf(contents[i]))
		}
	}
	for i := range g.Targets {
		if err := x.target(ctx, i); err != nil {
			return err
		}
	}
	defined := map[string]bool{}
	for _, d := range g.Definitions {
		defined[d.Name] = true
	}
	for _, e := range s.Sorted {
		if compiled[path.Ext(e.Path)] && len(x.has[e.Path]) > 0 && !defined[conflict.DefinitionPrefix+e.Path] {
			g.Definitions = append(g.Definitions, conflict.Definition{Name: conflict.DefinitionPrefix + e.Path, Digest: digest.Of("file1", e.Mode, e.OID)})
		}
	}
	return nil
}

// filesOf returns the files in a target's hash that are no definitions.
func filesOf(t *conflict.Target) []conflict.Entry {
	return slices.DeleteFunc(slices.Concat(t.Sources, t.Inputs), func(e conflict.Entry) bool { return definition(e.Path) })
}

// plainFile reports whether an entry has a text of its own.
func plainFile(e conflict.Entry) bool {
	return e.OID != "" && e.Mode != conflict.ModeLink && e.Mode != conflict.ModeSubmodule
}

// includesOf returns the names that a text includes, sorted.
func includesOf(text []byte) []string {
	var names []string
	for _, word := range []string{"include", "import", "incbin", "embed"} {
		for at := 0; ; {
			i := bytes.Index(text[at:], []byte(word))
			if i < 0 {
				break
			}
			from := max(0, at+i-longestLine)
			line := text[from+bytes.LastIndexByte(text[from:at+i], '\n')+1 : min(len(text), at+i+longestLine)]
			at += i + len(word)
			if m := included.FindSubmatch(line); m != nil {
				names = append(names, string(m[1]))
			}
		}
	}
	slices.Sort(names)
	return slices.Clip(slices.Compact(names))
}

// names returns the names that a file includes.
func (x *includer) names(ctx context.Context, e conflict.Entry) ([]string, error) {
	if e.Mode == conflict.ModeLink {
		goal, _, _, err := x.Resolve(e.Path, x.link)
		if err != nil {
			return nil, err
		}
		e = x.ByPath[goal]
	}
	if !plainFile(e) {
		return nil, nil
	}
	if names, ok := x.includes.Get(e.OID); ok {
		return names, nil
	}
	text, err := x.tree.Blob(ctx, e.OID)
	if err != nil {
		return nil, err
	}
	names := includesOf(text)
	x.includes.Add(e.OID, names)
	return names, nil
}

// target adds the included files of one target. The files of its dependencies are not looked
// into: what these include is in the hashes of the dependencies.
func (x *includer) target(ctx context.Context, i int) error {
	t := &x.g.Targets[i]
	own, asked := map[string]bool{}, map[string]bool{}
	var todo, found []conflict.Entry
	for _, e := range filesOf(t) {
		own[e.Path] = true
		if _, ok := compiled[path.Ext(e.Path)]; ok {
			todo = append(todo, e)
		}
	}
	dirs := slices.DeleteFunc(append([]string{""}, x.dirs[t.Name]...), func(dir string) bool { return !x.leads(dir) })
	for len(todo) > 0 {
		e := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if err := ctx.Err(); err != nil {
			return err
		}
		names, err := x.names(ctx, e)
		if err != nil {
			return err
		}
		for _, name := range names {
			in := []string{layout.Dir(e.Path)}
			if !asked[name] {
				asked[name] = true
				in = append(in, dirs...)
			}
			if x.left -= len(in); x.left < 0 {
				return errIncludes
			}
			for _, dir := range in {
				at, ok := layout.Join(dir, name)
				if !ok || own[at] {
					continue
				}
				file, via, ok, err := x.file(at)
				if err != nil {
					return err
				}
				if !ok {
					continue
				}
				own[at] = true
				if x.below(i, file.Path) {
					continue
				}
				x.left -= foundLookups
				found = append(append(found, via...), file)
				todo = append(todo, conflict.Entry{Path: at, Mode: file.Mode, OID: file.OID})
			}
		}
	}
	for _, e := range found {
		t.Inputs = append(t.Inputs, e)
		if compiled[path.Ext(e.Path)] {
			t.Reads = append(t.Reads, conflict.DefinitionPrefix+e.Path)
		}
	}
	return nil
}

// file returns the file that a path leads to, and the links on the way.
func (x *includer) file(at string) (e conflict.Entry, via []conflict.Entry, ok bool, err error) {
	if e, ok := x.ByPath[at]; ok && plainFile(e) {
		return e, nil, true, nil
	}
	if !x.links {
		return conflict.Entry{}, nil, false, nil
	}
	goal, via, ok, err := x.Resolve(at, x.link)
	if err != nil || !ok {
		return conflict.Entry{}, nil, false, err
	}
	e, ok = x.ByPath[goal]
	return e, via, ok && plainFile(e), nil
}

// leads reports whether anything may be in a folder.
func (x *includer) leads(dir string) bool {
	if len(x.Under(dir)) > 0 {
		return true
	}
	_, ok := x.Across(dir)
	return ok
}

// below reports whether a file is in the hash of a dependency of a target, direct or not. It
// looks no further than that needs: mostly a dependency is direct.
func (x *includer) below(i int, file string) bool {
	owners := x.has[file]
	if len(owners) == 0 {
		return false
	}
	if x.of != i {
		x.of, x.todo = i, append(x.todo[:0], i)
	}
	for {
		if slices.ContainsFunc(owners, func(j int) bool { return x.marks[j] == i+1 }) {
			return true
		}
		if len(x.todo) == 0 {
			return false
		}
		at := x.todo[0]
		x.todo = x.todo[1:]
		for _, j := range x.deps[at] {
			if x.marks[j] != i+1 {
				x.marks[j] = i + 1
				x.todo = append(x.todo, j)
			}
		}
	}
}

// searched returns the folders of the tree in which the compiler of a target looks for what
// its sources include, each once: those of include_dirs, and those that flags name.
func searched(fields map[string]any) []string {
	var dirs []string
	add := func(v string) {
		if v == ".." {
			dirs = append(dirs, "")
		} else if at := placed(v); at != "" {
			dirs = append(dirs, path.Clean(at))
		}
	}
	each(fields["include_dirs"], add)
	for _, name := range []string{"cflags", "cflags_c", "cflags_cc", "cflags_objc", "cflags_objcc", "asmflags", "args"} {
		next := false
		each(fields[name], func(v string) {
			if next {
				add(v)
			}
			next = false
			for _, flag := range []string{"-isystem", "-iquote", "-idirafter", "--proto_path=", "--proto-path=", "-I"} {
				if dir, ok := strings.CutPrefix(v, flag); ok {
					add(dir)
					next = dir == ""
				}
			}
		})
	}
	slices.Sort(dirs)
	return slices.Clip(slices.Compact(dirs))
}
