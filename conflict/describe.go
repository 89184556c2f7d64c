package conflict

import (
	"context"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Description is a snapshot with what its hashes were made of, for people who
// ask why. It is many times as large; nothing that decides needs it.
type Description struct {
	*Snapshot
	Nodes   []Node  // by name, internal ones included; none where the tree is one target
	Barrier []Entry // in every hash, by path
	Unowned []Entry // claimed by no target, by path; see queue.Unowned
	Ignored []Entry // in no hash, by path
	Files   int     // of the tree

	settings sum
	facts    []string
	index    map[string]int
}

// Node is a target as its hash sees it. Its lists are sorted.
type Node struct {
	Target
	Hash queue.Digest
}

// Describe is Analyze that keeps what it saw.
func Describe(ctx context.Context, a Analyzer, s queue.Analysis, t Tree) (*Description, error) {
	v, err := analyze(ctx, a, s, t)
	if err != nil {
		return nil, err
	}
	d := &Description{Snapshot: v.snapshot, Barrier: v.parts.barrier, Unowned: v.parts.unowned, Ignored: v.parts.ignored, Files: v.files,
		settings: settingsSum(v.snapshot.Analyzer, s), index: make(map[string]int, len(v.targets))}
	if v.graph == nil {
		return d, nil
	}
	d.facts = v.graph.Salt
	byName := make(map[string]*Target, len(v.targets))
	for i := range v.targets {
		byName[v.targets[i].Name] = &v.targets[i]
	}
	d.Nodes = make([]Node, len(v.snapshot.nodes))
	for i := range v.snapshot.nodes {
		n := &v.snapshot.nodes[i]
		t := *byName[n.name]
		t.Sources, t.Inputs = canonical(t.Sources), canonical(t.Inputs)
		t.Deps, t.Reads = n.deps, n.reads
		d.Nodes[i] = Node{t, n.hash.digest()}
		d.index[n.name] = i
	}
	return d, nil
}

// Node returns a node by its name, or nil.
func (d *Description) Node(name string) *Node {
	if i, ok := d.index[name]; ok {
		return &d.Nodes[i]
	}
	return nil
}

// Holds reports whether a file is in the node's own record, as a source or as
// a further input.
func (n *Node) Holds(path string) bool { return holds(n.Sources, path) || holds(n.Inputs, path) }

func holds(list []Entry, path string) bool {
	_, ok := slices.BinarySearchFunc(list, path, func(e Entry, path string) int { return strings.Compare(e.Path, path) })
	return ok
}

// Holding returns the names of the nodes that have a file in their own record,
// sorted.
func (d *Description) Holding(path string) []string {
	var names []string
	for i := range d.Nodes {
		if d.Nodes[i].Holds(path) {
			names = append(names, d.Nodes[i].Name)
		}
	}
	return names
}

// Above returns the targets whose hashes move with any of the given nodes, the
// targets among these included, sorted.
func (d *Description) Above(nodes []string) []string {
	rdeps := map[string][]string{}
	for i := range d.Nodes {
		for _, to := range d.Nodes[i].Deps {
			rdeps[to] = append(rdeps[to], d.Nodes[i].Name)
		}
	}
	return slices.DeleteFunc(above(nodes, rdeps), func(name string) bool {
		n := d.Node(name)
		return n == nil || n.Internal
	})
}
