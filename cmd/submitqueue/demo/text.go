package demo

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// clean makes hostile text fit for one line of a terminal: whatever could move
// the cursor, colour, or turn the direction of writing is a middle dot.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t', r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			return '·'
		}
		return r
	}, s)
}

// cells returns how many columns of a terminal a rune takes.
func cells(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// fit cleans s and makes it exactly n columns wide: padded, or cut with an ellipsis.
func fit(s string, n int) string {
	if n <= 0 {
		return ""
	}
	s = clean(s)
	used, cut, full := 0, 0, true
	for i, r := range s {
		w := cells(r)
		if used+w > n {
			full = false
			break
		}
		used, cut = used+w, i+utf8.RuneLen(r)
	}
	if full {
		return s + strings.Repeat(" ", n-used)
	}
	s = s[:cut]
	for used > n-1 {
		r, size := utf8.DecodeLastRuneInString(s)
		s, used = s[:len(s)-size], used-cells(r)
	}
	return s + "…" + strings.Repeat(" ", n-1-used)
}

// some lists at most n names.
func some(names []string, n int) string {
	if len(names) <= n {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:n], ", "), len(names)-n)
}

// count is a number of things, in words that fit it.
func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// megabytes is an amount of memory for people.
func megabytes(n int64) string { return fmt.Sprintf("%d MB", (n+500_000)/1_000_000) }
