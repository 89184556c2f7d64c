package conflict

import (
	"maps"
	"runtime"
	"slices"
	"sync"
)

// builder makes the nodes of a snapshot from a whole graph.
type builder struct {
	snapshot *Snapshot
	near     *Snapshot // shares its numbers and what is equal; may be nil
	sources  bool      // keep them
	defs     map[string]sum
}

// build gives every target its number, record and hash. The graph is checked.
func (b *builder) build(targets []Target, reached []bool) {
	s := b.snapshot
	ids := b.number(targets)
	slab := make([]record, len(targets))
	recs, sums := blank[*record](len(s.names.all())), blank[sum](len(s.names.all()))
	b.records(slab, targets)
	edges := b.edges(slab, targets, reached)
	for i := range slab {
		r := &slab[i]
		if b.near != nil {
			if old := b.near.recs.at(ids[i]); old.equal(r) {
				r = old
			}
		}
		recs.set(ids[i], r)
	}
	for name, d := range b.defs {
		id, _ := s.names.find(name)
		sums.set(id, d)
	}
	s.live = len(targets)
	s.recs = recs.vector
	slices.Sort(ids)
	s.hashAll(&sums, ids)
	s.sums = sums.vector
	s.size = len(slab)*recordBytes + edges*4
	if b.near != nil {
		s.size = share(&s.recs, &b.near.recs)*pageSize*recordBytes + share(&s.sums, &b.near.sums)*pageSize*len(sum{})
	}
}

// recordBytes is roughly what a target takes, its name included.
const recordBytes = 240

// number returns the numbers of the targets and sees that everything that the
// graph speaks of has one.
func (b *builder) number(targets []Target) []uint32 {
	s := b.snapshot
	if b.near != nil && !b.near.whole && len(b.near.names.all()) <= 4*(len(targets)+len(b.defs))+1024 {
		s.names = b.near.names
	} else {
		b.near = nil
		list := make([]string, 0, len(targets)+len(b.defs))
		for i := range targets {
			list = append(list, targets[i].Name)
		}
		list = slices.AppendSeq(list, maps.Keys(b.defs))
		slices.Sort(list)
		s.names = newNames(list)
	}
	ids := make([]uint32, len(targets))
	for i := range targets {
		ids[i] = s.names.number(targets[i].Name)
	}
	for name := range b.defs {
		s.names.number(name)
	}
	return ids
}

// records digests what the targets say of themselves.
func (b *builder) records(slab []record, targets []Target) {
	parallel(len(slab), func(from, to int) {
		var f framer
		for i := from; i < to; i++ {
			slab[i].own = f.record(&b.snapshot.salt, &targets[i])
		}
	})
}

// edges fills in the rest of the records and returns the number of edges.
func (b *builder) edges(slab []record, targets []Target, reached []bool) int {
	n := b.snapshot.names
	edges := 0
	for i := range targets {
		edges += len(targets[i].Deps)
	}
	room := make([]uint32, 0, edges)
	for i := range targets {
		t, r := &targets[i], &slab[i]
		r.internal, r.reached = t.Internal, reached[i]
		from := len(room)
		for _, d := range canonicalNames(t.Deps) {
			room = append(room, n.number(d))
		}
		r.deps = room[from:len(room):len(room)]
		r.more = n.details(t, b.sources)
	}
	return edges
}

// details returns what a record keeps of a target's details.
func (n *names) details(t *Target, sources bool) *details {
	sources = sources && len(t.Sources) > 0
	if t.Alias == "" && len(t.Reads) == 0 && !sources {
		return nil
	}
	d := &details{alias: t.Alias}
	for _, name := range canonicalNames(t.Reads) {
		d.reads = append(d.reads, n.number(name))
	}
	if sources {
		d.sources = canonical(t.Sources)
	}
	return d
}

// hashAll hashes all targets, given in order.
func (s *Snapshot) hashAll(sums *draft[sum], ids []uint32) {
	list := s.names.all()
	work := s.names.borrow(len(list))
	m := merkle{list: list, recs: &s.recs, sums: sums, work: work, inside: func(id uint32) bool { return s.recs.at(id) != nil }}
	for _, id := range ids {
		m.visit(id)
	}
	s.names.giveBack(work)
	s.Cycles = m.named()
}

// parallel splits a range over the processors. What f does of one number does
// not depend on another.
func parallel(n int, f func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), n/1024)
	if workers < 2 {
		f(0, n)
		return
	}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() { f(n*w/workers, n*(w+1)/workers) })
	}
	wait.Wait()
}
