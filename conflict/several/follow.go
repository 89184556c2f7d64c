package several

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// memo is what Graph and Follow leave for the next Follow.
type memo struct{ parts []partMemo }

type partMemo struct {
	memo    any             // of the part's analyzer
	links   links           // by which its folder is left
	unread  bool            // one target stands for it
	targets map[string]bool // the targets below "NAME/*"; nil where no part needs it
}

// Follow implements conflict.Follower. A part without changed files is as it
// was, whether or not its analyzer can follow. Only Graph can handle a part that
// could not be read, or that can no longer be read.
func (a *Analyzer) Follow(ctx context.Context, last any, files []conflict.FileChange, t conflict.Tree) (*conflict.Patch, error) {
	m, ok := last.(*memo)
	if !ok || len(m.parts) != len(a.parts) {
		return nil, nil
	}
	next := &memo{slices.Clone(m.parts)}
	out := &conflict.Patch{Memo: next}
	for i, p := range a.parts {
		if p.rebased(files, m.parts[i].links) {
			return nil, nil
		}
		in := p.changes(files)
		if len(in) == 0 {
			continue
		}
		follower, ok := p.Analyzer.(conflict.Follower)
		if !ok || m.parts[i].unread {
			return nil, nil
		}
		tree := viewOf(ctx, t, p.Under, nil)
		patch, err := follower.Follow(ctx, m.parts[i].memo, in, tree)
		if v, ok := tree.(*view); ok && v.err != nil {
			return nil, v.err
		}
		if err == nil && patch != nil {
			err = p.check(&conflict.Graph{Targets: patch.Targets, Definitions: patch.Definitions})
		}
		if err != nil || patch == nil {
			return nil, nil
		}
		p.patch(out, patch, &next.parts[i])
	}
	return out, nil
}

// rebased reports whether changes reach the node below all others of the part,
// in a way that its analyzer does not see.
func (p Part) rebased(files []conflict.FileChange, l links) bool {
	return len(files) > 0 && l.lost || slices.ContainsFunc(files, func(c conflict.FileChange) bool {
		link := p.Under != "" && strings.HasPrefix(c.Path, p.Under+"/") && (c.From.Mode == conflict.ModeLink || c.To.Mode == conflict.ModeLink)
		return link || l.reach(c.Path) || matches(p.Barrier, c.Path)
	})
}

// changes returns the changes that the part sees.
func (p Part) changes(files []conflict.FileChange) []conflict.FileChange {
	if p.Under == "" {
		return files
	}
	var in []conflict.FileChange
	for _, c := range files {
		rest, ok := strings.CutPrefix(c.Path, p.Under+"/")
		if !ok {
			continue
		}
		c.Path = rest
		for _, e := range []*conflict.Entry{&c.From, &c.To} {
			if e.Path != "" {
				e.Path = rest
			}
		}
		in = append(in, c)
	}
	return in
}

// patch puts a part's patch into that of all.
func (p Part) patch(out, patch *conflict.Patch, m *partMemo) {
	m.memo = patch.Memo
	for _, t := range patch.Targets {
		out.Targets = append(out.Targets, p.target(t))
	}
	for _, name := range patch.Gone {
		out.Gone = append(out.Gone, p.name(name))
	}
	out.Definitions = append(out.Definitions, p.definitions(patch.Definitions)...)
	for _, name := range patch.GoneDefinitions {
		out.GoneDefinitions = append(out.GoneDefinitions, p.read(name))
	}
	if m.targets == nil {
		return
	}
	now := maps.Clone(m.targets)
	for _, name := range patch.Gone {
		delete(now, name)
	}
	for _, t := range patch.Targets {
		if t.Internal {
			delete(now, t.Name)
		} else {
			now[t.Name] = true
		}
	}
	if !maps.Equal(now, m.targets) {
		m.targets = now
		out.Targets = append(out.Targets, p.all(now))
	}
}
