package cargo

import (
	"bytes"
	"context"
	"path"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// maxLiteral is the longest string that is taken for a path.
const maxLiteral = 200

// paths returns the string literals of a Rust file that may name a file or a
// directory: by include_str!, #[path], the calls of a build script, or in
// whatever other way. Whatever stands between two quotes counts, so that no
// character literal or comment can shift what is a string: what is none names
// nothing, and if it did it would only add.
func paths(src []byte) []string {
	var list []string
	seen := map[string]bool{}
	for {
		i := bytes.IndexByte(src, '"')
		if i < 0 {
			return list
		}
		if part := src[:i]; pathLike(part) && !seen[string(part)] {
			seen[string(part)] = true
			list = append(list, string(part))
		}
		src = src[i+1:]
	}
}

// pathLike reports whether a string may be a path with a name at its end. One
// of dots alone is where others are looked for.
func pathLike(s []byte) bool {
	if len(s) > maxLiteral || bytes.ContainsAny(s, "\n\\{}<>()*?:;,") || !bytes.ContainsAny(s, "./") {
		return false
	}
	switch base := path.Base(string(s)); base {
	case ".", "..", "/":
		return false
	}
	return true
}

// readSources adds to each crate what lies outside of it, and what of it lies
// in its other half, when its sources name it.
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
	for todo := h.sources; len(todo) > 0; {
		e := todo[0]
		todo = todo[1:]
		at, err := l.followed(ctx, e, h)
		if err != nil {
			return err
		}
		if path.Ext(e.Path) != ".rs" || at.OID == "" || at.Mode == conflict.ModeSubmodule {
			continue
		}
		literals, err := l.literals(ctx, at.OID)
		if err != nil {
			return err
		}
		for _, s := range literals {
			for _, found := range l.named(c, dirOf(e.Path), s) {
				if !own[found.Path] {
					own[found.Path] = true
					h.sources = append(h.sources, found)
					todo = append(todo, found)
				}
			}
		}
	}
	return nil
}

// followed returns the file that a source is or leads to, and adds what a link
// leads to.
func (l *loader) followed(ctx context.Context, e conflict.Entry, h *half) (conflict.Entry, error) {
	if e.Mode != conflict.ModeLink {
		return e, nil
	}
	p, via, ok, err := l.layout.resolve(e.Path, l.link(ctx))
	if err != nil || !ok {
		return conflict.Entry{}, err
	}
	h.inputs = append(append(h.inputs, via...), l.layout.at(p)...)
	return l.layout.byPath[p], nil
}

func (l *loader) literals(ctx context.Context, oid string) ([]string, error) {
	if s, ok := l.analyzer.sources.Get(oid); ok {
		return s, nil
	}
	src, err := l.tree.Blob(ctx, oid)
	if err != nil {
		return nil, err
	}
	s := paths(src)
	l.analyzer.sources.Add(oid, s)
	return s, nil
}

// named returns the files that a literal names, from the file's directory or
// from the crate's: what lies outside of the crate, or in the other half.
func (l *loader) named(c *crate, dir, literal string) []conflict.Entry {
	var list []conflict.Entry
	literal = strings.TrimPrefix(literal, "/") // after concat!(env!("CARGO_MANIFEST_DIR"), …)
	for _, base := range []string{dir, c.dir} {
		if p, ok := join(base, literal); ok && p != "" && !within(c.dir, p) {
			list = append(list, l.layout.at(p)...)
		}
		if dir == c.dir {
			break
		}
	}
	return list
}
