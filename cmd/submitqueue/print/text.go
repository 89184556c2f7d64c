package print

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// OneLine and printable keep hostile text from speaking to the terminal.
func OneLine(s string) string { return strings.ReplaceAll(Printable(s), "\n", " ") }

func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp): // what turns the text around, and what nobody sees
			return -1
		case r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f):
			return r
		}
		return '?'
	}, s)
}

func Counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Width returns how many columns a terminal gives to a text.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Clip cuts a text to n columns.
func Clip(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if n -= runeWidth(r); n < 1 {
			break
		}
		b.WriteRune(r)
	}
	return strings.TrimRight(b.String(), " ") + "…"
}

// LastLines returns the last lines of a log that say something, as one.
func LastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[submitqueue]") {
			lines = append(lines, line)
		}
	}
	return Clip(strings.Join(lines[max(0, len(lines)-n):], " | "), 300)
}
