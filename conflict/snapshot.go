package conflict

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Snapshot is what the queue needs of one tree. It does not change once it is
// made, and holds no reference to the tree.
type Snapshot struct {
	Tree     queue.TreeID
	Analyzer string     // id of the analyzer
	Cycles   [][]string // targets that depend on themselves, each list sorted; they are hashed as one
	Unknown  string     // why the graph could not be computed; the one target is the whole tree then

	// Provisional says that Unknown rests on more than the tree: whoever keeps
	// snapshots does not keep this one.
	Provisional bool

	salt     sum
	barrier  []Entry            // the files of the salt, sorted by path
	verified []queue.TargetHash // what Targets returns
	nodes    []node             // sorted by name, internal ones included
	defs     map[string]sum     // definition nodes and listings
	targets  map[string]string  // alias → target
	aliases  map[string]string  // target → alias
}

// none is the id of the analysis without an analyzer.
const none = "none/1"

// Analyze computes the snapshot of a tree under the settings written in it.
//
// Without an analyzer (nil, or one that gives no graph) the tree is the one
// target queue.TargetTree, whose hash is the tree's id. So it is when the
// settings or the graph are broken; then Unknown says why. The error is kept
// for a tree that could not be read: it says nothing about the tree, and
// trying again may help.
func Analyze(ctx context.Context, a Analyzer, s queue.Analysis, t Tree) (*Snapshot, error) {
	v, err := analyze(ctx, a, s, t)
	return v.snapshot, err
}

// analysis is a snapshot with what it was made from; no graph where the tree
// is one target.
type analysis struct {
	snapshot *Snapshot
	graph    *Graph
	targets  []Target // the graph's and the one of unowned files
	parts    parts
	files    int // of the tree
}

func analyze(ctx context.Context, a Analyzer, s queue.Analysis, t Tree) (analysis, error) {
	id := none
	if a != nil {
		id = a.ID()
	}
	files, err := t.Files(ctx)
	if err != nil {
		return analysis{}, fmt.Errorf("list tree %s: %w", t.ID(), err)
	}
	if err := Validate(s); err != nil {
		return analysis{snapshot: whole(t.ID(), id, err.Error()), files: len(files)}, nil
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
		snap := whole(t.ID(), id, err.Error())
		snap.Provisional = errors.Is(err, ErrProvisional)
		return analysis{snapshot: snap, files: len(files)}, nil
	case g == nil:
		return analysis{snapshot: whole(t.ID(), id, ""), files: len(files)}, nil
	}
	return graphed(t.ID(), id, s, g, files), nil
}

// whole is the snapshot of a tree without a graph.
func whole(tree queue.TreeID, id, unknown string) *Snapshot {
	return &Snapshot{Tree: tree, Analyzer: id, Unknown: unknown,
		verified: []queue.TargetHash{{Target: queue.TargetTree, Hash: queue.Digest(tree)}}}
}

func graphed(tree queue.TreeID, id string, s queue.Analysis, g *Graph, files []Entry) analysis {
	p := partition(s, g, files)
	targets := g.Targets
	if len(p.unowned) > 0 && s.Unowned == queue.UnownedTarget {
		targets = append(slices.Clone(targets), Target{Name: queue.TargetUnowned, Kind: "unowned", Sources: p.unowned})
	}
	barrier := p.barrier
	if s.Unowned != queue.UnownedTarget {
		barrier = append(barrier, p.unowned...)
	}
	barrier = canonical(barrier)
	var f framer
	salt := f.reset("salt1").sum(settingsSum(id, s)).texts(g.Salt).entries(barrier).done()

	snap := &Snapshot{Tree: tree, Analyzer: id, salt: salt, barrier: barrier,
		defs: listings(p.listed), targets: map[string]string{}, aliases: map[string]string{}}
	for _, d := range g.Definitions {
		snap.defs[d.Name] = f.reset("def1").text(string(d.Digest)).done()
	}
	snap.nodes, snap.Cycles = hashAll(id, salt, targets)
	for i := range snap.nodes {
		n := &snap.nodes[i]
		if n.internal {
			continue
		}
		snap.verified = append(snap.verified, queue.TargetHash{Target: n.name, Hash: n.hash.digest()})
		if n.alias != "" {
			snap.name(n.name, n.alias)
		}
	}
	maps.DeleteFunc(snap.targets, func(_, target string) bool { return target == "" })
	return analysis{snap, g, targets, p, len(files)}
}

// name notes an alias. One that two targets share is neither's: a report under
// it would be taken for a result of either.
func (s *Snapshot) name(target, alias string) {
	if other, twice := s.targets[alias]; twice {
		delete(s.aliases, other)
		s.targets[alias] = ""
		return
	}
	s.targets[alias] = target
	s.aliases[target] = alias
}

// parts says where each file of a tree is hashed.
type parts struct {
	barrier []Entry // in every hash
	unowned []Entry // claimed by no target, nor ignored
	ignored []Entry // in no hash
	listed  []Entry // all but the ignored: what listings show
}

// partition sorts the files. What only unreachable internal nodes claim is
// unowned: it is in the hash of nothing that is ever verified.
func partition(s queue.Analysis, g *Graph, files []Entry) parts {
	claimed := reachable(g.Targets)
	extra := make(map[string]bool, len(g.Barrier))
	for _, e := range g.Barrier {
		extra[e.Path] = true
	}
	var p parts
	for _, e := range files {
		owned := claimed[e.Path]
		switch {
		case extra[e.Path] || builtinBarrier(e.Path) || matches(s.Barrier, e.Path):
			p.barrier = append(p.barrier, e)
		case owned:
		case matches(s.Ignore, e.Path):
			p.ignored = append(p.ignored, e)
			continue
		default:
			p.unowned = append(p.unowned, e)
		}
		p.listed = append(p.listed, e)
	}
	return p
}

// reachable returns the paths of the files owned by what can be verified or by
// what that depends on.
func reachable(targets []Target) map[string]bool {
	index := make(map[string]int, len(targets))
	for i := range targets {
		index[targets[i].Name] = i
	}
	seen := make([]bool, len(targets))
	var todo []int
	for i := range targets {
		if !targets[i].Internal {
			seen[i] = true
			todo = append(todo, i)
		}
	}
	claimed := map[string]bool{}
	for len(todo) > 0 {
		t := &targets[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, e := range t.Sources {
			claimed[e.Path] = true
		}
		for _, d := range t.Deps {
			if j, ok := index[d]; ok && !seen[j] {
				seen[j] = true
				todo = append(todo, j)
			}
		}
	}
	return claimed
}

// listings returns the digest of the names in each directory of the sorted
// files. Whether a name is a file or a directory is part of it.
func listings(files []Entry) map[string]sum {
	names := map[string][]string{"": nil}
	add := func(dir, name string) {
		if list := names[dir]; len(list) == 0 || list[len(list)-1] != name {
			names[dir] = append(list, name)
		}
	}
	for _, e := range files {
		dir, name := parent(e.Path)
		add(dir, name)
		for dir != "" {
			up, name := parent(dir)
			add(up, name+"/")
			dir = up
		}
	}
	var f framer
	defs := make(map[string]sum, len(names))
	for dir, list := range names {
		defs[ListingOf(dir)] = f.reset("list1").texts(canonicalNames(list)).done()
	}
	return defs
}

// parent splits a path into its directory, "" for the root, and its last name.
func parent(file string) (dir, name string) {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i], file[i+1:]
	}
	return "", path.Base(file)
}

// Targets returns what can be verified, sorted by name. The caller does not
// modify it.
func (s *Snapshot) Targets() []queue.TargetHash { return s.verified }

// Alias returns the name under which reports speak of a target, such as the
// import path of a Go package: the target's own name if it has no other.
func (s *Snapshot) Alias(target string) string {
	if a, ok := s.aliases[target]; ok {
		return a
	}
	return target
}

// Aliases returns the target of each alias. The caller does not modify it.
func (s *Snapshot) Aliases() map[string]string { return s.targets }
