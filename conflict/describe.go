package conflict

import (
	"context"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict/internal/sorted"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Description is a snapshot with the data that its hashes were made of, for
// explanations to people. It is many times as large as the snapshot, and no
// decision needs it.
type Description struct {
	*Snapshot
	Nodes   []Node  // by name, internal ones included; none where the tree is one target
	Barrier []Entry // in every hash, by path
	Unowned []Entry // claimed by no target, by path; see config.Unowned
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

// Describe is Analyze that keeps the data it has read.
func Describe(ctx context.Context, a Analyzer, s config.Analysis, t Tree) (*Description, error) {
	v, err := analyze(ctx, a, s, nil, t)
	if err != nil {
		return nil, err
	}
	declared := v.declared()
	d := &Description{Snapshot: v.snapshot, Barrier: v.parts.barrier, Unowned: v.parts.unowned, Ignored: v.parts.ignored, Files: v.files,
		settings: settingsSum(v.snapshot.Analyzer, s), index: make(map[string]int, len(v.targets))}
	if v.graph == nil {
		return d, nil
	}
	d.facts = v.facts
	d.Nodes = make([]Node, 0, len(v.targets))
	for _, t := range v.targets {
		id, _ := d.names.find(t.Name)
		if list, ok := declared[t.Name]; ok {
			t.Inputs = list
		}
		t.Sources, t.Inputs = canonical(t.Sources), canonical(t.Inputs)
		t.Deps, t.Reads = sorted.Names(t.Deps), sorted.Names(t.Reads)
		d.Nodes = append(d.Nodes, Node{t, d.hash(id)})
	}
	slices.SortFunc(d.Nodes, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range d.Nodes {
		d.index[d.Nodes[i].Name] = i
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

// FilesOf returns the paths of the files with content in a target's hash:
// the files of its own record and of all nodes that it depends on, and the
// files that are in every hash. Files that an analyzer has put into a hash by
// meaning only, such as a go.mod by its module path, are not among them. Nil if
// the tree is one target, which has every file.
func (d *Description) FilesOf(target string) map[string]bool {
	if d.Nodes == nil {
		return nil
	}
	files := map[string]bool{}
	add := func(list []Entry) {
		for _, e := range list {
			files[e.Path] = true
		}
	}
	add(d.Snapshot.barrier)
	seen := map[string]bool{target: true}
	for todo := []string{target}; len(todo) > 0; {
		n := d.Node(todo[len(todo)-1])
		todo = todo[:len(todo)-1]
		if n == nil {
			continue
		}
		add(n.Sources)
		add(n.Inputs)
		for _, dep := range n.Deps {
			if !seen[dep] {
				seen[dep] = true
				todo = append(todo, dep)
			}
		}
	}
	return files
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

// Above returns the targets with hashes that move with any of the given nodes,
// the targets among these included, sorted.
func (d *Description) Above(nodes []string) []string {
	var from []uint32
	for _, name := range nodes {
		if id, ok := d.names.find(name); ok {
			from = append(from, id)
		}
	}
	seen := d.names.borrow(len(d.names.all()))
	defer d.names.giveBack(seen)
	up := above(from, d.reverse().at, seen)
	return d.names.texts(slices.DeleteFunc(up, func(id uint32) bool { return !d.verifiable(id) }))
}
