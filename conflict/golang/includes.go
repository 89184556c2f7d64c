package golang

import (
	"context"
	"path"
	"regexp"

	"github.com/submitqueue/submitqueue/conflict"
)

// included matches a line that has a compiler or an assembler read another file.
var included = regexp.MustCompile(`(?m)^[ \t/*]*(?:#[ \t]*(?:include|include_next|import|embed)|\.include|\.incbin)[ \t]*["<]([^">\n]+)[">]`)

// includesOf returns the names of files that a text includes, but for those that every package
// with C depends on.
func includesOf(text []byte) []string {
	var names []string
	for _, m := range included.FindAllSubmatch(text, -1) {
		if name := string(m[1]); !linkable(name) {
			names = append(names, path.Clean(name))
		}
	}
	return names
}

// readNative adds the files that a C or assembly file beside Go files includes: those of other
// packages have owners that do not depend on this one.
func (b *builder) readNative(ctx context.Context, p *pkg, e conflict.Entry) error {
	if e.Mode == conflict.ModeLink || path.Ext(e.Path) == ".syso" {
		return nil
	}
	s, err := b.scanOf(ctx, source{oid: e.OID, native: true})
	if err != nil {
		return err
	}
	return b.include(ctx, p, s.includes)
}

// include adds files that the library of a package includes by their paths.
func (b *builder) include(ctx context.Context, p *pkg, names []string) error {
	for _, name := range names {
		at, ok := inTree(p.dir, name)
		if !ok || dirOf(at) == p.dir {
			continue
		}
		look := func(path string) { p.watches = append(p.watches, path) }
		look(at)
		if link, ok := b.now.layout.across(at); ok {
			p.lib.inputs = append(p.lib.inputs, link)
		}
		goal, ok, err := b.now.layout.goal(at, b.linkReader(ctx), look)
		if err != nil {
			return err
		}
		if e, there := b.now.layout.entry(goal); ok && there {
			p.lib.inputs = append(p.lib.inputs, e)
		}
	}
	return nil
}
