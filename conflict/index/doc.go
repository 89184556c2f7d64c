// Package index answers which pending changes conflict.
//
// # What a conflict is
//
// A change's footprint (queue.Footprint) holds the names that it writes and
// those that it newly reads. Two changes conflict when
//
//   - one of them is All and the other is not empty, or
//   - both write a name, or one writes a name that the other newly reads,
//     counted with the edges that all pending changes add (below), or
//   - they touch a common path and git has not yet merged the two (paths.go).
//
// A conflict has the first kind that holds and, as its reason, up to five names
// or paths: the first in alphabetical order.
//
// # Worked example
//
// Pairs of changes are not enough. On a main with targets T and U that do not
// depend on one another,
//
//	a adds the edge T → U    writes T, reads U
//	b edits U                writes U
//	c edits T                writes T
//
// b and c are independent, and each conflicts with a. The builds of b and c on
// top of a pass; yet T in main+a+b+c, with b's U below c's T, is in neither of
// them. The gate stops c there: that hash of T has never passed. The index
// announces it: as long as a is pending, b writes T as well, and b and c
// conflict.
//
//	x := index.New()
//	x.Put("b", queue.Footprint{Write: []string{"U"}})
//	x.Put("c", queue.Footprint{Write: []string{"T"}})
//	x.Conflict("b", "c") // false
//	x.Put("a", queue.Footprint{Write: []string{"T"}, Read: []string{"U"},
//		Edges: []queue.AddedEdge{{To: "U", Up: []string{"T"}}}})
//	x.Conflict("b", "c") // true
//	x.Conflicts("b")     // a: read-write [U]; c: target [T]
//
// So A'(c) is the set of names that c writes, closed over the edges that all
// pending changes add: a change that writes an edge's head influences all names
// above its tail. Edges of one change with the same upper part are one hub.
// Beyond 4,096 hubs of all pending changes together, A'(c) is only the names
// that c writes: the gate is enough.
//
// # How it is stored
//
// Names have numbers (internal/names). The names that a change writes are a
// column of a matrix of bits with one row for each name (internal/rows), and so
// are the names above the tails of a hub. A question reads the rows of the
// names that the change writes, 64 changes a word, and so costs the change's
// own size, however many changes are pending. The edges of third changes are
// not written into the columns; they are a set of hubs that each change reaches
// (overlay.go).
//
// # What it costs
//
// Measured by BenchmarkWorld on two busy cores: a graph of 1,000,000
// targets, 1,000 pending changes, 15.9 million names written by them, 23 % of
// the pairs in conflict; 96 MB with all names. Times in µs:
//
//	                       P50      P90      P99
//	names that it writes     9   22,351  260,197
//	Put                      5    1,312   12,340    mostly looking names up
//	With                     7      193      738
//	Conflicts               13      339      839    with five names for each
//	union graph of a pair 5,895   6,137    6,137    the paper's way
//
// The bit sets are our own. Against RoaringBitmap v2.30 on the same changes,
// roaring without any table of names, its numbers in the order of the names:
//
//	                                With P50    P90      P99   Conflicts P50    P90     P99
//	this package                         6.5    196      725            12      390   1,178
//	a roaring bitmap for each change   155.9    374    2,475           332    8,721  24,688
//	a roaring bitmap for each name       5.8 24,289  217,762
//
// Its bitmaps are smaller (14.5 MB of the 96, most of which are names and lists
// that either needs), but a set for each change is a loop over all changes, and
// most changes are small.
package index
