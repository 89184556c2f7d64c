package predict

import (
	"math"
	"slices"
)

// maxBins is how many different values of a feature a cut can fall between.
// A feature with more values is cut at its quantiles; with fewer, trees are exact.
const maxBins = 1024

// pull is the demand of a row on a tree: its target times its weight, and its weight.
type pull struct{ sum, weight float64 }

// bin sums the pulls of the rows of a node that have one value of a feature.
type bin struct {
	pull
	rows int
}

// scale is the division of one feature into bins, in the order of its values.
// The bin after the last holds the rows without a value.
type scale struct {
	bins      []uint16  // by row
	low, high []float64 // by bin: its least and its greatest value
	at        int       // of the first bin in a node's list of all features
}

// grower fits least-squares regression trees (Breiman, Friedman, Olshen, Stone,
// Classification and Regression Trees, 1984, section 8.4) by sums per value of
// each feature. Of two children only the smaller is summed; the other is the difference
// from the parent.
type grower struct {
	scales  []scale
	sums    [][]bin // a list of all bins for each node of the widest level
	spare   []uint32
	depth   int
	minLeaf int
}

func newGrower(cols [][]float64, depth, minLeaf int) *grower {
	g := &grower{depth: depth, minLeaf: minLeaf, spare: make([]uint32, len(cols[0]))}
	total := 0
	for _, col := range cols {
		s := newScale(col)
		s.at = total
		total += len(s.low) + 1
		g.scales = append(g.scales, s)
	}
	for range 1 << (treeDepth - 1) {
		g.sums = append(g.sums, make([]bin, total))
	}
	return g
}

func newScale(col []float64) scale {
	known := make([]float64, 0, len(col))
	for _, v := range col {
		if v == v {
			known = append(known, v)
		}
	}
	slices.Sort(known)
	values := 0
	for i := range known {
		if i == 0 || known[i] != known[i-1] {
			values++
		}
	}
	least := 1 // rows in a bin
	if values > maxBins {
		least = (len(known) + maxBins - 1) / maxBins
	}
	var s scale
	in := 0
	for i, v := range known {
		if i == 0 || v != known[i-1] && in >= least {
			s.low, s.high = append(s.low, v), append(s.high, v)
			in = 0
		}
		s.high[len(s.high)-1] = v
		in++
	}
	s.bins = make([]uint16, len(col))
	for i, v := range col {
		s.bins[i] = uint16(len(s.low))
		if v == v {
			b, _ := slices.BinarySearch(s.high, v)
			s.bins[i] = uint16(b)
		}
	}
	return s
}

// part is a node that is being grown.
type part struct {
	node  int
	rows  []uint32 // ascending
	total pull
	sums  []bin
}

// grow fits one tree to the pulls of some rows, with cuts in some features. The
// rows are put into another order. Of equally good cuts it takes the one in the earlier
// feature, and of these the lower one.
func (g *grower) grow(pulls []pull, rows []uint32, features []int) tree {
	t := stump()
	root := part{node: 1, rows: rows, total: sumOf(pulls, rows), sums: g.sums[0]}
	g.fill(root, pulls, features)
	level := []part{root}
	for depth := 1; len(level) > 0; depth++ {
		var next []part
		used := len(level)
		for _, p := range level {
			c := g.best(p, features)
			if c.num == 0 {
				t.settle(p.node, p.total)
				continue
			}
			t.feature[p.node], t.cut[p.node] = c.nodeFeature(), g.cutValue(c)
			low, high := g.divide(p, c, pulls)
			if depth == g.depth {
				t.settle(low.node, low.total)
				t.settle(high.node, high.total)
				continue
			}
			small, large := &low, &high
			if len(low.rows) > len(high.rows) {
				small, large = large, small
			}
			small.sums, large.sums = g.sums[used], p.sums
			used++
			g.fill(*small, pulls, features)
			g.subtract(large.sums, small.sums, features)
			next = append(next, low, high)
		}
		level = next
	}
	return t
}

func sumOf(pulls []pull, rows []uint32) (total pull) {
	for _, r := range rows {
		total.sum += pulls[r].sum
		total.weight += pulls[r].weight
	}
	return total
}

// settle gives all leaves under a node the mean of its rows.
func (t *tree) settle(node int, total pull) {
	first, last := node, node
	for first < 8 {
		first, last = 2*first, 2*last+1
	}
	for i := first; i <= last; i++ {
		t.leaf[i&7] = total.sum / total.weight
	}
}

// of returns the bins of one feature.
func (g *grower) of(sums []bin, feature int) []bin {
	s := &g.scales[feature]
	return sums[s.at : s.at+len(s.low)+1]
}

// fill sums the rows of a node by value. The loop is the hot one of training.
func (g *grower) fill(p part, pulls []pull, features []int) {
	for _, f := range features {
		bins, sums := g.scales[f].bins, g.of(p.sums, f)
		clear(sums)
		for _, r := range p.rows {
			b, ask := &sums[bins[r]], &pulls[r]
			b.sum += ask.sum
			b.weight += ask.weight
			b.rows++
		}
	}
}

func (g *grower) subtract(from, sums []bin, features []int) {
	for _, f := range features {
		from, sums := g.of(from, f), g.of(sums, f)
		for i := range from {
			from[i].sum -= sums[i].sum
			from[i].weight -= sums[i].weight
			from[i].rows -= sums[i].rows
		}
	}
}

// candidate is a cut of one node. Its gain in squared error is num/den over the
// node's weight; it is kept as a fraction, so that candidates are compared without a
// division.
type candidate struct {
	num, den    float64
	feature     int
	below, from int // the greatest bin that goes low and the least that goes high
	missingLow  bool
}

// best returns the cut of a node that lowers the squared error most; its num is
// 0 if none does.
func (g *grower) best(p part, features []int) candidate {
	best := candidate{den: 1}
	if len(p.rows) < 2*g.minLeaf {
		return best
	}
	for _, f := range features {
		bins := g.of(p.sums, f)
		missing := bins[len(bins)-1]
		best.scan(g, p, f, bins, bin{})
		if missing.rows > 0 {
			best.scan(g, p, f, bins[:len(bins)-1], missing)
		}
	}
	return best
}

// scan weighs all cuts between bins, with some rows low beforehand.
func (c *candidate) scan(g *grower, p part, feature int, bins []bin, low bin) {
	var (
		before, total = low.rows, len(p.rows)
		below         = -1
		num, den      = c.num, c.den
	)
	for i := range bins {
		b := &bins[i]
		if b.rows == 0 {
			continue
		}
		if below >= 0 && low.rows >= g.minLeaf && total-low.rows >= g.minLeaf {
			d := low.sum*p.total.weight - p.total.sum*low.weight
			if n, m := d*d, low.weight*(p.total.weight-low.weight); n*den > num*m {
				num, den = n, m
				// If all rows have a value, a later row without one goes with the larger part.
				*c = candidate{n, m, feature, below, i, before > 0 || bins[len(bins)-1].rows == 0 && 2*low.rows >= total}
			}
		}
		below = i
		low.sum += b.sum
		low.weight += b.weight
		low.rows += b.rows
	}
}

func (c candidate) nodeFeature() uint8 {
	if c.missingLow {
		return uint8(c.feature)
	}
	return uint8(c.feature) | missingHigh
}

// cutValue returns the middle between the values on both sides of a cut; it is the
// largest number if the cut divides known values from missing ones.
func (g *grower) cutValue(c candidate) float64 {
	s := &g.scales[c.feature]
	if c.from == len(s.low) {
		return math.MaxFloat64
	}
	a, b := s.high[c.below], s.low[c.from]
	if mid := a/2 + b/2; mid >= a && mid < b {
		return mid
	}
	return a
}

// divide returns the two sides of a cut.
func (g *grower) divide(p part, c candidate, pulls []pull) (low, high part) {
	s := &g.scales[c.feature]
	last := uint16(c.below)
	missing := uint16(len(s.low))
	lows, highs := 0, 0
	for _, r := range p.rows {
		if b := s.bins[r]; b <= last || c.missingLow && b == missing {
			p.rows[lows] = r
			lows++
		} else {
			g.spare[highs] = r
			highs++
		}
	}
	copy(p.rows[lows:], g.spare[:highs])
	low = part{node: 2 * p.node, rows: p.rows[:lows]}
	high = part{node: 2*p.node + 1, rows: p.rows[lows:]}
	low.total, high.total = sumOf(pulls, low.rows), sumOf(pulls, high.rows)
	return low, high
}
