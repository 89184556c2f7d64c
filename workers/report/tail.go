package report

import (
	"strings"
	"unicode/utf8"
)

// Bounds of the tails in results.
const (
	TailLines  = 40
	TailBytes  = 4 << 10
	tailsBytes = 64 << 10 // of all targets of one job together
)

// Tail keeps the last lines that were added, at most TailLines and TailBytes.
type Tail struct {
	lines []string
	size  int // bytes of lines, each with its newline
}

// Add adds a line.
func (t *Tail) Add(line string) {
	line = LastBytes(line, TailBytes-1)
	t.lines = append(t.lines, strings.Clone(line))
	t.size += len(line) + 1
	drop := 0
	for len(t.lines)-drop > TailLines || t.size > TailBytes {
		t.size -= len(t.lines[drop]) + 1
		drop++
	}
	if drop > 0 {
		t.lines = append(t.lines[:0], t.lines[drop:]...)
	}
}

// String returns the lines that are kept.
func (t *Tail) String() string { return strings.Join(t.lines, "\n") }

// LastBytes returns the end of s, at most n bytes and whole characters.
func LastBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	s = s[len(s)-n:]
	for i := 0; i < len(s) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}
