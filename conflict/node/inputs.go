package node

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// addInputs adds the files of a glob of Turborepo or Nx that are not the
// package's own.
func (b *builder) addInputs(p *pkg, r *root, glob string) {
	rest, top := strings.CutPrefix(glob, "$TURBO_ROOT$/")
	if strings.HasPrefix(glob, "!") || !top && !strings.Contains(glob, "..") {
		return
	}
	base := p.dir
	if top {
		base = r.dir
	}
	project, _ := below(r.dir, p.dir)
	at, ok := layout.Join(base, strings.NewReplacer("{projectRoot}", project, "{workspaceRoot}", ".").Replace(rest))
	if !ok {
		return
	}
	for _, e := range b.matching(at) {
		if b.owner(layout.Dir(e.Path)) != p {
			p.inputs = append(p.inputs, e)
		}
	}
}

// matching returns the files that a glob from the root of the tree matches,
// and those below the directories that it matches.
func (b *builder) matching(glob string) []conflict.Entry {
	if files, ok := b.globs[glob]; ok {
		return files
	}
	fixed := glob
	if i := strings.IndexAny(glob, "*?{[\\"); i >= 0 {
		fixed = glob[:max(strings.LastIndexByte(glob[:i], '/'), 0)]
	}
	var files []conflict.Entry
	if e, ok := b.layout.ByPath[fixed]; ok && fixed == glob {
		files = append(files, e)
	} else if doublestar.ValidatePattern(glob) {
		for _, e := range b.layout.Under(fixed) {
			if fixed == glob || doublestar.MatchUnvalidated(glob, e.Path) || doublestar.MatchUnvalidated(glob+"/**", e.Path) {
				files = append(files, e)
			}
		}
	} else {
		files = b.layout.Under(fixed)
	}
	b.globs[glob] = files
	return files
}
