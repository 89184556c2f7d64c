package predict

import (
	"math"
	"slices"
)

// missingRank is the rank of a missing value: after all others.
const missingRank = math.MaxUint32

// entry is one row in the order of one feature. Rows with equal values share a
// rank.
type entry struct{ row, rank uint32 }

// pull is what a row asks of a tree: its target times its weight, and its
// weight.
type pull struct{ sum, weight float64 }

// grower fits least-squares regression trees exactly (Breiman, Friedman,
// Olshen, Stone, Classification and Regression Trees, 1984, section 8.4): each
// cut between two different values of each feature is weighed. Every feature is
// sorted once; each level of a tree keeps the order by a stable partition.
type grower struct {
	cols    [][]float64
	sorted  [][]entry // by feature: all rows
	batch   [][]entry // by feature: the rows to learn from
	spare   [2][][]entry
	high    []uint8 // by row: the side it goes to in the partition under way
	depth   int
	minLeaf int
}

func newGrower(cols [][]float64, depth, minLeaf int) *grower {
	n := len(cols[0])
	g := &grower{cols: cols, high: make([]uint8, n), depth: depth, minLeaf: minLeaf}
	for _, col := range cols {
		list := make([]entry, n)
		for i := range list {
			list[i].row = uint32(i)
		}
		slices.SortStableFunc(list, func(a, b entry) int {
			switch va, vb := col[a.row], col[b.row]; {
			case va < vb || va == va && vb != vb:
				return -1
			case vb < va || vb == vb && va != va:
				return 1
			}
			return 0
		})
		rank := uint32(0)
		for i := range list {
			v := col[list[i].row]
			if i > 0 && v != col[list[i-1].row] {
				rank++
			}
			list[i].rank = rank
			if v != v {
				list[i].rank = missingRank
			}
		}
		g.sorted = append(g.sorted, list)
	}
	for s := range g.spare {
		g.spare[s] = make([][]entry, len(cols))
		for f := range cols {
			g.spare[s][f] = make([]entry, n)
		}
	}
	g.batch = g.sorted
	return g
}

// choose makes the rows with in[row] != 0 those to learn from, for the given
// features.
func (g *grower) choose(in []uint8, features []int) {
	if &g.batch[0] == &g.sorted[0] {
		g.batch = make([][]entry, len(g.cols))
	}
	for _, f := range features {
		if g.batch[f] == nil {
			g.batch[f] = make([]entry, len(g.sorted[f]))
		}
		kept, n := g.batch[f][:len(g.sorted[f])], 0
		for _, e := range g.sorted[f] {
			kept[n] = e
			n += int(in[e.row])
		}
		g.batch[f] = kept[:n]
	}
}

// part is a node under way: its rows in every list, and their sum and weight.
type part struct {
	node, from, to int
	total          pull
}

// grow fits one tree to pulls by row, with cuts in the given features. Two cuts
// that are equally good are settled for the earlier feature and the lower cut.
func (g *grower) grow(pulls []pull, features []int) *tree {
	t := &tree{}
	for i := range t.feature {
		t.feature[i] = noSplit
	}
	src := g.batch
	root := part{node: 1, to: len(src[features[0]])}
	for _, e := range src[features[0]] {
		root.total.sum += pulls[e.row].sum
		root.total.weight += pulls[e.row].weight
	}
	level := []part{root}
	for depth := 1; len(level) > 0; depth++ {
		var next []part
		for _, p := range level {
			c := g.best(src, p, pulls, features)
			if depth > g.depth || !c.found() {
				t.settle(p.node, p.total.sum/p.total.weight)
				continue
			}
			t.feature[p.node], t.cut[p.node] = c.nodeFeature(), g.cutValue(src, p, c)
			low, high := g.divide(src, p, c, pulls)
			next = append(next, low, high)
		}
		if depth < g.depth && len(next) > 0 {
			dst := g.spare[depth%2]
			for _, f := range features {
				for i := 0; i < len(next); i += 2 {
					partition(dst[f], src[f], next[i].from, next[i+1].to, g.high)
				}
			}
			src = dst
		} else {
			for _, p := range next {
				t.settle(p.node, p.total.sum/p.total.weight)
			}
			break
		}
		level = next
	}
	return t
}

// settle gives all leaves under a node one value.
func (t *tree) settle(node int, v float64) {
	lo, hi := node, node
	for lo < 8 {
		lo, hi = 2*lo, 2*hi+1
	}
	for i := lo; i <= hi; i++ {
		t.leaf[i&7] = v
	}
}

// candidate is a cut of one node. Its gain in squared error is num/den over the
// node's weight; a fraction, so that candidates are compared without a division.
type candidate struct {
	num, den   float64
	feature    int
	count      int // rows that go low among those with a value
	missingLow bool
}

func (c candidate) found() bool { return c.num > 0 }

func (c candidate) nodeFeature() uint8 {
	if c.missingLow {
		return uint8(c.feature)
	}
	return uint8(c.feature) | missingHigh
}

// best returns the cut of a node that lowers the squared error most.
func (g *grower) best(src [][]entry, p part, pulls []pull, features []int) candidate {
	best := candidate{den: 1}
	n := p.to - p.from
	if n < 2*g.minLeaf || n < 2 {
		return best
	}
	for _, f := range features {
		list := src[f][p.from:p.to]
		best.scan(list, pulls, p.total, f, g.minLeaf)
		if list[n-1].rank == missingRank {
			best.scanMissingLow(list, pulls, p.total, f, g.minLeaf)
		}
	}
	return best
}

// scan weighs all cuts of a sorted list. Missing values are the list's end and
// go high. The loop is the hot one of training.
func (c *candidate) scan(list []entry, pulls []pull, total pull, feature, minLeaf int) {
	var low pull
	for _, e := range list[:minLeaf-1] {
		low.sum += pulls[e.row].sum
		low.weight += pulls[e.row].weight
	}
	num, den, at := c.num, c.den, -1
	last := len(list) - minLeaf
	rank := list[minLeaf-1].rank
	for i := minLeaf - 1; i < last; i++ {
		e := pulls[list[i].row]
		low.sum += e.sum
		low.weight += e.weight
		before := rank
		rank = list[i+1].rank
		if rank == before {
			continue
		}
		d := low.sum*total.weight - total.sum*low.weight
		if n, m := d*d, low.weight*(total.weight-low.weight); n*den > num*m {
			num, den, at = n, m, i
		}
	}
	if at < 0 {
		return
	}
	*c = candidate{num: num, den: den, feature: feature, count: at + 1}
	// Where no row has a missing value here, one that comes later goes with the
	// larger part.
	if list[len(list)-1].rank != missingRank {
		c.missingLow = 2*c.count >= len(list)
	}
}

// scanMissingLow weighs the cuts with the missing values on the low side.
func (c *candidate) scanMissingLow(list []entry, pulls []pull, total pull, feature, minLeaf int) {
	known := len(list)
	var low pull
	for known > 0 && list[known-1].rank == missingRank {
		known--
		low.sum += pulls[list[known].row].sum
		low.weight += pulls[list[known].row].weight
	}
	missing := len(list) - known
	for i := 0; i+1 < known; i++ {
		e := pulls[list[i].row]
		low.sum += e.sum
		low.weight += e.weight
		if list[i].rank == list[i+1].rank || missing+i+1 < minLeaf || known-i-1 < minLeaf {
			continue
		}
		d := low.sum*total.weight - total.sum*low.weight
		if n, m := d*d, low.weight*(total.weight-low.weight); n*c.den > c.num*m {
			*c = candidate{num: n, den: m, feature: feature, count: i + 1, missingLow: true}
		}
	}
}

// cutValue returns the middle between the two values that a cut parts; the
// largest number where it parts known values from missing ones.
func (g *grower) cutValue(src [][]entry, p part, c candidate) float64 {
	list := src[c.feature][p.from:p.to]
	if list[c.count].rank == missingRank {
		return math.MaxFloat64
	}
	col := g.cols[c.feature]
	a, b := col[list[c.count-1].row], col[list[c.count].row]
	if mid := a/2 + b/2; mid >= a && mid < b {
		return mid
	}
	return a
}

// divide says for every row of a node which side it goes to, and returns the
// two parts.
func (g *grower) divide(src [][]entry, p part, c candidate, pulls []pull) (low, high part) {
	low, high = part{node: 2 * p.node, from: p.from}, part{node: 2*p.node + 1, to: p.to}
	n := 0
	for i, e := range src[c.feature][p.from:p.to] {
		if i < c.count || c.missingLow && e.rank == missingRank {
			g.high[e.row] = 0
			low.total.sum += pulls[e.row].sum
			low.total.weight += pulls[e.row].weight
			n++
		} else {
			g.high[e.row] = 1
			high.total.sum += pulls[e.row].sum
			high.total.weight += pulls[e.row].weight
		}
	}
	low.to, high.from = p.from+n, p.from+n
	return low, high
}

// partition copies [from,to) of a list with the rows that go low first and the
// order kept. It writes each entry to one of two places without a branch.
func partition(dst, src []entry, from, to int, high []uint8) {
	lows := 0
	for _, e := range src[from:to] {
		lows += 1 - int(high[e.row])
	}
	at := [2]int{from, from + lows}
	for _, e := range src[from:to] {
		side := high[e.row] & 1
		dst[at[side]] = e
		at[side]++
	}
}
