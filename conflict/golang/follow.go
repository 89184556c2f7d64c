package golang

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/submitqueue/submitqueue/conflict"
)

// followMost is how many files may differ; beyond that the whole graph is as cheap.
const followMost = 2000

// Follow reads again the packages that the files are in, embed or lead to, and
// makes the nodes of these and of the importers of packages that were added or
// removed. It leaves changes of the modules or of the resolution of imports to
// Graph.
func (a *Analyzer) Follow(ctx context.Context, memo any, files []conflict.FileChange, t conflict.Tree) (*conflict.Patch, error) {
	was, ok := memo.(*state)
	if !ok || len(files) > followMost {
		return nil, ctx.Err()
	}
	b := a.builder(t, was.fork())
	if !b.now.layout.apply(files) {
		return nil, ctx.Err()
	}
	if same, err := b.sameModules(ctx, files); err != nil || !same {
		return nil, err
	}
	b.touch(files)
	if err := b.load(ctx); err != nil {
		return nil, fmt.Errorf("read packages: %w", err)
	}
	b.touchImporters(files)
	p := &conflict.Patch{Memo: b.now}
	p.Targets, p.Gone = b.targets(was)
	b.followExternal(p, files)
	b.followNative(p, files, was)
	return p, ctx.Err()
}

// sameModules reports whether the modules are as they were, except for versions
// of external modules.
func (b *builder) sameModules(ctx context.Context, files []conflict.FileChange) (bool, error) {
	if b.now.modules.moveCopies(files) {
		return false, nil
	}
	for _, c := range files {
		if (c.From.Path == "" || c.To.Path == "") && listsCopies(c.Path) || b.now.modules.vendored(c.Path) || c.To.Mode == conflict.ModeLink && besideModule(c.Path) {
			return false, nil
		}
		if !setsModules(c.Path) {
			continue
		}
		in := b.now.modules.byDir[dirOf(c.Path)]
		if path.Base(c.Path) != "go.mod" || c.From.Path == "" || c.To.Path == "" || crossing(c.To) || in == nil {
			return false, nil
		}
		data, err := b.tree.Blob(ctx, c.To.OID)
		if err != nil {
			return false, err
		}
		if f, err := modfile.Parse(c.Path, data, anyVersion); err != nil || !in.same(f) {
			return false, nil
		}
	}
	return true, nil
}

// touch marks the packages that are to be read again.
func (b *builder) touch(files []conflict.FileChange) {
	for _, c := range files {
		dir := dirOf(c.Path)
		b.dirty[dir] = true
		for dir != "" {
			up := dirOf(dir)
			if p := b.now.packages.get(up); p != nil && p.holds(path.Base(dir)) {
				b.dirty[up] = true
			}
			dir = up
		}
	}
	crossings := crossingsOf(files)
	for dir := range b.now.odd {
		for _, w := range b.now.packages.get(dir).watches {
			if touches(files, w) || len(crossings) > 0 && crossings.cross(w) {
				b.dirty[dir] = true
			}
		}
	}
}

// touches reports whether a file at or below a path differs.
func touches(files []conflict.FileChange, at string) bool {
	if at == "" {
		return len(files) > 0
	}
	from := func(path string) int {
		i, _ := slices.BinarySearchFunc(files, path, func(c conflict.FileChange, path string) int { return strings.Compare(c.Path, path) })
		return i
	}
	if i := from(at); i < len(files) && files[i].Path == at {
		return true
	}
	i := from(at + "/")
	return i < len(files) && strings.HasPrefix(files[i].Path, at+"/")
}

// touchImporters marks the nodes that must be made again though their packages
// are as they were: their imports lead elsewhere, or it was not known where
// they lead.
func (b *builder) touchImporters(files []conflict.FileChange) {
	for dir := range b.now.broken {
		b.remake[dir] = true
	}
	crossings := crossingsOf(files)
	if len(crossings)+len(b.moved) == 0 {
		return
	}
	isMoved := func(dir string) bool { return b.moved[dir] }
	if len(b.moved) <= 8 {
		few := slices.Collect(maps.Keys(b.moved))
		isMoved = func(dir string) bool { return slices.Contains(few, dir) } // mostly compares lengths
	}
	for dir, p := range b.now.packages.all() {
		if slices.ContainsFunc(p.goals, isMoved) || len(crossings) > 0 && slices.ContainsFunc(p.goals, crossings.cross) {
			b.remake[dir] = true
		}
	}
}

// pathSet is a set of paths.
type pathSet map[string]bool

// crossingsOf returns where links and submodules come, go or change.
func crossingsOf(files []conflict.FileChange) pathSet {
	crossings := pathSet{}
	for _, c := range files {
		if crossing(c.From) || crossing(c.To) {
			crossings[c.Path] = true
		}
	}
	return crossings
}

// cross reports whether a directory is at or below one of the paths.
func (s pathSet) cross(dir string) bool {
	for ; dir != ""; dir = dirOf(dir) {
		if s[dir] {
			return true
		}
	}
	return false
}

// followExternal adds the external modules with files that differ.
func (b *builder) followExternal(p *conflict.Patch, files []conflict.FileChange) {
	for _, dir := range b.now.modules.dirs() {
		if touches(files, below(dir, "go.mod")) || touches(files, below(dir, "go.sum")) || touches(files, below(dir, "vendor")) {
			p.Targets = append(p.Targets, b.external(dir))
		}
	}
}

// followNative adds the node of native files, if they differ or the node is
// new, or removes it.
func (b *builder) followNative(p *conflict.Patch, files []conflict.FileChange, was *state) {
	switch {
	case b.now.natives == 0 && was.natives > 0:
		p.Gone = append(p.Gone, nativeNode)
	case b.now.natives > 0 && (was.natives == 0 || slices.ContainsFunc(files, func(c conflict.FileChange) bool { return linkable(c.Path) })):
		p.Targets = append(p.Targets, b.native())
	}
}
