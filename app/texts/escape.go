package texts

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
)

// OneLine makes hostile text one line of visible characters, cut to most runes.
// Nothing in it opens an HTML comment, so it cannot forge a Marker.
func OneLine(s string, most int) string {
	s = strings.Join(strings.Fields(visible(s)), " ")
	if r := []rune(s); len(r) > most {
		s = strings.TrimRight(string(r[:most-1]), " ") + "…"
	}
	return s
}

// visible drops characters that are invisible or turn the direction of the text after
// them, and spoils the beginning of HTML comments. Line breaks and tabs stay.
func visible(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\u2028' || r == '\u2029' || r == '\u0085':
			return '\n'
		case unicode.IsControl(r):
			return -1
		case r == '\u061C', r == '\u200B', r == '\u200E', r == '\u200F', r == '\uFEFF',
			r >= '\u202A' && r <= '\u202E', r >= '\u2060' && r <= '\u2069':
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.ReplaceAll(s, "<!--", "‹!--")
}

// codeSpan shows hostile text as Markdown code on one line: in it nothing is
// markup, a mention or a reference.
func codeSpan(s string, most int) string {
	s = OneLine(s, most)
	if s == "" {
		return "(empty)"
	}
	fence := strings.Repeat("`", longestRun(s, '`')+1)
	if s[0] == '`' || s[len(s)-1] == '`' {
		s = " " + s + " "
	}
	return fence + s + fence
}

// fenced shows the last lines of hostile text as a block of code.
func fenced(s string, lines, columns int) string {
	s = escapes().ReplaceAllString(s, "")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var kept []string
	for _, line := range strings.Split(strings.TrimRight(s, "\r\n\t "), "\n") {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:] // a progress bar's last state
		line = strings.ReplaceAll(visible(line), "\n", " ")
		if r := []rune(line); len(r) > columns {
			line = string(r[:columns-1]) + "…"
		}
		kept = append(kept, line)
	}
	if len(kept) > lines {
		kept = append([]string{"…"}, kept[len(kept)-lines+1:]...)
	}
	body := strings.Join(kept, "\n")
	fence := strings.Repeat("`", max(longestRun(body, '`')+1, 3))
	return fence + "text\n" + body + "\n" + fence
}

// escapes matches the sequences by which programs colour a terminal.
var escapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[@-Z\\\\-_]")
})

func longestRun(s string, c byte) int {
	longest, run := 0, 0
	for i := 0; i < len(s); i++ {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// safeLink returns a link to a page on the web that cannot end early in
// Markdown, and "" for anything else.
func safeLink(s string) string {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	u.User = nil
	var b strings.Builder
	for _, c := range []byte(u.String()) {
		if c <= ' ' || c >= 0x7f || strings.IndexByte("()<>[]\\\"'`*_~!|{}^$", c) >= 0 {
			const hex = "0123456789ABCDEF"
			b.WriteString("%" + string(hex[c>>4]) + string(hex[c&15]))
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// ClipLine makes hostile text one printable line of at most n runes, for what is stored:
// it keeps more of the text than OneLine, which is for what is shown.
func ClipLine(s string, n int) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' }), " ")
	if r := []rune(s); len(r) > n {
		s = string(r[:n-1]) + "…"
	}
	return s
}

// Strings returns names of any kind as strings.
func Strings[T ~string](in []T) []string {
	var out []string
	for _, t := range in {
		out = append(out, string(t))
	}
	return out
}
