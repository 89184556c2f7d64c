package conflict

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// sum is a SHA-256. In memory hashes are kept as bytes, half the size of the
// hexadecimal form that leaves the package.
type sum [sha256.Size]byte

func (s sum) digest() queue.Digest { return queue.Digest(hex.EncodeToString(s[:])) }

// framer gathers fields, each preceded by its length, and lists, each preceded
// by its count, so that no two different inputs give the same bytes.
type framer struct{ buf []byte }

func (f *framer) reset(tag string) *framer {
	f.buf = f.buf[:0]
	return f.text(tag)
}

func (f *framer) count(n int) *framer {
	f.buf = binary.BigEndian.AppendUint64(f.buf, uint64(n))
	return f
}

func (f *framer) text(s string) *framer {
	f.count(len(s))
	f.buf = append(f.buf, s...)
	return f
}

func (f *framer) sum(s sum) *framer {
	f.count(len(s))
	f.buf = append(f.buf, s[:]...)
	return f
}

func (f *framer) texts(list []string) *framer {
	f.count(len(list))
	for _, s := range list {
		f.text(s)
	}
	return f
}

// entries adds files: where each is, what git says it is, and its content.
func (f *framer) entries(list []Entry) *framer {
	f.count(len(list))
	for i := range list {
		f.text(list[i].Path).text(list[i].Mode).text(list[i].OID)
	}
	return f
}

func (f *framer) done() sum { return sha256.Sum256(f.buf) }

// canonical returns the entries sorted and without repetitions.
func canonical(list []Entry) []Entry {
	byPath := func(a, b Entry) int { return strings.Compare(a.Path, b.Path) }
	if !slices.IsSortedFunc(list, byPath) {
		list = slices.Clone(list)
		slices.SortStableFunc(list, byPath)
	}
	return compact(list)
}

// canonicalNames returns the names sorted and without repetitions.
func canonicalNames(list []string) []string {
	if !slices.IsSorted(list) {
		list = slices.Clone(list)
		slices.Sort(list)
	}
	return compact(list)
}

// compact is slices.Compact that leaves its argument as it is.
func compact[E comparable](list []E) []E {
	for i := 1; i < len(list); i++ {
		if list[i] == list[i-1] {
			return slices.Compact(slices.Clone(list))
		}
	}
	return list
}

// node is a target with its hash.
type node struct {
	name     string
	hash     sum
	internal bool
	alias    string
	deps     []string // sorted
	reads    []string // sorted
}

// hasher computes the hashes of a graph: each over its own record and the
// hashes of its dependencies, so that a hash moves with everything below it.
type hasher struct {
	id    string // the analyzer's
	salt  sum
	nodes []node
	own   []sum // records without dependencies
	index map[string]int
	// Tarjan's algorithm
	order, low []int
	stack      []int
	onStack    []bool
	next       int
	cycles     [][]string
	frame      framer
}

// hashAll returns the nodes of a checked graph, sorted by name, and its cycles.
// Targets of a cycle are hashed as a unit: each moves with all of them.
func hashAll(id string, salt sum, targets []Target) ([]node, [][]string) {
	h := &hasher{id: id, salt: salt, nodes: make([]node, len(targets)), own: make([]sum, len(targets)),
		index: make(map[string]int, len(targets)), order: make([]int, len(targets)),
		low: make([]int, len(targets)), onStack: make([]bool, len(targets))}
	sorted := make([]*Target, len(targets))
	for i := range targets {
		sorted[i] = &targets[i]
	}
	slices.SortFunc(sorted, func(a, b *Target) int { return strings.Compare(a.Name, b.Name) })
	for i, t := range sorted {
		h.index[t.Name] = i
		h.nodes[i] = node{name: t.Name, internal: t.Internal, alias: t.Alias,
			deps: canonicalNames(t.Deps), reads: canonicalNames(t.Reads)}
		h.own[i] = h.frame.reset("tgt1").text(h.id).sum(h.salt).text(t.Kind).text(t.Name).
			text(string(t.Attrs)).entries(canonical(t.Sources)).entries(canonical(t.Inputs)).done()
	}
	for i := range h.nodes {
		if h.order[i] == 0 {
			h.visit(i)
		}
	}
	slices.SortFunc(h.cycles, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	return h.nodes, h.cycles
}

func (h *hasher) visit(i int) {
	h.next++
	h.order[i], h.low[i] = h.next, h.next
	h.stack = append(h.stack, i)
	h.onStack[i] = true
	for _, d := range h.nodes[i].deps {
		j, ok := h.index[d]
		switch {
		case !ok:
		case h.order[j] == 0:
			h.visit(j)
			h.low[i] = min(h.low[i], h.low[j])
		case h.onStack[j]:
			h.low[i] = min(h.low[i], h.order[j])
		}
	}
	if h.low[i] != h.order[i] {
		return
	}
	at := len(h.stack) - 1
	for h.stack[at] != i {
		at--
	}
	unit := h.stack[at:]
	for _, j := range unit {
		h.onStack[j] = false
	}
	h.hash(unit)
	h.stack = h.stack[:at]
}

// hash gives the members of a strongly connected component their hashes. All
// dependencies outside of it have theirs.
func (h *hasher) hash(unit []int) {
	if len(unit) == 1 {
		i := unit[0]
		h.nodes[i].hash = h.record(i, nil)
		if slices.Contains(h.nodes[i].deps, h.nodes[i].name) {
			h.cycles = append(h.cycles, []string{h.nodes[i].name})
		}
		return
	}
	unit = slices.Clone(unit)
	slices.Sort(unit) // nodes are sorted by name
	inside := make(map[int]bool, len(unit))
	names := make([]string, len(unit))
	for k, i := range unit {
		inside[i], names[k] = true, h.nodes[i].name
	}
	members := make([]sum, len(unit))
	for k, i := range unit {
		members[k] = h.record(i, inside)
	}
	h.frame.reset("cycle1").count(len(members))
	for _, m := range members {
		h.frame.sum(m)
	}
	whole := h.frame.done()
	for _, i := range unit {
		h.nodes[i].hash = h.frame.reset("member1").sum(whole).text(h.nodes[i].name).done()
	}
	h.cycles = append(h.cycles, names)
}

// record digests a target's own record with its dependencies: the hash of one
// that exists, the name alone of one that does not or that is in the same
// cycle.
func (h *hasher) record(i int, inside map[int]bool) sum {
	n := &h.nodes[i]
	h.frame.reset("deps1").sum(h.own[i]).count(len(n.deps))
	for _, d := range n.deps {
		j, ok := h.index[d]
		switch {
		case !ok:
			h.frame.text("MISSING").text(d)
		case inside[j] || j == i:
			h.frame.text("CYCLE").text(d)
		default:
			h.frame.text("HASH").text(d).sum(h.nodes[j].hash)
		}
	}
	return h.frame.done()
}
