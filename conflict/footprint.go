package conflict

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// MaxWitnesses is how many names a conflict gives as its reason.
const MaxWitnesses = 5

// FootprintOf returns the targets that a change can influence and those that it
// newly depends on: the difference between main and the tree of main with the
// change.
//
// If the two cannot be compared target by target (one of them is unknown, the settings differ, or a
// file that is in every hash changed), the footprint is All. A part that could not be read does not
// make it All: the part has one target, and if that is affected, Unread says why. If it is All,
// Write names up to five of the changed files, as definition nodes, to tell people why.
func FootprintOf(main, change *Snapshot, mainCommit queue.CommitID) queue.Footprint {
	f := queue.Footprint{Main: mainCommit, Analyzer: change.Analyzer}
	d := compare(main, change)
	for _, t := range d.change.targetsOf(d.altered()) {
		f.Affected = append(f.Affected, t.Target)
	}
	for _, u := range change.Unread {
		if _, affected := slices.BinarySearch(f.Affected, u.Target); affected {
			f.Unread = u.Why
			break
		}
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
	f.Added, f.Gone = d.appeared(), len(d.gone())
	n := d.main.names
	f.Write = n.texts(d.write)
	f.Edges = d.edges()
	read := d.reads()
	for _, e := range f.Edges {
		id, _ := n.find(e.To)
		read = append(read, id)
	}
	slices.Sort(read)
	f.Read = n.texts(slices.Compact(read))
	return f
}

// changedFiles returns the names of up to MaxWitnesses definition nodes for
// files that differ between two sorted lists.
func changedFiles(from, to []Entry) []string {
	var names []string
	for len(names) < MaxWitnesses && (len(from) > 0 || len(to) > 0) {
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

// difference is how two snapshots under the same names differ.
type difference struct {
	main, change *Snapshot
	write        []uint32 // nodes that have another hash, came or went, definition nodes and listings too; in order
}

func compare(main, change *Snapshot) *difference {
	if main.names != change.names {
		n := main.names.clone() // names of a change are no reason for main's to grow
		main, change = main.sharing(n), change.under(n)
	}
	d := &difference{main: main, change: change}
	differing(&main.sums, &change.sums, func(id uint32) {
		if main.sums.at(id) != change.sums.at(id) {
			d.write = append(d.write, id)
		}
	})
	return d
}

// altered returns the targets of the change that main has not at the same
// hash, internal ones included, in order.
func (d *difference) altered() []uint32 {
	ids := make([]uint32, 0, len(d.write))
	for _, id := range d.write {
		if d.change.recs.at(id) != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// appeared returns how many targets the change has that main does not have.
func (d *difference) appeared() int {
	n := 0
	for _, id := range d.write {
		if d.change.verifiable(id) && !d.main.verifiable(id) {
			n++
		}
	}
	return n
}

// gone returns the targets that the change does not have.
func (d *difference) gone() []uint32 {
	var ids []uint32
	for _, id := range d.write {
		if d.main.verifiable(id) && !d.change.verifiable(id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// reads returns the definition inputs that targets newly read.
func (d *difference) reads() []uint32 {
	var read []uint32
	differing(&d.main.recs, &d.change.recs, func(id uint32) {
		if now := d.change.recs.at(id).reads(); len(now) > 0 {
			read = append(read, minus(now, d.main.recs.at(id).reads())...)
		}
	})
	return read
}

// edges returns the added edges, those with one head joined, sorted by head.
func (d *difference) edges() []queue.AddedEdge {
	tails := map[uint32][]uint32{}
	var heads []uint32
	changed := d.altered()
	for _, id := range changed {
		now, old := d.change.recs.at(id), d.main.recs.at(id)
		if now == old {
			continue
		}
		for _, to := range minus(now.deps, old.dependencies()) {
			if tails[to] == nil {
				heads = append(heads, to)
			}
			tails[to] = append(tails[to], id)
		}
	}
	if len(heads) == 0 {
		return nil
	}
	n := d.change.names
	n.sort(heads)
	up := d.dependents(changed)
	work := n.borrow(len(n.all()))
	defer n.giveBack(work)
	memo := map[string][]string{} // edges with the same tails share the targets above them
	edges := make([]queue.AddedEdge, 0, len(heads))
	list := n.all()
	for _, to := range heads {
		var f framer
		for _, id := range tails[to] {
			f.count(int(id))
		}
		key := string(f.buf)
		if _, ok := memo[key]; !ok {
			work.begin()
			memo[key] = n.texts(above(tails[to], up, work))
		}
		edges = append(edges, queue.AddedEdge{To: list[to], Up: memo[key]})
	}
	return edges
}

// dependents returns the dependents of each changed node among the changed
// nodes. These are all: a node that depends on a tail has another hash, as the
// tail has.
func (d *difference) dependents(changed []uint32) func(id uint32) []uint32 {
	if d.change.filing != nil {
		return d.change.reverse().at
	}
	rdeps := map[uint32][]uint32{}
	for _, id := range changed {
		for _, to := range d.change.recs.at(id).deps {
			rdeps[to] = append(rdeps[to], id)
		}
	}
	return func(id uint32) []uint32 { return rdeps[id] }
}

// above returns the given numbers and all numbers that depend on them, in order.
func above(from []uint32, up func(uint32) []uint32, seen *marks) []uint32 {
	var out []uint32
	for _, id := range from {
		if seen.add(id) {
			out = append(out, id)
		}
	}
	for i := 0; i < len(out); i++ {
		for _, id := range up(out[i]) {
			if seen.add(id) {
				out = append(out, id)
			}
		}
	}
	slices.Sort(out)
	return out
}
