package print

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"
)

// MostColumns is the greatest width of a line, also where there is room for more.
const MostColumns = 100

// Columns returns how wide the lines that are written to a file may be.
func Columns(f *os.File) int {
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return min(w, MostColumns)
	}
	return MostColumns
}

// Sheet prints for people. No line of a table is wider than its width.
type Sheet struct {
	Out   io.Writer
	Width int
	Now   time.Time
}

// Line prints one line, cut to the width.
func (p Sheet) Line(s string) {
	fmt.Fprintln(p.Out, Clip(strings.TrimRight(OneLine(s), " "), p.Width))
}

// Text prints a paragraph, broken between words.
func (p Sheet) Text(s, indent string) { p.Hang(indent, s) }

// Hang prints a paragraph after a lead, and indents the following lines by the lead's width.
func (p Sheet) Hang(lead, s string) {
	indent := strings.Repeat(" ", Width(lead))
	line, empty := lead, true
	for _, word := range strings.Fields(OneLine(s)) {
		if !empty && Width(line)+1+Width(word) > p.Width {
			fmt.Fprintln(p.Out, line)
			line, empty = indent, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	if !empty {
		fmt.Fprintln(p.Out, line)
	}
}

// Clock returns a moment in the reader's zone; "" for none.
func (p Sheet) Clock(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(p.Now.Location())
	if t.Format(time.DateOnly) == p.Now.Format(time.DateOnly) {
		return t.Format("15:04:05 MST")
	}
	return t.Format("2 Jan 15:04:05 MST")
}

// Ago returns how long ago a moment was, roughly.
func (p Sheet) Ago(t time.Time) string {
	switch d := p.Now.Sub(t); {
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

// Stdout is a sheet on the standard output.
func Stdout() Sheet { return Sheet{Out: os.Stdout, Width: Columns(os.Stdout), Now: time.Now()} }
