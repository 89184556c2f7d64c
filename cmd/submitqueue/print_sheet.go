package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// mostColumns is how wide a line is where there is room for more.
const mostColumns = 100

// columnsOf returns how wide lines to a file may be.
func columnsOf(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return min(w, mostColumns)
	}
	return mostColumns
}

// Sheet prints for people. No line of a table is wider than its width.
type Sheet struct {
	out   io.Writer
	width int
	now   time.Time
}

// line prints one line, cut to the width.
func (p Sheet) line(s string) {
	fmt.Fprintln(p.out, clip(strings.TrimRight(oneLine(s), " "), p.width))
}

// text prints a paragraph, broken between words.
func (p Sheet) text(s, indent string) { p.hang(indent, s) }

// hang prints a paragraph behind a lead, and indents what follows as much.
func (p Sheet) hang(lead, s string) {
	indent := strings.Repeat(" ", displayWidth(lead))
	line, empty := lead, true
	for _, word := range strings.Fields(oneLine(s)) {
		if !empty && displayWidth(line)+1+displayWidth(word) > p.width {
			fmt.Fprintln(p.out, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	if !empty {
		fmt.Fprintln(p.out, line)
	}
}

// clock returns a moment in the reader's zone; "" for none.
func (p Sheet) clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(p.now.Location())
	if t.Format(time.DateOnly) == p.now.Format(time.DateOnly) {
		return t.Format("15:04:05 MST")
	}
	return t.Format("2 Jan 15:04:05 MST")
}

// ago returns how long ago a moment was, roughly.
func (p Sheet) ago(t time.Time) string {
	switch d := p.now.Sub(t); {
	case t.IsZero():
		return ""
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", max(int(d/time.Second), 0))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", d/time.Hour)
	default:
		return fmt.Sprintf("%d days ago", d/(24*time.Hour))
	}
}

// grid prints rows in columns as wide as they need; the last is cut to the
// width, the first gives way before.
func (p Sheet) grid(rows [][]string, indent string) {
	const gap, least = 2, 24
	last := len(rows[0]) - 1
	widths := make([]int, last)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], displayWidth(oneLine(row[i])))
		}
	}
	room := p.width - displayWidth(indent) - least
	for _, w := range widths {
		room -= w + gap
	}
	if room < 0 {
		widths[0] = max(widths[0]+room, 12)
	}
	for _, row := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, w := range widths {
			cell := clip(oneLine(row[i]), w)
			b.WriteString(cell + strings.Repeat(" ", w-displayWidth(cell)+gap))
		}
		p.line(b.String() + row[last])
	}
}

// reasonsOf prints names with their reasons beside them, whole: a reason that
// is cut tells nothing.
func (p Sheet) reasonsOf(rows [][]string) {
	width := 0
	for _, r := range rows {
		width = max(width, min(displayWidth(oneLine(r[0])), 32))
	}
	for _, r := range rows {
		name := oneLine(r[0])
		lead := "  " + name + strings.Repeat(" ", max(0, width-displayWidth(name))+2)
		if r[1] == "" {
			p.line("  " + name)
			continue
		}
		p.hang(lead, r[1])
	}
}

// stdout is a sheet on the standard output.
func stdout() Sheet { return Sheet{out: os.Stdout, width: columnsOf(os.Stdout), now: time.Now()} }
