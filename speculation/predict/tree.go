package predict

import "math"

// maxFeatures is how many features a tree can tell apart: a node names its
// feature in seven bits; the eighth bit says where a missing value goes.
const maxFeatures = 127

const (
	treeDepth   = 3
	missingHigh = 128 // this bit of a node's feature: a missing value goes high
	noSplit     = 255 // everything goes low
)

// tree is a complete binary tree of depth three. Nodes 1 to 7 are in heap
// order; a value above the cut goes high, to child 2i+1. Leaf i-8 is node i.
// A node that does not split has the feature noSplit, and its leaves agree.
type tree struct {
	cut     [8]float64
	leaf    [8]float64
	feature [8]uint8
}

// stump returns a tree without a split that adds 0.
func stump() (t tree) {
	for i := range t.feature {
		t.feature[i] = noSplit
	}
	return t
}

// row is the input of trees. It has each feature's value twice: at f with the smallest
// number in place of a missing value, and at f|missingHigh with the largest. noSplit
// holds the smallest. Eight bits index it without a check.
type row [256]float64

// fill sets the row to the values of a case. len(x) <= maxFeatures.
func (r *row) fill(x []float64) {
	for f, v := range x {
		low, high := v, v
		if v != v {
			low, high = math.Inf(-1), math.Inf(1)
		}
		r[f], r[f|missingHigh] = low, high
	}
	r[noSplit] = math.Inf(-1)
}

// value returns the leaf that a row falls into. No step branches on the data.
func (t *tree) value(r *row) float64 {
	i := 1
	i = i<<1 | above(r[t.feature[i&7]], t.cut[i&7])
	i = i<<1 | above(r[t.feature[i&7]], t.cut[i&7])
	i = i<<1 | above(r[t.feature[i&7]], t.cut[i&7])
	return t.leaf[i&7]
}

func above(v, cut float64) int {
	if v > cut {
		return 1
	}
	return 0
}

// place returns the number of the leaf that row i of a table of columns falls
// into.
func (t *tree) place(cols [][]float64, i int) int {
	n := 1
	for range treeDepth {
		high := 0
		if f := t.feature[n&7]; f != noSplit {
			v := cols[f&^missingHigh][i]
			high = above(v, t.cut[n&7])
			if v != v && f&missingHigh != 0 {
				high = 1
			}
		}
		n = n<<1 | high
	}
	return n & 7
}

// scale multiplies every leaf.
func (t *tree) scale(by float64) {
	for i := range t.leaf {
		t.leaf[i] *= by
	}
}

// within reports whether no leaf is NaN or further from 0 than a limit.
func (t *tree) within(limit float64) bool {
	for _, v := range t.leaf {
		if !(math.Abs(v) <= limit) {
			return false
		}
	}
	return true
}
