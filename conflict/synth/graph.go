// Package synth makes large dependency graphs and changes of them, for
// benchmarks. The same arguments give the same graph on every machine.
//
// The shape is that of a large monorepo: 64 % of the nodes are source files
// and 36 % are rules, in 31 layers. A rule depends on its own files and on
// rules of lower layers, with a Zipf-like popularity: a few low-level
// libraries are below nearly everything, and most rules have few dependents.
// Of 1,000 changes of New(1_000_000, 6_400_000, 1) half affect up to 9 nodes,
// one in ten more than 62,000, one in a hundred more than 257,000, and the
// largest 297,000.
package synth

import (
	"strconv"
)

// layers is the depth of a graph: rules of one layer depend on lower ones.
const layers = 31

// Graph is a dependency graph without cycles: a node depends on nodes with
// smaller numbers only.
type Graph struct {
	off   []uint32 // where the dependencies of a node begin
	deps  []uint32
	rule  []bool
	texts string
	at    []uint32 // where the name of a node begins
}

// Len returns the number of nodes.
func (g *Graph) Len() int { return len(g.rule) }

// Edges returns the number of edges.
func (g *Graph) Edges() int { return len(g.deps) }

// Deps returns the nodes that a node depends on, ascending. The caller does not modify it.
func (g *Graph) Deps(node uint32) []uint32 { return g.deps[g.off[node]:g.off[node+1]] }

// Rule reports whether a node is a rule; the others are files.
func (g *Graph) Rule(node uint32) bool { return g.rule[node] }

// Name returns the unique name of a node, such as
// "//area017/team3/pkg004211:lib" and "//area017/team3/pkg004211:source_2.go".
func (g *Graph) Name(node uint32) string { return g.texts[g.at[node]:g.at[node+1]] }

// files returns the first of a rule's own files, which stand right before it.
func (g *Graph) files(rule uint32) uint32 {
	first := rule
	for first > 0 && !g.rule[first-1] {
		first--
	}
	return first
}

// New returns a graph with the given number of nodes and about the given
// number of edges.
func New(nodes, edges int, seed uint64) *Graph {
	r := source{seed}
	rules := max(layers, nodes*36/100)
	g := &Graph{rule: make([]bool, 0, nodes), off: make([]uint32, 1, nodes+1), deps: make([]uint32, 0, edges+edges/16)}
	ids := make([]uint32, 0, rules) // of the rules, by layer
	var from [layers + 1]int        // where a layer begins in ids
	files := max(0, nodes-rules)
	between := max(0, edges-files)
	var picked []uint32
	for i := range rules {
		layer := i * layers / rules
		if i == 0 || layer != (i-1)*layers/rules {
			from[layer] = i
		}
		own := share(files, i, rules)
		for range own {
			g.rule = append(g.rule, false)
			g.off = append(g.off, uint32(len(g.deps)))
		}
		picked = picked[:0]
		if layer > 0 {
			// The lowest layer has no rules below it; the other layers get its share.
			picked = g.pick(&r, picked, share(between, i-from[1], rules-from[1]), ids, from[:layer+1])
		}
		g.deps = append(g.deps, picked...)
		for k := range own {
			g.deps = append(g.deps, uint32(len(g.rule)-own+k))
		}
		ids = append(ids, uint32(len(g.rule)))
		g.rule = append(g.rule, true)
		g.off = append(g.off, uint32(len(g.deps)))
	}
	g.name(&r)
	return g
}

// share is how many of n things the i-th of m gets.
func share(n, i, m int) int { return n*(i+1)/m - n*i/m }

// pick draws rules below a layer: one of the layer right below, which makes
// the depth, and the others from all of them. It returns them ascending.
func (g *Graph) pick(r *source, picked []uint32, n int, ids []uint32, from []int) []uint32 {
	layer := len(from) - 1
	from[layer] = max(from[layer], from[layer-1]+1)
	for try := 0; len(picked) < n && try < 4*n; try++ {
		below := layer - 1
		if try > 0 {
			below = int(float64(layer) * r.skewed(5))
		}
		lo, hi := from[below], from[below+1]
		id := ids[lo+int(float64(hi-lo)*r.skewed(5))]
		at := len(picked)
		for at > 0 && picked[at-1] > id {
			at--
		}
		if at > 0 && picked[at-1] == id {
			continue
		}
		picked = append(picked, 0)
		copy(picked[at+1:], picked[at:])
		picked[at] = id
	}
	return picked
}

// name names the nodes: packages are spread over the areas whatever their layer.
func (g *Graph) name(r *source) {
	texts := make([]byte, 0, g.Len()*38)
	g.at = make([]uint32, 1, g.Len()+1)
	var prefix []byte
	pkg := 0
	for node, fresh := 0, true; node < g.Len(); node++ {
		if fresh {
			place := r.next()
			prefix = append(prefix[:0], "//area"...)
			prefix = padded(prefix, int(place%400), 3)
			prefix = append(prefix, "/team"...)
			prefix = padded(prefix, int(place>>32%20), 2)
			prefix = append(prefix, "/pkg"...)
			prefix = padded(prefix, pkg, 6)
			pkg++
			fresh = false
		}
		texts = append(texts, prefix...)
		if g.rule[node] {
			texts = append(texts, ":lib"...)
			fresh = true
		} else {
			texts = append(texts, ":source_"...)
			texts = strconv.AppendInt(texts, int64(node%10), 10)
			texts = append(texts, ".go"...)
		}
		g.at = append(g.at, uint32(len(texts)))
	}
	g.texts = string(texts)
}

func padded(b []byte, n, width int) []byte {
	for limit := 10; width > 1; width, limit = width-1, limit*10 {
		if n < limit {
			b = append(b, '0')
		}
	}
	return strconv.AppendInt(b, int64(n), 10)
}

// Dependents returns the reverse rows of a graph: nodes[off[i]:off[i+1]]
// depend on node i.
func (g *Graph) Dependents() (off, nodes []uint32) {
	off = make([]uint32, g.Len()+1)
	for _, d := range g.deps {
		off[d+1]++
	}
	for i := range g.Len() {
		off[i+1] += off[i]
	}
	at := make([]uint32, g.Len())
	copy(at, off)
	nodes = make([]uint32, len(g.deps))
	for i := range g.Len() {
		for _, d := range g.Deps(uint32(i)) {
			nodes[at[d]] = uint32(i)
			at[d]++
		}
	}
	return off, nodes
}

// source is SplitMix64: the same numbers everywhere and for ever.
type source struct{ state uint64 }

func (s *source) next() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below returns a number in [0, n).
func (s *source) below(n int) int { return int(s.next() % uint64(n)) }

// unit returns a number in [0, 1).
func (s *source) unit() float64 { return float64(s.next()>>11) / (1 << 53) }

// skewed returns a number in [0, 1), near 0 the more often the higher the power.
func (s *source) skewed(power int) float64 {
	u := s.unit()
	x := u
	for range power - 1 {
		x *= u
	}
	return x
}
