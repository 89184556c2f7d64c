package web

import (
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// sketch is the order as a picture: main is on the left, and each change is a box with
// arrows to main or to the changes directly ahead of it. An arrow that follows from
// others (a is ahead of b, b of c) is left out; the table names all.
type sketch struct {
	Width, Height int
	Main          box
	Boxes         []box
	Arrows        []arrow
	Hidden        int // changes that did not fit
	Tall          tall
}

// box is one change, or main.
type box struct {
	ref
	X, Y     int
	Tone     string
	Label    string
	Title    string // cut to the box
	Full     string // on hover
	Progress int    // width of the bar
}

// arrow is a curve from a box to one ahead of it.
type arrow struct {
	Path string
	Tone string
}

// Measures of the sketch, in units of the SVG picture.
const (
	boxWidth   = 168
	barWidth   = 154
	boxHeight  = 46
	mainWidth  = 76
	gapX       = 54
	gapY       = 14
	margin     = 2
	mostBoxes  = 24
	mostRows   = 10
	titleWidth = 23
)

// newSketch returns the picture of a queue, or nil where there is nothing to
// draw.
func newSketch(d *directory, v queue.QueueView) *sketch {
	l := newLayout()
	s := &sketch{}
	titles := map[string]string{}
	for _, c := range v.Order {
		if c.Change.Phase == queue.Parked {
			continue
		}
		if len(s.Boxes) >= mostBoxes || !l.place(c) {
			l.hidden[c.Change.ID] = true
			s.Hidden++
			continue
		}
		chip := chipOf(c)
		b := box{
			ref: ref{Queue: d.queue, ID: string(c.Change.ID), Number: c.Change.Number, Mark: d.mark, Known: true}, Tone: chip.Tone, Label: chip.Label,
			Title: clipTo(titleOf(c.Change), titleWidth), Full: d.mark + count(c.Change.Number, "", "") + " " + titleOf(c.Change) + " (" + chip.Label + ")",
		}
		titles[b.ID] = titleOf(c.Change)
		at := l.cells[c.Change.ID]
		b.X, b.Y = left(at.col), top(at.row)
		for _, bar := range c.Builds {
			b.Progress = max(b.Progress, barOf(bar, d.now).Value*barWidth/100)
		}
		s.Boxes = append(s.Boxes, b)
		for _, to := range l.direct[c.Change.ID] {
			s.Arrows = append(s.Arrows, arrow{Path: curve(at, l.cells[to]), Tone: chip.Tone})
		}
		if len(l.direct[c.Change.ID]) == 0 {
			s.Arrows = append(s.Arrows, arrow{Path: curve(at, cell{}), Tone: chip.Tone})
		}
	}
	if len(s.Boxes) == 0 {
		return nil
	}
	s.Main = box{X: margin, Y: top(0), Title: clipTo(clean(v.Main.Branch), 10), Label: short(v.Main.Tip), Tone: "calm"}
	for _, at := range l.cells {
		s.Width = max(s.Width, left(at.col)+boxWidth+margin)
		s.Height = max(s.Height, top(at.row)+boxHeight+margin)
	}
	s.Tall = newTall(s, titles, l.direct)
	return s
}

// cell is a place in the sketch's grid; column 0 is main's.
type cell struct{ col, row int }

// layout puts each change into a cell: one column to the right of the last change
// ahead, in the free row nearest to it. The cells that a change's arrows cross stay
// free.
type layout struct {
	cells  map[queue.ChangeID]cell
	before map[queue.ChangeID]map[queue.ChangeID]bool // all changes ahead, also through other changes
	direct map[queue.ChangeID][]queue.ChangeID
	taken  map[cell]bool
	hidden map[queue.ChangeID]bool // left out of the picture
}

func newLayout() *layout {
	return &layout{
		cells:  map[queue.ChangeID]cell{},
		before: map[queue.ChangeID]map[queue.ChangeID]bool{},
		direct: map[queue.ChangeID][]queue.ChangeID{},
		taken:  map[cell]bool{},
		hidden: map[queue.ChangeID]bool{},
	}
}

// place finds a cell for the next change of the order, and reports false where
// there is none.
func (l *layout) place(v queue.View) bool {
	var ahead []queue.ChangeID // the changes ahead that are in the picture
	for _, id := range v.Ahead {
		if l.hidden[id] {
			return false // behind something that did not fit
		}
		if _, ok := l.cells[id]; ok {
			ahead = append(ahead, id)
		}
	}
	all := map[queue.ChangeID]bool{}
	for _, id := range ahead {
		all[id] = true
		for b := range l.before[id] {
			all[b] = true
		}
	}
	var direct []queue.ChangeID
	for _, id := range ahead {
		implied := false
		for _, other := range ahead {
			implied = implied || l.before[other][id]
		}
		if !implied {
			direct = append(direct, id)
		}
	}
	at, first := cell{col: 1}, 0
	for i, id := range direct {
		c := l.cells[id]
		if i == 0 || c.col < first {
			first = c.col
		}
		if c.col >= at.col {
			at = cell{c.col + 1, c.row}
		}
	}
	row, ok := l.row(at, first)
	if !ok {
		return false
	}
	at.row = row
	for col := first + 1; col <= at.col; col++ {
		l.taken[cell{col, row}] = true
	}
	id := v.Change.ID
	l.cells[id], l.before[id], l.direct[id] = at, all, direct
	return true
}

// row returns the row nearest to the wanted one that is free from the column after
// `first` up to the wanted column.
func (l *layout) row(want cell, first int) (int, bool) {
	for off := range mostRows {
		for _, row := range []int{want.row + off, want.row - off} {
			if row < 0 || row >= mostRows {
				continue
			}
			free := true
			for col := first + 1; col <= want.col; col++ {
				free = free && !l.taken[cell{col, row}]
			}
			if free {
				return row, true
			}
		}
	}
	return 0, false
}

func left(col int) int {
	if col == 0 {
		return margin
	}
	return margin + mainWidth + gapX + (col-1)*(boxWidth+gapX)
}

func top(row int) int { return margin + row*(boxHeight+gapY) }

// curve returns the path of an arrow: along the row of the box that it comes from, then
// bent to the box that it points at.
func curve(from, to cell) string {
	width := boxWidth
	if to.col == 0 {
		width = mainWidth
	}
	x1, y1 := left(from.col), top(from.row)+boxHeight/2
	x2, y2 := left(to.col)+width+4, top(to.row)+boxHeight/2
	bend := left(to.col + 1) // where the gap behind the target ends
	mid := (bend + x2) / 2
	return fmt.Sprintf("M%d %d H%d C%d %d %d %d %d %d", x1, y1, bend, mid, y1, mid, y2, x2, y2)
}
