package conflict

import (
	"runtime"
	"slices"
	"sync"
)

// rehash computes the hashes of targets, level by level: those of one level do
// not depend on one another.
type rehash struct {
	snap   *Snapshot // with its records
	sums   *draft[sum]
	levels *draft[uint32]
	ids    []uint32             // the targets, in order
	inside func(id uint32) bool // whether a target is among them
	units  map[uint32][][]uint32
	member map[uint32]bool // of units
}

// search finds cycles and levels anew, and returns the cycles by name.
func (r *rehash) search() [][]string {
	n := r.snap.names
	list := n.all()
	work := n.borrow(len(list))
	defer n.giveBack(work)
	first := work.reserve()
	c := components{recs: &r.snap.recs, inside: r.inside, outside: &r.levels.vector, at: work.spots, first: first, next: first + 1}
	for _, id := range r.ids {
		c.visit(id)
	}
	for _, id := range r.ids {
		if level := c.at[id].low; r.levels.at(id) != level {
			r.levels.set(id, level)
		}
	}
	var cycles [][]string
	r.units, r.member = map[uint32][][]uint32{}, map[uint32]bool{}
	for _, unit := range c.cycles {
		if len(unit) > 1 {
			n.sort(unit)
			level := c.at[unit[0]].low
			r.units[level] = append(r.units[level], unit)
			for _, id := range unit {
				r.member[id] = true
			}
		}
	}
	for _, unit := range c.cycles {
		if len(unit) == 1 && r.member[unit[0]] {
			continue // it is in a larger cycle
		}
		texts := make([]string, len(unit))
		for i, id := range unit {
			texts[i] = list[id]
		}
		cycles = append(cycles, texts)
	}
	return cycles
}

// run computes the hashes. All targets have their levels.
func (r *rehash) run() {
	rows := r.byLevel()
	workers := make([]merkle, max(1, runtime.GOMAXPROCS(0)))
	list := r.snap.names.all()
	for i := range workers {
		workers[i] = merkle{list: list, recs: &r.snap.recs, sums: r.sums}
	}
	for level, row := range rows {
		if len(row) < aside || len(workers) == 1 {
			for _, id := range row {
				workers[0].put(id, workers[0].node(id, nil))
			}
		} else {
			if r.sums.flat == nil {
				for _, id := range row {
					r.sums.own(id) // own is not safe for several goroutines
				}
			}
			var wait sync.WaitGroup
			for w := range workers {
				part := row[len(row)*w/len(workers) : len(row)*(w+1)/len(workers)]
				wait.Go(func() {
					for chunk := range slices.Chunk(part, 16) {
						workers[w].warm(chunk)
						for _, id := range chunk {
							*r.sums.entry(id) = workers[w].node(id, nil)
						}
					}
				})
			}
			wait.Wait()
		}
		for _, unit := range r.units[uint32(level)] {
			workers[0].unit(unit)
		}
	}
}

// aside is the least number of targets of one level that several processors hash.
const aside = 512

// byLevel returns the targets of each level that are in no larger cycle, in
// order.
func (r *rehash) byLevel() [][]uint32 {
	levels := make([]uint32, len(r.ids))
	counts := make([]int, 0, 64)
	for i, id := range r.ids {
		level := int(*r.levels.entry(id))
		levels[i] = uint32(level)
		for level >= len(counts) {
			counts = append(counts, 0)
		}
		counts[level]++
	}
	rows, room := make([][]uint32, len(counts)), make([]uint32, len(r.ids))
	at := 0
	for level, n := range counts {
		rows[level] = room[at : at : at+n]
		at += n
	}
	for i, id := range r.ids {
		if len(r.member) == 0 || !r.member[id] {
			rows[levels[i]] = append(rows[levels[i]], id)
		}
	}
	return rows
}

// keepsLevels reports whether the present levels hold for the given targets,
// the only ones with other dependencies than before; new targets get their
// levels. Then no other target needs another level, and there are no cycles.
func (r *rehash) keepsLevels(seeds []uint32, up *vector[[]uint32]) bool {
	for _, id := range seeds {
		now := r.snap.recs.at(id)
		if now == nil {
			continue
		}
		below := uint32(0)
		for _, d := range now.deps {
			level := r.levels.at(d)
			if level == 0 && r.snap.recs.at(d) != nil {
				return false // a new target: its level is not known yet
			}
			if r.snap.recs.at(d) != nil {
				below = max(below, level)
			}
		}
		level := r.levels.at(id)
		if level == 0 {
			level = below + 1
			r.levels.set(id, level)
			for _, above := range up.at(id) {
				if r.snap.recs.at(above) != nil && r.levels.at(above) <= level {
					return false
				}
			}
		}
		if below >= level {
			return false
		}
	}
	return true
}
