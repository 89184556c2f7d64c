package web

import (
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// tall is the sketch for narrow screens: one box below the other, main on top, and the
// arrows beside them. It has the boxes of the wide sketch.
type tall struct {
	Width, Height int
	Main          box
	Boxes         []tallBox
	Arrows        []string // paths
}

// tallBox is a box with room for two lines of title.
type tallBox struct {
	box
	Second string
}

// Measures of the tall sketch, in units of the SVG picture.
const (
	tallWidth  = 340
	tallGutter = 58 // of the arrows
	tallBar    = 266
	tallHeight = 64
	tallGap    = 12
	tallTitle  = 36 // columns of a line
)

// newTall places the boxes of a sketch one below the other. titles are the uncut titles
// of its changes, and direct the changes that each has an arrow to.
func newTall(s *sketch, titles map[string]string, direct map[queue.ChangeID][]queue.ChangeID) tall {
	t := tall{Width: tallWidth, Main: s.Main}
	t.Main.X, t.Main.Y = tallGutter, margin
	middle := func(i int) int { // main is -1
		if i < 0 {
			return margin + boxHeight/2
		}
		return margin + boxHeight + tallGap + i*(tallHeight+tallGap) + tallHeight/2
	}
	at := map[queue.ChangeID]int{}
	for i, b := range s.Boxes {
		id := queue.ChangeID(b.ID)
		at[id] = i
		b.X, b.Y, b.Progress = tallGutter, middle(i)-tallHeight/2, b.Progress*tallBar/barWidth
		one := tallBox{box: b}
		one.Title, one.Second = inTwo(titles[b.ID], tallTitle)
		t.Boxes = append(t.Boxes, one)
		to := []int{-1}
		if len(direct[id]) > 0 {
			to = to[:0]
			for _, ahead := range direct[id] {
				to = append(to, at[ahead])
			}
		}
		for _, j := range to {
			out := tallGutter - min(tallGutter-4, 14+6*(i-j))*4/3 // a Bézier curve reaches three quarters of the way to its handles
			t.Arrows = append(t.Arrows, fmt.Sprintf("M%d %d C%d %d %d %d %d %d", tallGutter, middle(i), out, middle(i), out, middle(j), tallGutter-4, middle(j)))
		}
	}
	t.Height = middle(len(s.Boxes)-1) + tallHeight/2 + margin
	return t
}

// inTwo breaks a title into two lines of n columns, at a space where it has one. A rest
// that does not fit into the second line is cut.
func inTwo(title string, n int) (first, second string) {
	if clipTo(title, n) == title {
		return title, ""
	}
	for i, r := range title {
		if r != ' ' {
			continue
		}
		if head := title[:i]; clipTo(head, n) != head {
			break
		}
		first, second = title[:i], title[i+1:]
	}
	if strings.TrimSpace(first) == "" {
		first = strings.TrimSuffix(clipTo(title, n+1), "…") // the last of the n+1 columns is that of the dots
		second = title[len(first):]
	}
	return first, clipTo(second, n)
}
