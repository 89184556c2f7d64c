package workers

import (
	"strings"
	"unicode/utf8"
)

// Bounds of the tails in results.
const (
	tailLines  = 40
	tailBytes  = 4 << 10
	tailsBytes = 64 << 10 // of all targets of one job together
)

// tail keeps the last lines that were added, at most tailLines and tailBytes.
type tail struct {
	lines []string
	size  int // bytes of lines, each with its newline
}

func (t *tail) add(line string) {
	line = lastBytes(line, tailBytes-1)
	t.lines = append(t.lines, strings.Clone(line))
	t.size += len(line) + 1
	drop := 0
	for len(t.lines)-drop > tailLines || t.size > tailBytes {
		t.size -= len(t.lines[drop]) + 1
		drop++
	}
	if drop > 0 {
		t.lines = append(t.lines[:0], t.lines[drop:]...)
	}
}

func (t *tail) String() string { return strings.Join(t.lines, "\n") }

// lastBytes returns the end of s, at most n bytes and whole characters.
func lastBytes(s string, n int) string {
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
