package cargo

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// alone makes the workspace of a package that is in none.
func (l *loader) alone(ctx context.Context, dir string) error {
	if l.workspaces[dir] == nil {
		l.workspaces[dir] = &workspace{dir: dir, m: l.manifests[dir].manifest, members: map[string]bool{}, used: map[string]bool{}}
	}
	w := l.workspaces[dir]
	if err := l.include(ctx, w, dir, listed); err != nil {
		return err
	}
	return l.patch(ctx, w)
}

// expand adds the members that a workspace names, and the packages that it patches in.
func (l *loader) expand(ctx context.Context, w *workspace) error {
	if err := l.include(ctx, w, w.dir, listed); err != nil {
		return err
	}
	for _, pattern := range w.m.workspace.members {
		dirs, listings := l.layout.match(w.dir, pattern)
		w.reads = append(w.reads, listings...)
		if len(dirs) == 0 {
			w.astray = append(w.astray, pattern)
		}
		for _, d := range dirs {
			d, ok, err := l.member(ctx, w, pattern, d)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if err := l.include(ctx, w, d, listed); err != nil {
				return err
			}
			if c := l.crates[d]; c != nil {
				c.named = append(c.named, pattern)
			}
		}
	}
	if err := l.defaults(ctx, w); err != nil {
		return err
	}
	return l.patch(ctx, w)
}

// defaults notes the default members that are no members. Cargo refuses every
// package of such a workspace, though it may be that none of them has changed: one
// change names a default member, another deletes it.
func (l *loader) defaults(ctx context.Context, w *workspace) error {
	for _, pattern := range w.m.workspace.defaults {
		dirs, listings := l.layout.match(w.dir, pattern)
		w.reads = append(w.reads, listings...)
		if len(dirs) == 0 {
			w.astray = append(w.astray, "default "+pattern)
		}
		for _, d := range dirs {
			to, _, err := l.lead(ctx, d, "")
			if err != nil {
				return err
			}
			if !w.members[to] {
				w.astray = append(w.astray, "default "+d)
			}
		}
	}
	return nil
}

// member returns the directory of a member that a pattern stands for, behind
// its links. A link to a file is no member.
func (l *loader) member(ctx context.Context, w *workspace, pattern, dir string) (string, bool, error) {
	to, _, err := l.lead(ctx, dir, "")
	if err != nil || l.manifests[to].manifest != nil {
		return to, true, err
	}
	if _, isFile := l.layout.ByPath[to]; isFile && l.layout.ByPath[to].Mode != conflict.ModeSubmodule {
		return "", false, nil
	}
	at, err := l.goal(ctx, l.manifests[w.dir].entry)
	if err != nil {
		return "", false, err
	}
	src, err := l.tree.Blob(ctx, at.OID)
	if err != nil {
		return "", false, err
	}
	text := fmt.Sprintf("the member %q has no %s in %s", pattern, manifestName, layout.Dotted(dir))
	if e, ok := l.layout.Across(dir); ok && e.Mode == conflict.ModeSubmodule {
		text = fmt.Sprintf("the member %q is in the submodule %s, whose files are not in this tree: leave it out of the workspace", pattern, e.Path)
	}
	return "", false, faultAt(src, "members", text).at(l.manifests[w.dir].entry.Path)
}

// patch adds the packages that stand in for those of other sources.
func (l *loader) patch(ctx context.Context, w *workspace) error {
	if w.patched != nil {
		return nil
	}
	var err error
	if w.patched, err = l.replacements(ctx, w); err != nil {
		return err
	}
	for _, dir := range l.config.overrides {
		if m := l.manifests[dir].manifest; m == nil || !m.isPackage {
			w.astray = append(w.astray, "override "+dir)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.patched)) {
		for _, dir := range w.patched[name] {
			if err := l.include(ctx, w, dir, replacing); err != nil {
				return err
			}
			if l.manifests[dir].manifest == nil { // Cargo refuses every package, whether one uses it or none
				w.astray = append(w.astray, "patch "+dir)
			}
		}
	}
	return nil
}

// reason says why a package is part of a workspace.
type reason int

const (
	listed    reason = iota // the root lists it or is it
	reached                 // a member depends on its path
	replacing               // it stands in for another
)

// include adds a package to a workspace, and the packages that it leads to:
// Cargo makes a member of each path dependency below the root.
func (l *loader) include(ctx context.Context, w *workspace, dir string, why reason) error {
	for todo := []string{dir}; len(todo) > 0; why = max(why, reached) {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		m := l.manifests[d]
		switch {
		case m.manifest == nil: // a dependency on nothing
			continue
		case m.broken != nil:
			return m.err()
		case !m.isPackage, w.members[d]:
			continue
		}
		home := l.root(d)
		member := d == w.dir || home == w && (why == listed || why == reached && within(d, w.dir)) && !w.left(d)
		if !member && w.used[d] {
			continue
		}
		c, err := l.crate(ctx, d)
		if err != nil {
			return err
		}
		if !w.used[d] {
			w.used[d] = true
			c.in = append(c.in, w)
		}
		if member {
			w.members[d], c.member = true, true
		} else if home == nil {
			if err := l.alone(ctx, d); err != nil {
				return err
			}
		}
		for _, e := range c.edges {
			todo = append(todo, e.dir)
		}
	}
	return nil
}

// left reports whether a workspace excludes a directory.
func (w *workspace) left(dir string) bool { return w.m.workspace != nil && w.m.excludes(w.dir, dir) }
