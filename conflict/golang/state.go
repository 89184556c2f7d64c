package golang

import (
	"context"
	"maps"

	"github.com/submitqueue/submitqueue/conflict"
)

// state has all data that the graph of one tree is made of. It is the graph's
// memo, and does not change once it is handed out: the states of similar trees
// are forks that share the common parts with it.
type state struct {
	layout   *layout
	modules  *modules
	packages shards[*pkg]    // by directory
	odd      map[string]bool // the packages that are odd
	broken   map[string]bool // the packages that depend on the whole tree
	natives  int             // nodes that depend on the native one
}

// fork returns a copy to change.
func (s *state) fork() *state {
	return &state{layout: &layout{s.layout.dirs.fork()}, modules: s.modules, packages: s.packages.fork(),
		odd: maps.Clone(s.odd), broken: maps.Clone(s.broken), natives: s.natives}
}

// put makes p the package of a directory; nil: there is none.
func (s *state) put(dir string, p *pkg) {
	if was := s.packages.get(dir); was != nil {
		s.natives -= natives(was)
	}
	delete(s.odd, dir)
	if p == nil {
		s.packages.remove(dir)
		return
	}
	s.packages.set(dir, p)
	s.natives += natives(p)
	if p.odd() {
		s.odd[dir] = true
	}
}

func natives(p *pkg) int {
	n := 0
	for _, h := range p.halves() {
		if h.native {
			n++
		}
	}
	return n
}

// builder brings a state up to date with its layout and modules.
type builder struct {
	analyzer *Analyzer
	tree     conflict.Tree
	now      *state
	dirty    map[string]bool // directories with a package to be read again
	remake   map[string]bool // directories with nodes to be made again
	moved    map[string]bool // directories that are packages now, or were
	scans    map[source]scan
	resolved map[*goModule]map[string]*resolved

	// Of the package that is being read: the paths that were looked at, and, for each half,
	// the files and directories that are among its inputs with all below them.
	away  map[named]bool
	goals map[*half]map[string]bool
}

func (a *Analyzer) builder(t conflict.Tree, now *state) *builder {
	if now.odd == nil {
		now.odd = map[string]bool{}
	}
	if now.broken == nil {
		now.broken = map[string]bool{}
	}
	return &builder{analyzer: a, tree: t, now: now, dirty: map[string]bool{}, remake: map[string]bool{},
		moved: map[string]bool{}, scans: map[source]scan{}, resolved: map[*goModule]map[string]*resolved{}}
}

// load reads the dirty packages of all modules, and the packages in skipped
// directories that another package imports.
func (b *builder) load(ctx context.Context) error {
	if err := b.scanDirty(ctx); err != nil {
		return err
	}
	for dir := range b.dirty {
		if hidden(dir) {
			continue
		}
		if err := b.reload(ctx, dir); err != nil {
			return err
		}
	}
	var todo, loaded []string
	for dir := range b.now.odd {
		if hidden(dir) {
			loaded = append(loaded, dir)
		} else {
			todo = append(todo, dir)
		}
	}
	seen := map[string]bool{}
	for len(todo) > 0 {
		dir := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[dir] {
			continue
		}
		seen[dir] = true
		if hidden(dir) && (b.dirty[dir] || b.now.packages.get(dir) == nil) {
			if err := b.reload(ctx, dir); err != nil {
				return err
			}
		}
		if p := b.now.packages.get(dir); p != nil {
			for _, goal := range p.goals {
				if hidden(goal) {
					todo = append(todo, goal)
				}
			}
		}
	}
	for _, dir := range loaded {
		if !seen[dir] {
			b.put(dir, nil)
		}
	}
	return nil
}

func (b *builder) reload(ctx context.Context, dir string) error {
	if !b.isPackage(dir) {
		b.put(dir, nil)
		return nil
	}
	p, err := b.read(ctx, dir)
	if err == nil {
		b.put(dir, p)
	}
	return err
}

func (b *builder) put(dir string, p *pkg) {
	was := b.now.packages.get(dir)
	if was == nil && p == nil {
		return
	}
	b.now.put(dir, p)
	b.remake[dir] = true
	if was == nil || p == nil {
		b.moved[dir] = true
	}
}

// targets makes the nodes that must be made again, and returns the names of
// nodes that were in the former state and are gone.
func (b *builder) targets(was *state) (made []conflict.Target, gone []string) {
	for dir := range b.remake {
		p, old := b.now.packages.get(dir), was.packages.get(dir)
		delete(b.now.broken, dir)
		if old != nil && p == nil {
			gone = append(gone, nodeName(libPrefix, dir))
		}
		if old != nil && old.target && (p == nil || !p.target) {
			gone = append(gone, dotted(dir))
		}
		if p == nil {
			continue
		}
		nodes, broken := b.nodes(p)
		made = append(made, nodes...)
		if broken {
			b.now.broken[dir] = true
		}
	}
	return made, gone
}
