package print

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"
)

// Live reports whether a file is a terminal that understands control sequences.
func Live(f *os.File) bool { return term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" }

// Progress shows in one line of a terminal, drawn again each time, what is being done.
// Elsewhere it prints nothing.
type Progress struct {
	out  *os.File
	live bool
}

// NewProgress returns a Progress that has shown nothing yet.
func NewProgress(f *os.File) *Progress { return &Progress{f, Live(f)} }

// Live reports whether it draws on a terminal.
func (p *Progress) Live() bool { return p.live }

// Say shows a line in place of the one before.
func (p *Progress) Say(line string) {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[2K"+Clip(OneLine(line), Columns(p.out)))
	}
}

// Clear removes the line.
func (p *Progress) Clear() {
	if p.live {
		fmt.Fprint(p.out, "\r\x1b[2K")
	}
}

// Bar is a progress bar of n columns, in eighths of a column.
func Bar(progress float64, n int) string {
	eighths := int(max(0, min(1, progress))*float64(n*8) + 0.5)
	full, part := eighths/8, eighths%8
	s := strings.Repeat("█", full)
	if part > 0 {
		s += string([]rune(" ▏▎▍▌▋▊▉")[part])
		full++
	}
	return s + strings.Repeat("·", n-full)
}
