package conflict

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Snapshot has the data that the queue needs of one tree. It does not change
// once it is made, holds no reference to the tree, and shares unchanged parts
// with the snapshot that it was made from.
type Snapshot struct {
	Tree     queue.TreeID
	Analyzer string     // id of the analyzer
	Cycles   [][]string // targets that depend on themselves, each list sorted; they are hashed as one
	Unknown  string     // why the graph could not be computed; the one target is the whole tree then

	// Unread are the parts that could not be read, where other parts could;
	// each has one target.
	Unread []Unread

	// Provisional says that Unknown or Unread rests on more than the tree: caches of
	// snapshots do not keep this one.
	Provisional bool

	settings sum
	salt     sum
	barrier  []Entry // the files of the salt, sorted by path
	whole    bool    // the one target is the tree

	names *numbers
	recs  vector[*record] // by number; nil where there is no target
	sums  vector[sum]     // of targets, definition nodes and listings; zero where there is none
	level vector[uint32]  // of targets: above the levels of all targets that they depend on; the same within a cycle
	live  int             // targets
	size  int             // bytes that are not shared with the snapshot it was made from, roughly

	filing *filing // nil where it cannot be followed
	memo   any

	up struct {
		sync.Once
		vector[[]uint32] // the numbers that depend on a number
	}
	called struct {
		sync.Once
		targets map[string]string // alias → target
		aliases map[string]string // target → alias
	}
}

// wholeTree is the snapshot of a tree without a graph.
func wholeTree(tree queue.TreeID, id, unknown string) *Snapshot {
	s := &Snapshot{Tree: tree, Analyzer: id, Unknown: unknown, whole: true, live: 1,
		names: newNumbers([]string{config.TargetTree})}
	var f framer
	recs, sums := blank[*record](1), blank[sum](1)
	recs.set(0, &record{})
	sums.set(0, f.reset("whole2").text(string(tree)).done())
	s.recs, s.sums = recs.vector, sums.vector
	return s
}

// Size returns roughly how many bytes of memory would be free without the
// snapshot, while the one that it was made from is kept.
func (s *Snapshot) Size() int { return s.size }

// Len returns the number of nodes, internal ones included.
func (s *Snapshot) Len() int { return s.live }

// verifiable reports whether a number is a target that can be verified.
func (s *Snapshot) verifiable(id uint32) bool {
	r := s.recs.at(id)
	return r != nil && !r.internal
}

// hash returns the hash for keys: for a tree that is one target, the tree's id.
func (s *Snapshot) hash(id uint32) queue.Digest {
	if s.whole {
		return queue.Digest(s.Tree)
	}
	return s.sums.at(id).digest()
}

// targetsOf returns those of the numbers, sorted by number, that are targets,
// by name.
func (s *Snapshot) targetsOf(ids []uint32) []queue.TargetHash {
	list := s.names.all()
	var out []queue.TargetHash
	sorted := true
	for _, id := range ids {
		if s.verifiable(id) {
			sorted = sorted && id < s.names.sorted
			out = append(out, queue.TargetHash{Target: list[id], Hash: s.hash(id)})
		}
	}
	if !sorted {
		slices.SortFunc(out, func(a, b queue.TargetHash) int { return strings.Compare(a.Target, b.Target) })
	}
	return out
}

// nodes returns the numbers of all targets, in order.
func (s *Snapshot) nodes() []uint32 {
	ids := make([]uint32, 0, s.live)
	var none vector[*record]
	differing(&none, &s.recs, func(id uint32) {
		if s.recs.at(id) != nil {
			ids = append(ids, id)
		}
	})
	return ids
}

// Targets returns the targets that can be verified, sorted by name. The list is
// made when it is asked for: if each snapshot kept it, it would be most of the
// snapshot's size.
func (s *Snapshot) Targets() []queue.TargetHash { return s.targetsOf(s.nodes()) }

// Alias returns the name under which reports speak of a target, such as the
// import path of a Go package: the target's own name if it has no other.
func (s *Snapshot) Alias(target string) string {
	s.call()
	return cmp.Or(s.called.aliases[target], target)
}

// Aliases returns the target of each alias. The caller does not modify it.
func (s *Snapshot) Aliases() map[string]string {
	s.call()
	return s.called.targets
}

// call gathers the aliases. An alias that two targets share belongs to neither:
// a report under it could be taken for a result of either.
func (s *Snapshot) call() {
	s.called.Do(func() {
		targets, aliases := map[string]string{}, map[string]string{}
		list := s.names.all()
		for _, id := range s.nodes() {
			alias := s.recs.at(id).alias()
			if alias == "" || !s.verifiable(id) {
				continue
			}
			if other, twice := targets[alias]; twice {
				delete(aliases, other)
				targets[alias] = ""
				continue
			}
			targets[alias], aliases[list[id]] = list[id], alias
		}
		maps.DeleteFunc(targets, func(_, target string) bool { return target == "" })
		s.called.targets, s.called.aliases = targets, aliases
	})
}

// reverse returns the numbers that depend on each number.
func (s *Snapshot) reverse() *vector[[]uint32] {
	s.up.Do(func() {
		if s.up.blocks != nil {
			return
		}
		ids := s.nodes()
		counts := make([]uint32, len(s.names.all())+1)
		edges := 0
		for _, id := range ids {
			for _, d := range s.recs.at(id).deps {
				counts[d]++
				edges++
			}
		}
		slab := make([]uint32, edges)
		v := blank[[]uint32](len(counts))
		at := uint32(0)
		for id, n := range counts {
			if n > 0 {
				v.set(uint32(id), slab[at:at:at+n])
				at += n
			}
		}
		for _, id := range ids {
			for _, d := range s.recs.at(id).deps {
				list := v.own(d)
				*list = append(*list, id)
			}
		}
		s.up.vector = v.vector
	})
	return &s.up.vector
}

// sharing returns the snapshot, which cannot be followed, with a clone of its
// names.
func (s *Snapshot) sharing(n *numbers) *Snapshot {
	return &Snapshot{Tree: s.Tree, Analyzer: s.Analyzer, Cycles: s.Cycles, Unknown: s.Unknown, Unread: s.Unread, salt: s.salt,
		barrier: s.barrier, whole: s.whole, names: n, recs: s.recs, sums: s.sums, live: s.live}
}

// under returns the snapshot with the numbers of other names.
func (s *Snapshot) under(n *numbers) *Snapshot {
	out := &Snapshot{Tree: s.Tree, Analyzer: s.Analyzer, Cycles: s.Cycles, Unknown: s.Unknown, Unread: s.Unread, salt: s.salt,
		barrier: s.barrier, whole: s.whole, names: n, live: s.live}
	list := s.names.all()
	to := make([]uint32, len(list))
	for id, name := range list {
		to[id] = n.number(name)
	}
	renumber := func(ids []uint32) []uint32 {
		out := make([]uint32, len(ids))
		for i, id := range ids {
			out[i] = to[id]
		}
		return out
	}
	var recs draft[*record]
	var sums draft[sum]
	var none vector[sum]
	differing(&none, &s.sums, func(id uint32) {
		h := s.sums.at(id)
		if h == (sum{}) {
			return
		}
		sums.set(to[id], h)
		if r := s.recs.at(id); r != nil {
			fresh := *r
			fresh.deps = renumber(r.deps)
			if len(r.reads()) > 0 {
				more := *r.more
				more.reads = renumber(more.reads)
				fresh.more = &more
			}
			recs.set(to[id], &fresh)
		}
	})
	out.recs, out.sums = recs.vector, sums.vector
	return out
}
