package mirror

import (
	"bytes"
	"context"
	"slices"
	"sort"
)

// Size says how much text differs between two trees.
type Size struct {
	Added, Removed int // lines
	Hunks          int // places at which lines differ; a new file and one that is gone are one each
	Binaries       int // files that are not text, by git's rule
}

// Bounds of the files that are read to count lines.
const (
	sizeFiles  = 1000
	sizeBytes  = 16 << 20 // of all files together, before and after
	binaryLook = 8000     // bytes in which git looks for a zero
)

// Size counts the differences (Diff). ok is false if there are too many to read, or the
// mirror lacks a part of them. Submodules are not counted.
func (m *Objects) Size(ctx context.Context, deltas []Delta) (size Size, ok bool, err error) {
	if len(deltas) > sizeFiles {
		return Size{}, false, nil
	}
	var ids []string
	for _, d := range deltas {
		for _, side := range [2][2]string{{d.OldMode, d.Old}, {d.Mode, d.New}} {
			if side[1] != "" && side[0] != gitlink {
				ids = append(ids, side[1])
			}
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sizes, err := m.stat(ctx, ids)
	if err != nil {
		return Size{}, false, err
	}
	total := 0
	for _, s := range sizes {
		if total += s.size; s.kind == "" || total > sizeBytes {
			return Size{}, false, nil
		}
	}
	objects, err := m.read(ctx, ids...)
	if err != nil {
		return Size{}, false, err
	}
	text := map[string][]byte{}
	for i, o := range objects {
		text[ids[i]] = o.data
	}
	for _, d := range deltas {
		if d.OldMode == gitlink || d.Mode == gitlink || d.Old == d.New {
			continue
		}
		old, new := text[d.Old], text[d.New]
		if isBinary(old) || isBinary(new) {
			size.Binaries++
			continue
		}
		added, removed, hunks := diffLines(old, new)
		size.Added, size.Removed, size.Hunks = size.Added+added, size.Removed+removed, size.Hunks+hunks
	}
	return size, true, nil
}

const gitlink = "160000"

func isBinary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), binaryLook)], 0) >= 0
}

// diffLines counts the lines that a text gains and loses, and the places. Lines that
// occur once in each text are matched where they are in the same order, and so are equal
// lines next to them (patience diff, Bram Cohen). This sometimes counts a few lines more
// than the minimum.
func diffLines(old, new []byte) (added, removed, hunks int) {
	a, b := bytes.SplitAfter(old, []byte("\n")), bytes.SplitAfter(new, []byte("\n"))
	a, b = a[:len(a)-endless(a)], b[:len(b)-endless(b)]
	anchors := append(patience(a, b), [2]int{len(a), len(b)})
	x, y := 0, 0 // the lines before these have been compared
	for _, at := range anchors {
		if at[0] < x || at[1] < y {
			continue
		}
		for x < at[0] && y < at[1] && bytes.Equal(a[x], b[y]) {
			x, y = x+1, y+1
		}
		endX, endY := at[0], at[1]
		for endX > x && endY > y && bytes.Equal(a[endX-1], b[endY-1]) {
			endX, endY = endX-1, endY-1
		}
		if endX > x || endY > y {
			added, removed, hunks = added+endY-y, removed+endX-x, hunks+1
		}
		for x, y = at[0], at[1]; x < len(a) && y < len(b) && bytes.Equal(a[x], b[y]); {
			x, y = x+1, y+1
		}
	}
	return added, removed, hunks
}

// endless returns 1 if the last of the lines is empty, and so is not a line; else
// 0.
func endless(lines [][]byte) int {
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		return 1
	}
	return 0
}

// patience returns the places of lines that occur once in each text: the longest
// sequence that has the same order in both.
func patience(a, b [][]byte) [][2]int {
	type seen struct{ inA, inB, a, b int }
	lines := map[string]*seen{}
	at := func(line []byte) *seen {
		s := lines[string(line)]
		if s == nil {
			s = &seen{}
			lines[string(line)] = s
		}
		return s
	}
	for i, l := range a {
		s := at(l)
		s.inA, s.a = s.inA+1, i
	}
	for i, l := range b {
		s := at(l)
		s.inB, s.b = s.inB+1, i
	}
	var once []*seen // by place in a
	for i, l := range a {
		if s := lines[string(l)]; s.inA == 1 && s.inB == 1 && s.a == i {
			once = append(once, s)
		}
	}
	// This finds the longest run of these lines that is in order in b. ends has, by
	// length, the least end of a run of that length; before has the predecessor of each
	// line in its run.
	var ends []int
	before := make([]int, len(once))
	for i, s := range once {
		n := sort.Search(len(ends), func(k int) bool { return once[ends[k]].b > s.b })
		if before[i] = -1; n > 0 {
			before[i] = ends[n-1]
		}
		if n == len(ends) {
			ends = append(ends, i)
		} else {
			ends[n] = i
		}
	}
	var out [][2]int
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			out = append(out, [2]int{once[i].a, once[i].b})
		}
	}
	slices.Reverse(out)
	return out
}
