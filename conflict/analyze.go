package conflict

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// none is the id of the analysis without an analyzer.
const none = "none/1"

// Analyze computes the snapshot of a tree under the settings written in it.
//
// Without an analyzer (nil, or one that gives no graph) the tree is the one
// target config.TargetTree, with the tree's id as its hash. The same holds when
// the settings or the graph are broken; then Unknown says why. An error means
// only that the tree could not be read: it says nothing about the tree, and
// trying again may help.
func Analyze(ctx context.Context, a Analyzer, s config.Analysis, t Tree) (*Snapshot, error) {
	return Advance(ctx, a, s, nil, t, nil)
}

// Advance is Analyze at the cost of the difference from a similar tree, as far
// as possible. It returns the same snapshot, which shares memory with near.
// files are all paths at which the tree differs from near's, sorted; nil says
// that they are not known. near may be nil.
func Advance(ctx context.Context, a Analyzer, s config.Analysis, near *Snapshot, t Tree, files []FileChange) (*Snapshot, error) {
	if near != nil && near.filing != nil && near.memo != nil && !near.Provisional && files != nil && a != nil && !near.names.worn() && near.settings == settingsSum(a.ID(), s) {
		if f, ok := a.(Follower); ok {
			snap, err := follow(ctx, f, &s, near, t, files)
			if snap != nil || err != nil {
				return snap, err
			}
		}
	}
	v, err := analyze(ctx, a, s, near, t)
	return v.snapshot, err
}

// analysis is a snapshot with the data that it was made from; it has no graph
// where the tree is one target.
type analysis struct {
	snapshot *Snapshot
	graph    *Graph
	targets  []Target // the graph's and the one of unowned files
	parts    parts
	files    int // of the tree
	rules    []rule
	inputs   []inputs // of the rules
	facts    []string // that every target depends on, beside files
}

func analyze(ctx context.Context, a Analyzer, s config.Analysis, near *Snapshot, t Tree) (analysis, error) {
	id := none
	if a != nil {
		id = a.ID()
	}
	files, err := t.Files(ctx)
	if err != nil {
		return analysis{}, fmt.Errorf("list tree %s: %w", t.ID(), err)
	}
	if err := Validate(s); err != nil {
		return analysis{snapshot: wholeTree(t.ID(), id, err.Error()), files: len(files)}, nil
	}
	var g *Graph
	if a != nil {
		watched := &watchedTree{Tree: t, files: files}
		g, err = a.Graph(ctx, watched)
		if watched.err != nil {
			return analysis{}, fmt.Errorf("read tree %s: %w", t.ID(), watched.err)
		}
		if ctx.Err() != nil {
			return analysis{}, ctx.Err()
		}
	}
	if err == nil && g != nil {
		err = g.check()
	}
	switch {
	case err != nil:
		return analysis{snapshot: failed(t.ID(), id, err), files: len(files)}, nil
	case g == nil:
		return analysis{snapshot: wholeTree(t.ID(), id, ""), files: len(files)}, nil
	}
	_, follows := a.(Follower)
	return graphed(ctx, t, id, &s, near, g, files, follows && g.Memo != nil)
}

// failed is the snapshot of a tree for which an analyzer could not compute a graph.
func failed(tree queue.TreeID, id string, err error) *Snapshot {
	snap := wholeTree(tree, id, err.Error())
	snap.Provisional = errors.Is(err, ErrProvisional)
	return snap
}

func graphed(ctx context.Context, t Tree, id string, s *config.Analysis, near *Snapshot, g *Graph, files []Entry, follows bool) (analysis, error) {
	snap := &Snapshot{Tree: t.ID(), Analyzer: id, settings: settingsSum(id, *s), memo: g.Memo,
		Unread: g.Unread, Provisional: slices.ContainsFunc(g.Unread, func(u Unread) bool { return u.Provisional })}
	rules := rulesOf(s)
	declared := inputsOf(rules, files)
	var read behind
	for i := range rules {
		var err error
		if declared[i].behind, err = read.declared(ctx, t, &rules[i], files, declared[i].files()); err != nil {
			return analysis{}, fmt.Errorf("read tree %s: %w", t.ID(), err)
		}
	}
	b := builder{snapshot: snap, near: near, sources: follows, targets: withInputs(rules, declared, g.Targets)}
	b.number()
	b.reach()
	claims, extra := b.claims(), extraOf(g)
	p := partition(s, extra, claims, files)
	barred, err := behindLinks(ctx, t, s, files, p.barrier)
	if err != nil {
		return analysis{}, fmt.Errorf("read tree %s: %w", t.ID(), err)
	}
	linked, err := behindLinks(ctx, t, s, files, p.unowned)
	if err != nil {
		return analysis{}, fmt.Errorf("read tree %s: %w", t.ID(), err)
	}
	snap.barrier = slices.Concat(p.barrier, barred.files)
	if s.Unowned != config.UnownedTarget {
		snap.barrier = slices.Concat(snap.barrier, p.unowned, linked.files)
	} else if len(p.unowned) > 0 {
		b.add(unownedTarget(p.unowned, linked.files))
	}
	linked.looks = slices.Concat(linked.looks, barred.looks, read.looks)
	snap.barrier = canonical(snap.barrier)
	var f framer
	defs, dirs := map[string]sum{}, directories(p.listed)
	facts := slices.Concat(g.Salt, collisions(dirs))
	snap.salt = f.reset("salt2").sum(&snap.settings).texts(facts).entries(snap.barrier).done()

	for dir, names := range dirs {
		defs[ListingOf(dir)] = f.listing(names)
	}
	for _, d := range g.Definitions {
		defs[d.Name] = f.definition(d)
	}
	b.build(defs)
	if follows {
		snap.filing = &filing{extra: extra, claims: layer(claims), dirs: layer(dirs), unowned: p.unowned, inputs: declared, behind: linked}
		snap.size += snap.filing.size()
	}
	return analysis{snap, g, b.targets, p, len(files), rules, declared, facts}, nil
}

// definition digests a definition node.
func (f *framer) definition(d Definition) sum { return f.reset("def2").text(string(d.Digest)).done() }

// unownedTarget is the target of all files that no target claims, and of the files that
// links among them lead to.
func unownedTarget(files, behind []Entry) Target {
	return Target{Name: config.TargetUnowned, Kind: "unowned", Sources: files, Inputs: behind}
}
