package workers

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// clean makes one line of a program's output fit for logs and pages: valid
// UTF-8 without terminal escapes, control characters and direction overrides.
// Of a line that was overwritten by carriage returns it keeps the last state.
func clean(line string) string {
	line = strings.TrimRight(line, "\r\n")
	if i := strings.LastIndexByte(line, '\r'); i >= 0 {
		line = line[i+1:]
	}
	if plain(line) {
		return line
	}
	var b strings.Builder
	b.Grow(len(line))
	for i := 0; i < len(line); {
		if n := escape(line[i:]); n > 0 {
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(line[i:])
		if r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			b.WriteRune(r) // an invalid byte becomes U+FFFD
		}
		i += n
	}
	return b.String()
}

// plain says whether s is printable ASCII and tabs, as nearly all output is.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != '\t' && (c < ' ' || c > '~') {
			return false
		}
	}
	return true
}

// escape returns the length of the terminal escape that s begins with, or 0.
// One that does not end counts for its introducer only, so that it cannot
// swallow what follows.
func escape(s string) int {
	var body int
	var kind byte
	switch {
	case strings.HasPrefix(s, "\u009b"):
		body, kind = 2, '['
	case len(s) >= 2 && s[0] == 0x1b:
		body, kind = 2, s[1]
	default:
		return 0
	}
	switch kind {
	case '[': // control sequence: parameters, then one final byte
		for i := body; i < len(s); i++ {
			if s[i] >= 0x40 && s[i] <= 0x7e {
				return i + 1
			}
			if s[i] < 0x20 || s[i] > 0x7e {
				break
			}
		}
	case ']', 'P', '^', '_', 'X': // strings, until BEL or ESC \
		for i := body; i < len(s); i++ {
			if s[i] == 0x07 {
				return i + 1
			}
			if s[i] == 0x1b && i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
		}
	case '(', ')', '*', '+', '#', '%', ' ': // one more byte
		if len(s) > body && s[body] < utf8.RuneSelf {
			return body + 1
		}
	default:
		if kind >= utf8.RuneSelf {
			return 1
		}
	}
	return body
}
