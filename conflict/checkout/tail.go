package checkout

import (
	"strings"
	"unicode"
)

// Bounds of the end of standard error that is kept.
const (
	tailBytes = 16 << 10 // of the program's
	tailLines = 12       // for people
	tailText  = 2 << 10
)

// tail keeps the last bytes that are written to it.
type tail struct{ end []byte }

func (t *tail) Write(p []byte) (int, error) {
	t.end = append(t.end, p[max(len(p)-tailBytes, 0):]...)
	if over := len(t.end) - tailBytes; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

// String returns the last lines, fit to print.
func (t *tail) String() string {
	lines := strings.Split(strings.TrimRight(string(t.end), "\n\r "), "\n")
	lines = lines[max(len(lines)-tailLines, 0):]
	for i := range lines {
		lines[i] = Printable(lines[i])
	}
	text := strings.Join(lines, "\n")
	if over := len(text) - tailText; over > 0 {
		text = "…" + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// Printable returns a line without characters that a terminal or a page would
// not show as they are: control characters, direction overrides, invalid bytes.
func Printable(line string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u2028', r == '\u2029':
			return -1
		}
		return r
	}, strings.ToValidUTF8(line, "\uFFFD"))
}
