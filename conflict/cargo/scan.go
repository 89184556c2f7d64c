package cargo

import (
	"bytes"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// maxLiteral is the longest string that is taken for a path.
const maxLiteral = 200

// paths returns the words in the string literals of a Rust file that may name a
// file or a directory: by include_str!, #[path], the calls of a build script,
// or in any other way. All text between two quotes counts, so that no character
// literal or comment can shift the bounds of strings: a word that is no path
// names no file, or adds an input too many.
func paths(src []byte) []string {
	return literals(src, func(s []byte) bool {
		return pathLike(s) || upward(s) || slices.Contains(testDirs, string(s)) || envName(string(s))
	})
}

// words is paths with single words, which may be folders beside the manifest.
func words(src []byte) []string {
	return literals(src, func(s []byte) bool { return wordLike(s) || pathLike(s) || upward(s) })
}

func literals(src []byte, keep func([]byte) bool) []string {
	var list []string
	seen := map[string]bool{}
	for _, at := range slices.Concat(together(src), commanded(src), modulesOf(src)) {
		if !seen[at] {
			seen[at] = true
			list = append(list, at)
		}
	}
	for {
		i := bytes.IndexByte(src, '"')
		if i < 0 {
			return list
		}
		for _, part := range parts(src[:i]) {
			if part = fixed(part); keep(part) && !seen[string(part)] {
				seen[string(part)] = true
				list = append(list, string(part))
			}
		}
		src = src[i+1:]
	}
}

// manifestDir stands for the crate's directory in the strings of some macros.
var manifestDir = []byte("$CARGO_MANIFEST_DIR")

// parts returns the parts of a literal that may be paths. For a literal with
// placeholders these are the texts between them; for an instruction to Cargo,
// as "cargo:rerun-if-changed=x", its words; for any other the whole literal.
func parts(s []byte) [][]byte {
	switch {
	case len(s) > maxLiteral:
		return nil
	case bytes.HasPrefix(s, []byte("cargo:")):
		list := bytes.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune("=,:{} ", r) })
		for i, p := range list {
			list[i] = bytes.TrimPrefix(bytes.TrimPrefix(p, []byte("-T")), []byte("-L"))
		}
		return list
	case bytes.ContainsAny(s, "{}"):
		return bytes.FieldsFunc(s, func(r rune) bool { return r == '{' || r == '}' })
	}
	return [][]byte{bytes.TrimPrefix(s, manifestDir)}
}

// pathLike reports whether a string may be a path with a name at its end. A
// path of dots alone is a directory in which others are looked for.
func pathLike(s []byte) bool {
	if bytes.ContainsAny(s, "\n\\{}<>()*?:;,") || !bytes.ContainsAny(s, "./") {
		return false
	}
	switch base := path.Base(string(s)); base {
	case ".", "..", "/":
		return false
	}
	return true
}

// upward reports whether a string is a path of dots alone, such as "../..". The strings
// beside it may be put behind it, as in concat!("../..", "/other/data.txt").
func upward(s []byte) bool {
	up := strings.Trim(string(s), "/")
	return up != "" && strings.Trim(strings.ReplaceAll(up+"/", "../", ""), "/") == ""
}

// maxWord is the longest word that is taken for a folder.
const maxWord = 60

func wordLike(s []byte) bool {
	return len(s) > 0 && len(s) <= maxWord && !bytes.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}

// readSources adds to each half of a crate the files that its sources name:
// those outside of the crate, and those in its other half.
func (l *loader) readSources(ctx context.Context) error {
	for _, c := range l.sortedCrates() {
		l.outside(c)
		for _, h := range []*half{&c.lib, &c.test} {
			if err := l.readHalf(ctx, c, h); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *loader) readHalf(ctx context.Context, c *crate, h *half) error {
	own := map[string]bool{}
	for _, e := range h.sources {
		own[e.Path] = true
	}
	for todo := slices.Clone(h.sources); len(todo) > 0; {
		e := todo[0]
		todo = todo[1:]
		at, behind, err := l.followed(ctx, e, h)
		if err != nil {
			return err
		}
		for _, found := range behind {
			if !own[found.Path] {
				own[found.Path] = true
				h.inputs = append(h.inputs, found)
				todo = append(todo, found)
			}
		}
		if !c.namesFiles(e.Path) || at.OID == "" || at.Mode == conflict.ModeSubmodule {
			continue
		}
		literals, err := l.literals(ctx, c, at.OID)
		if err != nil {
			return err
		}
		bases := []string{layout.Dir(e.Path), c.dir}
		for _, s := range literals {
			if base, ok := l.config.env[strings.TrimPrefix(s, "$")]; ok {
				bases = append(bases, base)
			}
			if upward([]byte(s)) {
				for _, from := range bases[:2] {
					if at, ok := layout.Join(from, strings.Trim(s, "/")); ok {
						bases = append(bases, at)
					}
				}
			}
		}
		for _, s := range literals {
			for _, found := range append(l.named(c, bases, s), l.module(e.Path, s)...) {
				if !own[found.Path] {
					own[found.Path] = true
					h.sources = append(h.sources, found)
					todo = append(todo, found)
				}
			}
			if h == &c.test {
				l.runs(c, bases, s)
			}
			for _, found := range l.shared(c, s) {
				if !own[found.Path] {
					own[found.Path] = true
					h.inputs = append(h.inputs, found)
				}
			}
		}
	}
	return nil
}

// runs makes the tests of a crate depend on another one that a literal names: by its folder or
// its manifest, or as a package that a command of Cargo gets. They may build and run it.
func (l *loader) runs(c *crate, bases []string, literal string) {
	if name, ok := strings.CutPrefix(literal, packagePrefix); ok {
		for _, w := range c.in {
			for dir := range w.members {
				if dir != c.dir && l.crates[dir].src.name == name {
					c.test.deps = append(c.test.deps, libName(dir))
				}
			}
		}
		return
	}
	for _, base := range bases {
		at, ok := layout.Join(base, strings.TrimSuffix(literal, manifestName))
		if ok && at != c.dir && l.crates[at] != nil && !within(c.dir, at) {
			c.test.deps = append(c.test.deps, libName(at))
		}
	}
}

// module returns the files of a module that a file declares: one that another crate owns may
// have come in by #[path] or include!, and its modules with it.
func (l *loader) module(from, literal string) []conflict.Entry {
	name, ok := strings.CutPrefix(literal, modulePrefix)
	if !ok {
		return nil
	}
	var list []conflict.Entry
	dir := layout.Dir(from)
	for _, base := range []string{dir, file(dir, strings.TrimSuffix(path.Base(from), ".rs"))} {
		for _, at := range []string{name + ".rs", name + "/mod.rs"} {
			if e, ok := l.layout.ByPath[file(base, at)]; ok {
				list = append(list, e)
			}
		}
	}
	return list
}

// namesFiles reports whether the strings of a file may be paths of others: those of code, and
// those of a macro's settings beside the manifest.
func (c *crate) namesFiles(file string) bool {
	return path.Ext(file) == ".rs" || path.Ext(file) == ".toml" && layout.Dir(file) == c.dir && path.Base(file) != manifestName
}

// followed returns the file that a source is or leads to, and all files behind
// a link.
func (l *loader) followed(ctx context.Context, e conflict.Entry, h *half) (at conflict.Entry, behind []conflict.Entry, err error) {
	if e.Mode != conflict.ModeLink {
		return e, nil, nil
	}
	p, via, ok, err := l.layout.Resolve(e.Path, l.link(ctx))
	if err != nil {
		return conflict.Entry{}, nil, err
	}
	h.inputs = append(h.inputs, via...)
	if !ok {
		return conflict.Entry{}, nil, nil
	}
	return l.layout.ByPath[p], l.layout.At(p), nil
}

func (l *loader) literals(ctx context.Context, c *crate, oid string) ([]string, error) {
	key, read := oid, paths
	if c.top() {
		key, read = "words "+oid, words
	}
	if s, ok := l.analyzer.sources.Get(key); ok {
		return s, nil
	}
	src, err := l.tree.Blob(ctx, oid)
	if err != nil {
		return nil, err
	}
	s := read(src)
	l.analyzer.sources.Add(key, s)
	return s, nil
}

// named returns the files that a literal names, from the file's directory, which is
// the first of the bases, from the crate's, or from one that other literals lead up to:
// files outside of the crate, or in the other half. The path of a module within an
// inline module begins further down.
func (l *loader) named(c *crate, bases []string, literal string) []conflict.Entry {
	if upward([]byte(literal)) || strings.HasPrefix(literal, modulePrefix) || strings.HasPrefix(literal, packagePrefix) {
		return nil
	}
	if wordLike([]byte(literal)) {
		return l.folder(c, literal)
	}
	dir := bases[0]
	var list []conflict.Entry
	literal = strings.TrimPrefix(literal, "/") // after concat!(env!("CARGO_MANIFEST_DIR"), …)
	bases = slices.Clip(bases)
	if strings.HasPrefix(literal, "../") {
		bases = append(bases, file(dir, "inline"), file(dir, "inline/inline"))
	}
	for i, base := range bases {
		p, ok := layout.Join(base, literal)
		if !ok || p == "" || within(c.dir, p) || i == 1 && base == dir {
			continue
		}
		if e, ok := l.layout.Across(p); ok {
			list = append(list, e)
			continue
		}
		list = append(list, l.layout.At(p)...)
		if relatives[path.Ext(p)] && !within(c.dir, layout.Dir(p)) {
			for _, e := range l.layout.Under(layout.Dir(p)) {
				if relatives[path.Ext(e.Path)] {
					list = append(list, e)
				}
			}
		}
	}
	return list
}

// shared returns the test data beside the manifest of the crate's workspace that a literal
// names: "tests/fixtures", or only "tests", of which other words may name a part. Crates
// find these from the root of the workspace when they run.
func (l *loader) shared(c *crate, literal string) []conflict.Entry {
	literal = path.Clean(strings.TrimPrefix(literal, "/"))
	first, _, _ := strings.Cut(literal, "/")
	if c.home == nil || c.home.dir == c.dir || !slices.Contains(testDirs, first) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.layout.At(file(c.home.dir, literal))), func(e conflict.Entry) bool {
		return path.Ext(e.Path) == ".rs"
	})
}

// folder returns the files of a folder beside the manifest that no other crate
// owns.
func (l *loader) folder(c *crate, name string) []conflict.Entry {
	if name == "src" || slices.Contains(testDirs, name) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(l.layout.At(file(c.dir, name))), func(e conflict.Entry) bool {
		for d := layout.Dir(e.Path); d != c.dir; d = layout.Dir(d) {
			if l.crates[d] != nil {
				return true
			}
		}
		return false
	})
}
