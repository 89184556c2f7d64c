package app

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// ErrNoConfig: a tree has no configuration.
var ErrNoConfig = errors.New("there is no " + config.Path)

// InspectorOptions say what an Inspector looks at.
type InspectorOptions struct {
	Mirror    *mirror.Mirror
	Analyzers Analyzers
	Base      queue.CommitID // stands for the tip of the target branch
	// Assumed is in force where the base has no configuration; nil: none is.
	Assumed *config.Config
	// Analyzer takes the place of the one that configurations name; "": none does.
	Analyzer string
}

// Inspector says how a queue would judge commits if its target branch were at the base.
// It runs the same code as the queue's owner, without a queue.
type Inspector struct {
	judge    *judge
	now      inForce
	analyzer string
}

// NewInspector returns the inspector of a base. ErrNoConfig: the base has no
// configuration, and none is assumed. A configuration of the base that cannot
// be used is an error, too, with the places that are wrong.
func NewInspector(ctx context.Context, o InspectorOptions) (*Inspector, error) {
	i := &Inspector{judge: newJudge(o.Mirror, o.Analyzers), now: inForce{config: o.Assumed, tip: o.Base}, analyzer: o.Analyzer}
	t, err := o.Mirror.Objects.Tree(ctx, o.Base)
	if err != nil {
		return nil, err
	}
	cfg, missing, err := i.judge.config(ctx, t)
	switch {
	case err != nil:
		return nil, err
	case !missing:
		i.now.config = cfg
	case o.Assumed == nil:
		return nil, ErrNoConfig
	}
	attributes := (*mirror.AttributeError)(nil) // such files merge as text; the queue says it when it looks at main
	if err := o.Mirror.Merges.WriteAttributes(ctx, t.ID()); err != nil && !errors.As(err, &attributes) {
		return nil, err
	}
	return i, nil
}

// Inspected is a commit as the queue judges it.
type Inspected struct {
	*conflict.Description
	Config *config.Config // the configuration that it is judged by
	Own    bool           // Config is in its own tree
	Fails  string         // why the configuration in its own tree lets every build of it fail; "": it does not

	analyzer conflict.Analyzer
	tree     conflict.Tree
}

// Commit judges a commit.
func (i *Inspector) Commit(ctx context.Context, id queue.CommitID) (*Inspected, error) {
	t, err := i.judge.mirror.Objects.Tree(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := i.judge.rules(ctx, t, id, i.now)
	if err != nil {
		return nil, err
	}
	if i.analyzer != "" {
		cfg := *r.config
		cfg.Analysis.Analyzer, cfg.Analysis.Analyzers = i.analyzer, nil
		cfg.Steps = slices.Clone(cfg.Steps)
		for k := range cfg.Steps {
			cfg.Steps[k].Analyzer = "" // the steps' analyzers, which it replaces, too
		}
		r.config = &cfg
	}
	a, err := i.judge.analyzerOf(r.config.Analysis)
	if err != nil {
		return nil, fmt.Errorf("analysis: %w", err)
	}
	if a, err = i.judge.trusting(ctx, a, i.now.tip); err != nil {
		return nil, err
	}
	in := &Inspected{Config: r.config, Own: r.own, Fails: r.fails, analyzer: a, tree: TreeOf(t)}
	in.Description, err = conflict.Describe(ctx, a, r.config.Analysis, in.tree)
	if err != nil {
		return nil, err
	}
	return in, nil
}

// Without analyzes the tree of the commit without some of its files, sorted.
func (in *Inspected) Without(ctx context.Context, files []string) (*conflict.Snapshot, error) {
	all, err := in.tree.Files(ctx)
	if err != nil {
		return nil, err
	}
	less := lessTree{Tree: in.tree, id: queue.TreeID(digest.Of(append([]string{"less", string(in.tree.ID())}, files...)...))}
	var gone []conflict.FileChange
	for _, e := range all {
		if _, without := slices.BinarySearch(files, e.Path); without {
			gone = append(gone, conflict.FileChange{Path: e.Path, From: e})
		} else {
			less.files = append(less.files, e)
		}
	}
	return conflict.Advance(ctx, in.analyzer, in.Config.Analysis, in.Snapshot, less, gone)
}

// Declaring describes the tree of the commit as if its configuration declared
// more inputs. The hashes are comparable among themselves alone.
func (in *Inspected) Declaring(ctx context.Context, more []config.Inputs) (*conflict.Description, error) {
	s := in.Config.Analysis
	s.Inputs = slices.Concat(s.Inputs, more)
	return conflict.Describe(ctx, in.analyzer, s, in.tree)
}

// lessTree is a tree without some of its files.
type lessTree struct {
	conflict.Tree
	id    queue.TreeID
	files []conflict.Entry
}

// ID implements conflict.Tree.
func (t lessTree) ID() queue.TreeID { return t.id }

// Files implements conflict.Tree.
func (t lessTree) Files(context.Context) ([]conflict.Entry, error) { return t.files, nil }

// Blobs implements conflict.BatchTree.
func (t lessTree) Blobs(ctx context.Context, oids []string) ([][]byte, error) {
	return conflict.Blobs(ctx, t.Tree, oids)
}

// Change is a head on the base as the queue judges it.
type Change struct {
	mirror.Merged
	*Inspected // of the merge, or of the head where there is none
	Head       queue.CommitID
	Footprint  queue.Footprint
}

// Merge merges a head into the base.
func (i *Inspector) Merge(ctx context.Context, head queue.CommitID) (mirror.Merged, error) {
	return i.mergeInto(ctx, i.now.tip, head)
}

// MergeOnto merges a head into the merge of another change with the base.
func (i *Inspector) MergeOnto(ctx context.Context, other Change, head queue.CommitID) (mirror.Merged, error) {
	return i.mergeInto(ctx, other.Commit, head)
}

func (i *Inspector) mergeInto(ctx context.Context, parent, head queue.CommitID) (mirror.Merged, error) {
	made, err := i.judge.mirror.Merges.MergeWave(ctx, []mirror.Pick{{Parent: parent, Head: head, Message: "Merge " + string(head)}})
	if err != nil {
		return mirror.Merged{}, err
	}
	return made[0], nil
}

// Change analyzes a merged head against the base.
func (i *Inspector) Change(ctx context.Context, base *Inspected, head queue.CommitID, m mirror.Merged) (Change, error) {
	with, err := i.Commit(ctx, analyzedOn(m, head))
	if err != nil {
		return Change{}, err
	}
	return Change{Merged: m, Inspected: with, Head: head, Footprint: conflict.FootprintOf(base.Snapshot, with.Snapshot, i.now.tip)}, nil
}

// Paths returns the paths by which a change on the base may not merge with
// others: see conflict.TouchedPaths.
func (i *Inspector) Paths(ctx context.Context, base *Inspected, c Change) ([]string, error) {
	files, gone, err := i.judge.mirror.Objects.Touched(ctx, base.Tree, c.Tree)
	if err != nil {
		return nil, err
	}
	return conflict.TouchedPaths(files, gone), nil
}
