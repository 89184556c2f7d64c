package several

import (
	"context"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue/config"
)

// guarded is several analyzers of which some run programs of the tree. It is no
// conflict.Follower: the programs that may run change with the target branch.
type guarded struct{ all *Analyzer }

var _ conflict.Guarded = guarded{}

// ID implements conflict.Analyzer.
func (g guarded) ID() string { return g.all.ID() }

// Graph fails: nobody has said which programs are trusted.
func (g guarded) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	return g.Trusting(nil).Graph(ctx, t)
}

// Trusting implements conflict.Guarded: a part under a folder trusts that
// folder of the target branch.
func (g guarded) Trusting(target conflict.Tree) conflict.Analyzer { return trusting{g.all, target} }

// trusting is several analyzers that may run the programs of a target branch.
type trusting struct {
	all    *Analyzer
	target conflict.Tree
}

// ID implements conflict.Analyzer.
func (a trusting) ID() string { return a.all.ID() }

// Graph implements conflict.Analyzer. Commands are written in the
// configuration, which an analyzer under a folder does not see: so they are
// compared here, before any of them runs.
func (a trusting) Graph(ctx context.Context, t conflict.Tree) (*conflict.Graph, error) {
	if a.target == nil {
		return nil, fmt.Errorf("the programs of the target branch are not known: %w", conflict.ErrProvisional)
	}
	files, err := t.Files(ctx)
	if err != nil {
		return nil, err
	}
	target, err := a.target.Files(ctx)
	if err != nil {
		return nil, fmt.Errorf("list the target branch: %w: %w", conflict.ErrProvisional, err)
	}
	if configOf(files) != configOf(target) {
		return nil, fmt.Errorf("%q differs from the target branch; the program that computes the graph runs on the server once the change has landed: %w",
			config.Path, conflict.ErrProvisional)
	}
	with := *a.all
	with.parts = slices.Clone(with.parts)
	for i, p := range with.parts {
		if inner, ok := p.Analyzer.(conflict.Guarded); ok {
			with.parts[i].Analyzer = inner.Trusting(viewOf(ctx, a.target, p.Under, target))
		}
	}
	return with.Graph(ctx, t)
}

func configOf(files []conflict.Entry) conflict.Entry {
	at, ok := find(files, config.Path)
	if !ok {
		return conflict.Entry{}
	}
	return files[at]
}
