package web

import (
	"net/url"
	"strings"
	"unicode"
)

// clean makes one line of hostile text harmless to read: without control characters,
// and without characters that change the direction of the text after them. The
// templates escape HTML.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case unicode.IsControl(r), turnsAround(r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// turnsAround reports whether a character changes the direction of text.
func turnsAround(r rune) bool {
	return r == '\u061C' || r == '\u200E' || r == '\u200F' || r >= '\u202A' && r <= '\u202E' || r >= '\u2066' && r <= '\u2069'
}

// safeURL returns a link to a page on the web, and "" for anything else.
func safeURL(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return u.String()
}

// short returns the beginning of an object id, as long as people write it.
func short[T ~string](id T) string { return string(id[:min(len(id), 8)]) }

// clipTo returns s cut to n columns, where wide characters take two.
func clipTo(s string, n int) string {
	width := 0
	for i, r := range s {
		w := 1
		if wide(r) {
			w = 2
		}
		if width+w > n {
			return strings.TrimRight(s[:lastFit(s[:i])], " ") + "…"
		}
		width += w
	}
	return s
}

// lastFit returns where to cut so that the ellipsis fits too.
func lastFit(s string) int {
	last := 0
	for i := range s {
		last = i
	}
	return last
}

// wide reports whether most fonts draw a character two columns wide.
func wide(r rune) bool {
	return r >= 0x1100 && (r <= 0x115F || r >= 0x2E80 && r <= 0xA4CF || r >= 0xAC00 && r <= 0xD7A3 ||
		r >= 0xF900 && r <= 0xFAFF || r >= 0xFE30 && r <= 0xFE6F || r >= 0xFF00 && r <= 0xFF60 || r >= 0x1F300 && r <= 0x1FAFF)
}
