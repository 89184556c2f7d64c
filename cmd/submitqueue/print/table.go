package print

import "strings"

// Table is the layout of rows, a line each. The columns are narrowed until they fit.
type Table struct {
	Head   []string
	Most   []int    // the most that each column takes
	Giving []Giving // which column is narrowed first, until all fit
}

// Giving says how far a column is narrowed. A column with no width is left out.
type Giving struct{ Column, Floor int }

// gap is how many columns stand between two cells.
const gap = 2

// Table prints rows under their head.
func (p Sheet) Table(t Table, rows [][]string) {
	rows = append([][]string{t.Head}, rows...)
	widths := t.widths(rows, p.Width)
	for _, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			if widths[i] > 0 {
				b.WriteString(pad(cell, widths[i]))
			}
		}
		p.Line(b.String())
	}
}

func (t Table) widths(rows [][]string, width int) []int {
	widths := make([]int, len(t.Head))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = min(max(widths[i], Width(OneLine(cell))), t.Most[i])
		}
	}
	over := -width - gap
	for _, w := range widths {
		over += w + gap
	}
	for _, g := range t.Giving {
		give := min(over, widths[g.Column]-g.Floor)
		if give <= 0 {
			continue
		}
		widths[g.Column] -= give
		over -= give
		if widths[g.Column] == 0 {
			over -= gap
		}
	}
	return widths
}

// pad is a cell, cut to its column, with the gap after it.
func pad(cell string, width int) string { return Fit(Clip(OneLine(cell), width), width+gap) }

// Grid prints rows in columns as wide as they need to be. The first column is narrowed
// where they do not fit, and the last one is cut to the width.
func (p Sheet) Grid(rows [][]string, indent string) {
	const least = 24
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], Width(OneLine(row[i])))
		}
	}
	room := p.Width - Width(indent) - least
	for _, w := range widths {
		room -= w + gap
	}
	if room < 0 {
		widths[0] = max(widths[0]+room, 12)
	}
	for _, row := range rows {
		line := indent
		for i, w := range widths {
			line += pad(row[i], w)
		}
		p.Line(line + row[last])
	}
}

// Reasons prints names with their reasons beside them. The reasons are never cut: a cut
// reason is of no use.
func (p Sheet) Reasons(rows [][]string) {
	width := 0
	for _, r := range rows {
		width = max(width, min(Width(OneLine(r[0])), 32))
	}
	for _, r := range rows {
		name := OneLine(r[0])
		if r[1] == "" {
			p.Line("  " + name)
			continue
		}
		p.Hang("  "+name+strings.Repeat(" ", max(0, width-Width(name))+gap), r[1])
	}
}
