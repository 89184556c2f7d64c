package conflict

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/conflict/internal/sorted"
)

// builder makes the nodes of a snapshot from a whole graph. The graph is
// checked.
type builder struct {
	snapshot *Snapshot
	near     *Snapshot // its numbers and equal records are shared; may be nil
	sources  bool      // keep them
	targets  []Target
	ids      []uint32 // of the targets
	slab     []record // of the targets
	deps     []uint32 // of all targets, one after the other
}

// number gives numbers to the targets, and to all names that they mention.
func (b *builder) number() {
	s := b.snapshot
	if b.near != nil && (b.near.whole || b.near.names.worn()) {
		b.near = nil
	}
	if b.near != nil {
		s.names = b.near.names
	} else {
		byName := func(a, b Target) int { return strings.Compare(a.Name, b.Name) }
		if !slices.IsSortedFunc(b.targets, byName) {
			b.targets = slices.Clone(b.targets)
			slices.SortFunc(b.targets, byName)
		}
		list := make([]string, len(b.targets))
		for i := range b.targets {
			list[i] = b.targets[i].Name
		}
		s.names = newNumbers(list)
	}
	edges := 0
	for i := range b.targets {
		edges += len(b.targets[i].Deps)
	}
	b.ids, b.slab = make([]uint32, len(b.targets), len(b.targets)+1), make([]record, len(b.targets), len(b.targets)+1)
	b.deps = make([]uint32, 0, edges)
	s.names.many(func(number func(string) uint32) {
		for i := range b.targets {
			t, r := &b.targets[i], &b.slab[i]
			b.ids[i] = number(t.Name)
			from := len(b.deps)
			for _, d := range sorted.Names(t.Deps) {
				b.deps = append(b.deps, number(d))
			}
			r.deps, r.internal = b.deps[from:len(b.deps):len(b.deps)], t.Internal
			r.more = detailsOf(t, b.sources, number)
		}
	})
}

// detailsOf returns the details that a record keeps of a target.
func detailsOf(t *Target, sources bool, number func(string) uint32) *details {
	sources = sources && len(t.Sources) > 0
	if t.Alias == "" && len(t.Reads) == 0 && !sources {
		return nil
	}
	d := &details{alias: t.Alias}
	for _, name := range sorted.Names(t.Reads) {
		d.reads = append(d.reads, number(name))
	}
	if sources {
		d.sources = canonical(t.Sources)
	}
	return d
}

// reach finds the nodes that can be verified, and those that they depend on. A
// file that only other nodes claim is unowned: it is in the hash of no node
// that is ever verified.
func (b *builder) reach() {
	at := make([]int32, len(b.snapshot.names.all())) // place in the slab, from 1 on
	var todo []int32
	for i, id := range b.ids {
		at[id] = int32(i + 1)
		if !b.slab[i].internal {
			b.slab[i].reached = true
			todo = append(todo, int32(i))
		}
	}
	for len(todo) > 0 {
		r := &b.slab[todo[len(todo)-1]]
		todo = todo[:len(todo)-1]
		for _, d := range r.deps {
			if i := at[d] - 1; i >= 0 && !b.slab[i].reached {
				b.slab[i].reached = true
				todo = append(todo, i)
			}
		}
	}
}

// claims counts for each file how many reached targets own it.
func (b *builder) claims() map[string]int32 {
	claims := map[string]int32{}
	for i := range b.targets {
		if b.slab[i].reached {
			for _, e := range canonical(b.targets[i].Sources) {
				claims[e.Path]++
			}
		}
	}
	return claims
}

// add adds a target without dependencies that can be verified.
func (b *builder) add(t Target) {
	b.targets = append(b.targets[:len(b.targets):len(b.targets)], t)
	b.ids = append(b.ids, b.snapshot.names.number(t.Name))
	b.slab = append(b.slab, record{reached: true})
}

// build writes records, definition nodes and hashes.
func (b *builder) build(defs map[string]sum) {
	s := b.snapshot
	size := len(s.names.all())
	recs, sums, levels := blank[*record](size), blank[sum](size+len(defs)), blank[uint32](size)
	for i := range b.slab {
		recs.set(b.ids[i], &b.slab[i])
	}
	s.names.many(func(number func(string) uint32) {
		for name, d := range defs {
			sums.set(number(name), d)
		}
	})
	if b.near == nil {
		s.names.settled()
	}
	s.live, s.recs = len(b.targets), recs.vector
	s.Cycles = b.hash(&sums, &levels)
	b.reuse(&recs)
	s.recs, s.sums, s.level = recs.vector, sums.vector, levels.vector
	// The pages of a blank vector are one piece of memory: a single page that is not
	// shared keeps all of it.
	if b.near == nil || share(&s.recs, &b.near.recs) > 0 {
		s.size += recs.copied * pageSize * 8
	}
	if b.near == nil || share(&s.sums, &b.near.sums) > 0 {
		s.size += sums.copied * pageSize * len(sum{})
	}
	if b.near == nil || share(&s.level, &b.near.level) > 0 {
		s.size += levels.copied * pageSize * 4
	}
}

// hash computes levels and hashes of all targets, and returns the cycles.
func (b *builder) hash(sums *draft[sum], levels *draft[uint32]) [][]string {
	s := b.snapshot
	digested := make(chan struct{})
	go func() {
		defer close(digested)
		b.records()
	}()
	spans := b.spans(len(levels.flat))
	ids := make([]uint32, 0, len(b.ids))
	for id := range spans {
		if spans[id] != nothing {
			ids = append(ids, uint32(id))
		}
	}
	r := rehash{snap: s, sums: sums, levels: levels, ids: ids, inside: func(id uint32) bool { return s.recs.at(id) != nil }}
	var cycles [][]string
	if !levelsOf(ids, spans, b.deps, levels.flat) {
		clear(levels.flat)
		cycles = r.search()
		sortCycles(cycles)
	}
	<-digested
	r.run()
	return cycles
}

// spans returns, by number, where the dependencies of a target are in the list of all.
func (b *builder) spans(size int) []span {
	spans := make([]span, size)
	for i := range spans {
		spans[i] = nothing
	}
	at := uint32(0)
	for i, id := range b.ids {
		next := at + uint32(len(b.slab[i].deps))
		spans[id] = span{at, next}
		at = next
	}
	return spans
}

// reuse takes equal records from near, and counts the size of the others.
func (b *builder) reuse(recs *draft[*record]) {
	own := false
	for i, id := range b.ids {
		if b.near != nil {
			if old := b.near.recs.at(id); old.equal(&b.slab[i]) {
				recs.set(id, old)
				continue
			}
		}
		own = true
		b.snapshot.size += b.slab[i].size()
	}
	if own {
		b.snapshot.size += len(b.slab) * recordBytes // all of it, for one record that is used
	}
}

// recordBytes is roughly how many bytes a target takes, its name included.
const recordBytes = 240

// records digests the targets' own records.
func (b *builder) records() {
	parallel(len(b.slab), func(from, to int) {
		var f framer
		for i := from; i < to; i++ {
			b.slab[i].own = f.record(&b.snapshot.salt, &b.targets[i])
		}
	})
}

// parallel splits a range over the processors. The work of f on one number must
// not depend on its work on another.
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
