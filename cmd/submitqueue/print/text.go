package print

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// OneLine makes hostile text fit for one line of a terminal. Characters that turn the
// direction of the text or that are invisible are removed. Characters that could move
// the cursor or change colours become question marks.
func OneLine(s string) string { return Clean(s, '?', -1) }

// Clean is OneLine with other marks: control replaces control characters, unseen
// replaces characters that turn the direction of the text or are invisible. A mark of
// -1 removes them.
func Clean(s string, control, unseen rune) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case unicode.IsControl(r):
			return control
		case unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp):
			return unseen
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Printable is OneLine for a text of several lines, such as a log: line ends and tabs
// stay.
func Printable(s string) string {
	var b strings.Builder
	for len(s) > 0 {
		i := strings.IndexAny(s, "\n\t")
		if i < 0 {
			i = len(s)
		}
		b.WriteString(OneLine(s[:i]))
		b.WriteString(s[i:min(i+1, len(s))])
		s = s[min(i+1, len(s)):]
	}
	return b.String()
}

// Counted is a number of things: 1 change, 2 changes.
func Counted(n int, what string) string { return Plural(n, what, what+"s") }

// Plural is Counted for words with another plural.
func Plural(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}

// Some lists the first names, and says how many more there are.
func Some(names []string, most int) string {
	if len(names) <= most {
		return OneLine(strings.Join(names, ", "))
	}
	return fmt.Sprintf("%s and %d more", OneLine(strings.Join(names[:most], ", ")), len(names)-most)
}

// Short is the beginning of an id, of at most n bytes.
func Short[T ~string](id T, n int) string { return string(id[:min(len(id), n)]) }

// Width returns how many columns a terminal gives to a text.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

func runeWidth(r rune) int {
	if unicode.In(r, unicode.Mn, unicode.Me) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// Clip cuts a text to n columns, with an ellipsis at its end.
func Clip(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	return strings.TrimRight(cut(s, n-1), " ") + "…"
}

// cut returns the beginning of a text that is at most n columns wide.
func cut(s string, n int) string {
	for i, r := range s {
		if n -= runeWidth(r); n < 0 {
			return s[:i]
		}
	}
	return s
}

// Fit makes a clean text exactly n columns wide: padded, or cut with an ellipsis.
func Fit(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if Width(s) > n {
		s = cut(s, n-1) + "…"
	}
	return s + strings.Repeat(" ", n-Width(s))
}

// LastLines returns the last lines of a log that are not empty and not the runner's own, as one
// line.
func LastLines(text string, n int) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "[submitqueue]") {
			lines = append(lines, line)
		}
	}
	return Clip(strings.Join(lines[max(0, len(lines)-n):], " | "), 300)
}
