package conflict_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// The definition of a conflict, three times: by footprints and the index; by
// the union graph of the SubmitQueue paper, step by step; and by its Equation
// 6, on graphs that were really merged and hashed.

// rounds is how often a property is tried: more with SUBMITQUEUE_SOAK set, fewer where
// SUBMITQUEUE_REQUIRE does not name "long".
func rounds(n int) int {
	switch {
	case os.Getenv("SUBMITQUEUE_SOAK") != "":
		return 50 * n
	case few():
		return n / 5
	}
	return n
}

func few() bool { return testing.Short() || !storetest.Required("long") }

// mustHaveSeen demands that a rare case was among what was drawn, unless few
// were.
func mustHaveSeen(t *testing.T, seen map[string]int, cases ...string) {
	t.Helper()
	t.Log(seen)
	for _, what := range cases {
		if seen[what] == 0 && !few() {
			t.Errorf("no case of: %s", what)
		}
	}
}

// randomState is a graph of up to seven names, phantoms and cycles included.
func randomState(r *rand.Rand) state {
	s := state{}
	for i := range 7 {
		if r.IntN(4) > 0 {
			s[fmt.Sprint("t", i)] = record{0, randomDeps(r)}
		}
	}
	return s
}

func randomDeps(r *rand.Rand) []string {
	var deps []string
	for range r.IntN(3) {
		deps = append(deps, fmt.Sprint("t", r.IntN(7)))
	}
	slices.Sort(deps)
	return slices.Compact(deps)
}

// randomEdit edits, adds, deletes and reverses.
func randomEdit(r *rand.Rand, s state) state {
	next := maps.Clone(s)
	for range 1 + r.IntN(2) {
		n := fmt.Sprint("t", r.IntN(7))
		old, there := next[n]
		switch k := r.IntN(8); {
		case k == 0:
			delete(next, n)
		case !there || k == 1:
			next[n] = record{r.IntN(3), randomDeps(r)}
		case k == 2 && len(old.deps) > 0: // reversed
			to := old.deps[r.IntN(len(old.deps))]
			next[n] = record{old.own, slices.DeleteFunc(slices.Clone(old.deps), func(d string) bool { return d == to })}
			if up, ok := next[to]; ok && !slices.Contains(up.deps, n) {
				deps := append(slices.Clone(up.deps), n)
				slices.Sort(deps)
				next[to] = record{up.own, deps}
			}
		case k == 3:
			deps := slices.Compact(slices.Sorted(slices.Values(append(slices.Clone(old.deps), fmt.Sprint("t", r.IntN(7))))))
			next[n] = record{old.own, deps}
		default:
			next[n] = record{1 + r.IntN(3), old.deps}
		}
	}
	return next
}

func (r record) equal(o record) bool { return r.own == o.own && slices.Equal(r.deps, o.deps) }

// mergedState is what git makes of changes that do not touch one record: each
// record as the one that changed it has it. It is not ok where two changed one
// record and not in the same way.
func mergedState(main state, changes ...state) (merged state, ok bool) {
	merged, ok = maps.Clone(main), true
	touched := map[string]bool{}
	for _, c := range changes {
		for n := range union(main, c) {
			was, had := main[n]
			is, has := c[n]
			if had == has && was.equal(is) {
				continue
			}
			now, there := merged[n]
			if touched[n] && (there != has || !now.equal(is)) {
				return nil, false
			}
			touched[n] = true
			delete(merged, n)
			if has {
				merged[n] = is
			}
		}
	}
	return merged, ok
}

func union(a, b state) map[string]bool {
	out := map[string]bool{}
	for n := range a {
		out[n] = true
	}
	for n := range b {
		out[n] = true
	}
	return out
}

func hashesOf(s *conflict.Snapshot) map[string]queue.Digest {
	out := map[string]queue.Digest{}
	for _, h := range s.Targets() {
		out[h.Target] = h.Hash
	}
	return out
}

// delta is the paper's δ: the pairs of name and hash that a tree has and main
// has not, a target that is gone with no hash.
func delta(main, change map[string]queue.Digest) map[queue.TargetHash]bool {
	out := map[queue.TargetHash]bool{}
	for n, h := range change {
		if main[n] != h {
			out[queue.TargetHash{Target: n, Hash: h}] = true
		}
	}
	for n := range main {
		if change[n] == "" {
			out[queue.TargetHash{Target: n}] = true
		}
	}
	return out
}

// unionGraph is Section 5.2 of the paper. Step 1: all nodes and edges of main
// and of both changes. Step 2: a node is tagged with a change that gives it
// another hash. Step 3: tags go from each node to those that depend on it, breadth
// first, as the union of graphs without cycles may have some. Step 4: they
// conflict when a node has both tags.
func unionGraph(main, i, j state) bool {
	rdeps := map[string]map[string]bool{}
	for _, g := range []state{main, i, j} {
		for n, r := range g {
			for _, d := range r.deps {
				if rdeps[d] == nil {
					rdeps[d] = map[string]bool{}
				}
				rdeps[d][n] = true
			}
		}
	}
	tags := map[string]int{}
	var todo []string
	tag := func(n string, t int) {
		if tags[n]|t != tags[n] {
			tags[n] |= t
			todo = append(todo, n)
		}
	}
	base := meaning(main)
	for t, g := range map[int]state{1: i, 2: j} {
		with := meaning(g)
		for n := range union(main, g) {
			if base[n] != with[n] {
				tag(n, t)
			}
		}
	}
	for len(todo) > 0 {
		n := todo[0]
		todo = todo[1:]
		for up := range rdeps[n] {
			tag(up, tags[n])
		}
	}
	return slices.Contains(slices.Collect(maps.Values(tags)), 3)
}

// meaning writes each target of a graph out with all that is below it.
func meaning(s state) map[string]string {
	out := map[string]string{}
	for n := range s {
		below := map[string]bool{}
		for todo := []string{n}; len(todo) > 0; {
			at := todo[0]
			todo = todo[1:]
			if !below[at] {
				below[at] = true
				todo = append(todo, s[at].deps...)
			}
		}
		for _, b := range slices.Sorted(maps.Keys(below)) {
			r, ok := s[b]
			out[n] += fmt.Sprint(b, ok, r.own, r.deps, ";")
		}
	}
	return out
}

// equation6 says that a pair conflicts unless what both change together is what
// each changes, and nothing else.
func equation6(t *testing.T, main, i, j state) bool {
	both, ok := mergedState(main, i, j)
	if !ok {
		return true
	}
	base := hashesOf(snapshotOf(t, main))
	one := delta(base, hashesOf(snapshotOf(t, i)))
	maps.Copy(one, delta(base, hashesOf(snapshotOf(t, j))))
	return !maps.Equal(one, delta(base, hashesOf(snapshotOf(t, both))))
}

// refined is the closed form without the names that both changes bring to the
// same hash, or both delete: identical hunks, as in a cherry-pick.
func refined(f, g queue.Footprint, i, j map[string]queue.Digest) bool {
	other := func(list []string) []string {
		return slices.DeleteFunc(slices.Clone(list), func(n string) bool {
			return slices.Contains(f.Write, n) && slices.Contains(g.Write, n) && i[n] == j[n]
		})
	}
	return meets(other(f.Write), g.Write) || meets(other(f.Read), g.Write) || meets(f.Write, other(g.Read))
}

// TestClosedFormAndEquation6: on any pair, the index says what the union graph
// says. It says conflict wherever Equation 6 does, and beyond that only where
// all that two changes share they bring to the same hash.
func TestClosedFormAndEquation6(t *testing.T) {
	seen := map[string]int{}
	for seed := range rounds(4000) {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		main := randomState(r)
		i, j := randomEdit(r, main), randomEdit(r, main)
		base, one, two := snapshotOf(t, main), snapshotOf(t, i), snapshotOf(t, j)
		f, g := conflict.FootprintOf(base, one, "m"), conflict.FootprintOf(base, two, "m")
		x := index.New()
		x.Put("i", f)
		x.Put("j", g)
		got := x.Conflict("i", "j")
		if want := unionGraph(main, i, j); got != want {
			t.Fatalf("seed %d: the closed form says %t, the union graph %t: %v | %v | %v", seed, got, want, main, i, j)
		}
		want := equation6(t, main, i, j)
		if fine := refined(f, g, hashesOf(one), hashesOf(two)); fine != want {
			t.Fatalf("seed %d: the refined form says %t, Equation 6 %t: %v | %v | %v", seed, fine, want, main, i, j)
		}
		if want && !got {
			t.Fatalf("seed %d: a conflict of Equation 6 is missed: %v | %v | %v", seed, main, i, j)
		}
		seen[fmt.Sprintf("closed form %t, Equation 6 %t", got, want)]++
		if both, ok := mergedState(main, i, j); ok {
			seen["cycle of two changes"] += ifTrue(len(snapshotOf(t, both).Cycles) > len(base.Cycles)+len(one.Cycles)+len(two.Cycles))
		}
		seen["missed by common names alone"] += ifTrue(want && !meets(f.Write, g.Write))
	}
	mustHaveSeen(t, seen, "closed form true, Equation 6 true", "closed form true, Equation 6 false", "closed form false, Equation 6 false",
		"cycle of two changes", "missed by common names alone")
}

func ifTrue(b bool) int {
	if b {
		return 1
	}
	return 0
}

func meets(a, b []string) bool {
	return slices.ContainsFunc(a, func(n string) bool { return slices.Contains(b, n) })
}

// TestIndependentOfAllIsIndependentOfTheSet: where each pair of a set is
// independent, each target of all of them together is as one of them has it, or
// as on main; and whoever of them lands, the footprints and hashes of the others
// stay what they were.
func TestIndependentOfAllIsIndependentOfTheSet(t *testing.T) {
	seen := map[string]int{}
	for seed := range rounds(8000) {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		main := randomState(r)
		base := snapshotOf(t, main)
		x := index.New()
		var set []state
		var prints []queue.Footprint
		for range 6 { // those that are independent of all before them
			c := randomEdit(r, main)
			f := conflict.FootprintOf(base, snapshotOf(t, c), "m")
			id := queue.ChangeID(fmt.Sprint(len(set)))
			if x.Put(id, f); len(f.Write) == 0 || len(x.Conflicts(id)) > 0 {
				x.Remove(id)
				continue
			}
			set, prints = append(set, c), append(prints, f)
		}
		seen[fmt.Sprint(len(set), " independent")]++
		all, ok := mergedState(main, set...)
		if !ok {
			t.Fatalf("seed %d: independent changes do not merge: %v | %v", seed, main, set)
		}
		known := map[queue.TargetHash]bool{}
		for _, s := range append(slices.Clone(set), main) {
			for _, h := range snapshotOf(t, s).Targets() {
				known[h] = true
			}
		}
		for _, h := range snapshotOf(t, all).Targets() {
			if !known[h] {
				t.Fatalf("seed %d: %s together is what nobody has built: %v | %v", seed, h.Target, main, set)
			}
		}
		for i, landed := range set {
			for j, other := range set {
				if i == j {
					continue
				}
				both, _ := mergedState(main, landed, other)
				now, then := snapshotOf(t, both), hashesOf(snapshotOf(t, other))
				f := conflict.FootprintOf(snapshotOf(t, landed), now, "m")
				if fmt.Sprint(f) != fmt.Sprint(prints[j]) {
					t.Fatalf("seed %d: the footprint of %d was %+v and is %+v after %d: %v | %v", seed, j, prints[j], f, i, main, set)
				}
				for _, n := range f.Affected {
					if hashesOf(now)[n] != then[n] {
						t.Fatalf("seed %d: %s of %d has moved with %d: %v | %v", seed, n, j, i, main, set)
					}
				}
			}
		}
	}
	mustHaveSeen(t, seen, "2 independent", "3 independent", "4 independent")
}

// TestThreeChangesByHash: where the index of three changes calls two of them
// independent, no target of all three is what no build of fewer has seen.
func TestThreeChangesByHash(t *testing.T) {
	seen := map[string]int{}
	for seed := range rounds(6000) {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		main := randomState(r)
		base := snapshotOf(t, main)
		a, b, c := randomEdit(r, main), randomEdit(r, main), randomEdit(r, main)
		without, with := index.New(), index.New()
		for id, s := range map[queue.ChangeID]state{"a": a, "b": b, "c": c} {
			f := conflict.FootprintOf(base, snapshotOf(t, s), "m")
			if with.Put(id, f); id != "a" {
				without.Put(id, f)
			}
		}
		all, ok := mergedState(main, a, b, c)
		if !ok {
			seen["clash"]++
			continue
		}
		known := map[queue.TargetHash]bool{}
		for _, set := range [][]state{{}, {a}, {b}, {c}, {a, b}, {a, c}} {
			s, _ := mergedState(main, set...)
			for _, h := range snapshotOf(t, s).Targets() {
				known[h] = true
			}
		}
		fresh := ""
		for _, h := range snapshotOf(t, all).Targets() {
			if !known[h] {
				fresh = h.Target
			}
		}
		if fresh != "" && !with.Conflict("b", "c") {
			t.Fatalf("seed %d: %s of all three was never built: %v | %v | %v | %v", seed, fresh, main, a, b, c)
		}
		if !without.Conflict("b", "c") && with.Conflict("b", "c") {
			seen["a makes b and c conflict"]++
			seen["and rightly so"] += ifTrue(fresh != "")
		}
		seen["b and c stay independent"] += ifTrue(!with.Conflict("b", "c"))
	}
	mustHaveSeen(t, seen, "a makes b and c conflict", "and rightly so", "b and c stay independent")
}
