package web_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/submitqueue/submitqueue/app/web"
)

func TestPlainLog(t *testing.T) {
	for _, c := range []struct {
		name, in string
		done     bool
		want     string
		held     int
	}{
		{"plain", "a\tb\nc\n", false, "a\tb\nc\n", 0},
		{"colours", "\x1b[1;31mred\x1b[0m \x1b]0;title\x07x\x1b]8;;http://e\x1b\\y", true, "red xy", 0},
		{"progress", "10%\r50%\r100%\nok\r\n", true, "100%\nok\n", 0},
		{"half a code", "ok\x1b[3", false, "ok", 3},
		{"half a code at the end", "ok\x1b[3", true, "ok", 0},
		{"half a character", "caf\xc3", false, "caf", 1},
		{"half a character at the end", "caf\xc3", true, "caf\uFFFD", 0},
		{"not UTF-8", "a\xff\xfeb", true, "a\uFFFD\uFFFDb", 0},
		{"carriage return that may be half a line end", "ok\r", false, "ok", 1},
		{"control and direction", "a\x00\x08\u202Eb", true, "ab", 0},
		{"a broken code eats no lines", "\x1b[12\nnext", true, "\nnext", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, held := web.PlainLog([]byte(c.in), c.done)
			if got != c.want || held != c.held {
				t.Errorf("PlainLog(%q) = %q, %d; want %q, %d", c.in, got, held, c.want, c.held)
			}
		})
	}
}

func FuzzPlainLog(f *testing.F) {
	f.Add("a\x1b[31mb\r\n\xc3", false)
	f.Add(strings.Repeat("\x1b]", 200), false)
	f.Fuzz(func(t *testing.T, in string, done bool) {
		text, held := web.PlainLog([]byte(in), done)
		if !utf8.ValidString(text) || strings.ContainsAny(text, "\x1b\r\x00") {
			t.Errorf("PlainLog(%q) = %q", in, text)
		}
		if held < 0 || held > 256 || done && held != 0 {
			t.Errorf("PlainLog(%q) holds back %d bytes", in, held)
		}
	})
}
