package sim

import "slices"

// Graph says which changes may conflict: changes that share a target, or all of them if
// their targets are not known.
type Graph struct {
	Earlier [][]int // by change: those that arrived before it, in order
	Later   [][]int // by change: those that arrive after it, in order
}

// NewGraph builds the graph of a world.
func NewGraph(w *World) *Graph {
	if w.Opaque {
		return newLine(w)
	}
	n := len(w.Changes)
	g := &Graph{Earlier: make([][]int, n), Later: make([][]int, n)}
	affecting := make([][]int, len(w.Targets))
	seen := make([]int, n)
	for i := range w.Changes {
		for _, t := range w.Changes[i].Targets {
			for _, j := range affecting[t] {
				if seen[j] != i+1 {
					seen[j] = i + 1
					g.Earlier[i] = append(g.Earlier[i], j)
				}
			}
			affecting[t] = append(affecting[t], i)
		}
		slices.Sort(g.Earlier[i])
		for _, j := range g.Earlier[i] {
			g.Later[j] = append(g.Later[j], i)
		}
	}
	return g
}

// newLine returns the graph in which every change conflicts with every other:
// one queue, without conflict analysis.
func newLine(w *World) *Graph {
	n := len(w.Changes)
	all := make([]int, n)
	g := &Graph{Earlier: make([][]int, n), Later: make([][]int, n)}
	for i := range all {
		all[i] = i
		g.Earlier[i], g.Later[i] = all[:i:i], all[i+1:]
	}
	return g
}
