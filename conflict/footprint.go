package conflict

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// maxWitnesses is how many names a conflict gives to people who ask why.
const maxWitnesses = 5

// FootprintOf returns what a change can influence and what it newly depends
// on: the difference between main and the tree of main with the change.
//
// Where the two cannot be compared target by target (one of them is unknown,
// the settings differ, or a file that is in every hash changed), the footprint
// is All. Write then names up to five of those files, as definition nodes, for
// people who ask why.
func FootprintOf(main, change *Snapshot, mainCommit queue.CommitID) queue.Footprint {
	f := queue.Footprint{Main: mainCommit, Analyzer: change.Analyzer}
	for _, t := range changedTargets(main.Targets(), change.Targets()) {
		f.Affected = append(f.Affected, t.Target)
	}
	switch {
	case change.Unknown != "":
		f.All, f.Unknown = true, change.Unknown
	case main.Unknown != "":
		f.All, f.Unknown = true, "main: "+main.Unknown
	case main.Analyzer != change.Analyzer || main.salt != change.salt:
		f.All = true
		f.Write = changedFiles(main.barrier, change.barrier)
	}
	if f.All {
		return f
	}
	d := difference{main: main.all(), change: change.all()}
	d.compare()
	f.Write = append(d.write, changedDefinitions(main.defs, change.defs)...)
	f.Edges = d.edges()
	f.Read = d.read
	for _, e := range f.Edges {
		f.Read = append(f.Read, e.To)
	}
	slices.Sort(f.Write)
	slices.Sort(f.Read)
	f.Read = slices.Compact(f.Read)
	return f
}

// all returns the nodes of a snapshot; one without a graph has its targets.
func (s *Snapshot) all() []node {
	if s.nodes != nil {
		return s.nodes
	}
	nodes := make([]node, len(s.Targets()))
	var f framer
	for i, t := range s.Targets() {
		nodes[i] = node{name: t.Target, hash: f.reset("whole1").text(string(t.Hash)).done()}
	}
	return nodes
}

// changedFiles returns the names of up to maxWitnesses definition nodes for
// files that only one of two sorted lists has as they are there.
func changedFiles(from, to []Entry) []string {
	var names []string
	for len(names) < maxWitnesses && (len(from) > 0 || len(to) > 0) {
		switch {
		case len(to) == 0 || len(from) > 0 && from[0].Path < to[0].Path:
			names = append(names, DefinitionPrefix+from[0].Path)
			from = from[1:]
		case len(from) == 0 || to[0].Path < from[0].Path:
			names = append(names, DefinitionPrefix+to[0].Path)
			to = to[1:]
		default:
			if from[0] != to[0] {
				names = append(names, DefinitionPrefix+to[0].Path)
			}
			from, to = from[1:], to[1:]
		}
	}
	return names
}

func changedDefinitions(from, to map[string]sum) []string {
	var names []string
	for name, s := range to {
		if old, ok := from[name]; !ok || old != s {
			names = append(names, name)
		}
	}
	for name := range from {
		if _, ok := to[name]; !ok {
			names = append(names, name)
		}
	}
	return names
}

// difference compares two graphs.
type difference struct {
	main, change []node
	write, read  []string
	changed      []*node // of change: what has another hash there
	added        []addition
}

// addition is a target with dependencies that it does not have on main.
type addition struct {
	from string
	to   []string
}

func (d *difference) compare() {
	i := 0
	for j := range d.change {
		n := &d.change[j]
		for i < len(d.main) && d.main[i].name < n.name {
			d.write = append(d.write, d.main[i].name)
			i++
		}
		old := &node{}
		if i < len(d.main) && d.main[i].name == n.name {
			old = &d.main[i]
			i++
		}
		d.read = append(d.read, missing(n.reads, old.reads)...)
		if old.name != "" && old.hash == n.hash {
			continue
		}
		d.write = append(d.write, n.name)
		d.changed = append(d.changed, n)
		if to := missing(n.deps, old.deps); len(to) > 0 {
			d.added = append(d.added, addition{n.name, to})
		}
	}
	for ; i < len(d.main); i++ {
		d.write = append(d.write, d.main[i].name)
	}
}

// missing returns what the sorted list has and the other sorted list has not.
func missing(list, other []string) []string {
	var out []string
	for _, s := range list {
		for len(other) > 0 && other[0] < s {
			other = other[1:]
		}
		if len(other) == 0 || other[0] != s {
			out = append(out, s)
		}
	}
	return out
}

// edges returns the added edges, those with one head joined, sorted by head.
func (d *difference) edges() []queue.AddedEdge {
	if len(d.added) == 0 {
		return nil
	}
	// Whatever depends on a tail has another hash, as the tail has.
	rdeps := map[string][]string{}
	for _, n := range d.changed {
		for _, to := range n.deps {
			rdeps[to] = append(rdeps[to], n.name)
		}
	}
	tails := map[string][]string{}
	for _, a := range d.added {
		for _, to := range a.to {
			tails[to] = append(tails[to], a.from)
		}
	}
	// Edges with the same tails share what is above them.
	memo := map[string][]string{}
	edges := make([]queue.AddedEdge, 0, len(tails))
	for to, from := range tails {
		id := strings.Join(from, "\x00")
		if _, ok := memo[id]; !ok {
			memo[id] = above(from, rdeps)
		}
		edges = append(edges, queue.AddedEdge{To: to, Up: memo[id]})
	}
	slices.SortFunc(edges, func(a, b queue.AddedEdge) int { return strings.Compare(a.To, b.To) })
	return edges
}

// above returns the given targets and all that depend on them, sorted.
func above(from []string, rdeps map[string][]string) []string {
	seen := make(map[string]bool, len(from))
	var up []string
	for todo := slices.Clone(from); len(todo) > 0; {
		t := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[t] {
			continue
		}
		seen[t] = true
		up = append(up, t)
		todo = append(todo, rdeps[t]...)
	}
	slices.Sort(up)
	return up
}
