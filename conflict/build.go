package conflict

import (
	"runtime"
	"slices"
	"sync"
)

// builder makes the nodes of a snapshot from a whole graph. The graph is
// checked.
type builder struct {
	snapshot *Snapshot
	near     *Snapshot // shares its numbers and what is equal; may be nil
	sources  bool      // keep them
	targets  []Target
	ids      []uint32 // of the targets
	slab     []record // of the targets
	edges    int
}

// number gives the targets, and all that they speak of, their numbers.
func (b *builder) number() {
	s := b.snapshot
	if b.near != nil && (b.near.whole || b.near.names.worn()) {
		b.near = nil
	}
	if b.near != nil {
		s.names = b.near.names
	} else {
		list := make([]string, len(b.targets))
		for i := range b.targets {
			list[i] = b.targets[i].Name
		}
		if !slices.IsSorted(list) {
			slices.Sort(list)
		}
		s.names = newNumbers(list)
	}
	for i := range b.targets {
		b.edges += len(b.targets[i].Deps)
	}
	b.ids, b.slab = make([]uint32, len(b.targets), len(b.targets)+1), make([]record, len(b.targets), len(b.targets)+1)
	room := make([]uint32, 0, b.edges)
	s.names.many(func(number func(string) uint32) {
		for i := range b.targets {
			t, r := &b.targets[i], &b.slab[i]
			b.ids[i] = number(t.Name)
			from := len(room)
			for _, d := range canonicalNames(t.Deps) {
				room = append(room, number(d))
			}
			r.deps, r.internal = room[from:len(room):len(room)], t.Internal
			r.more = detailsOf(t, b.sources, number)
		}
	})
}

// detailsOf returns what a record keeps of a target's details.
func detailsOf(t *Target, sources bool, number func(string) uint32) *details {
	sources = sources && len(t.Sources) > 0
	if t.Alias == "" && len(t.Reads) == 0 && !sources {
		return nil
	}
	d := &details{alias: t.Alias}
	for _, name := range canonicalNames(t.Reads) {
		d.reads = append(d.reads, number(name))
	}
	if sources {
		d.sources = canonical(t.Sources)
	}
	return d
}

// reach finds what can be verified, and what that depends on. What only other
// nodes claim is unowned: it is in the hash of nothing that is ever verified.
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
	digested := make(chan struct{})
	go func() {
		defer close(digested)
		b.records()
	}()
	ids := slices.Sorted(slices.Values(b.ids))
	r := rehash{snap: s, sums: &sums, levels: &levels, ids: ids, inside: func(id uint32) bool { return s.recs.at(id) != nil }}
	s.Cycles = r.search()
	sortCycles(s.Cycles)
	<-digested
	r.run()
	b.reuse(&recs)
	s.recs, s.sums, s.level = recs.vector, sums.vector, levels.vector
	if b.near != nil {
		s.size += share(&s.recs, &b.near.recs)*pageSize*8 + share(&s.sums, &b.near.sums)*pageSize*len(sum{}) + share(&s.level, &b.near.level)*pageSize*4
	}
}

// reuse takes the records of near that say the same, and counts the others.
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

// recordBytes is roughly what a target takes, its name included.
const recordBytes = 240

// records digests what the targets say of themselves.
func (b *builder) records() {
	parallel(len(b.slab), func(from, to int) {
		var f framer
		for i := from; i < to; i++ {
			b.slab[i].own = f.record(&b.snapshot.salt, &b.targets[i])
		}
	})
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
