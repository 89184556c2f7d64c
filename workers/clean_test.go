package workers

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\ttext\r\n":                   "plain\ttext",
		"10%\r50%\rdone":                    "done",
		"\x1b[1;31mred\x1b[0m":              "red",
		"\x1b]8;;http://x\x1b\\l\x1b]8;;\a": "l",
		"\x1b]0;never ends":                 "0;never ends",
		"\x1b[31":                           "31",
		"\x1b[3\x01m":                       "3m",
		"\x1b(Bx\x1bcy\x1b":                 "xy",
		"\x1bé":                             "é",
		"\u009b31mx":                        "x",
		"a\x00b\x7fc\u0085d":                "abcd",
		"\u202eevil\u2066":                  "evil",
		"\xff\xfe":                          "\uFFFD\uFFFD",
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	f.Add("\x1b[31mx\x1b]0;t\x07\xff\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		got := clean(in)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x07\x1b\x7f\n\r\u009b\u202e") {
			t.Errorf("clean(%q) = %q", in, got)
		}
	})
}

func TestMask(t *testing.T) {
	t.Parallel()
	mask := newMask([]string{"", "abc", "token", "token-long", "-----KEY\nline-two\n\n"})
	if got, want := mask("abc token token-long line-two -----KEY"), "abc *** *** *** ***"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit  int64
		writes []string
		want   string
	}{
		{10, []string{"abc", "def"}, "abcdef"},
		{10, []string{"0123456789"}, "0123456789"},
		{10, []string{"0123456789a"}, "01234\n[... 1 bytes of output left out ...]\n6789a"},
		{10, []string{"01234", "56", "78", "9ab", "c"}, "01234\n[... 3 bytes of output left out ...]\n89abc"},
		{10, []string{"0", strings.Repeat("x", 100), "END"}, "0xxxx\n[... 94 bytes of output left out ...]\nxxEND"},
		{1, []string{"ab", "c"}, "a\n[... 2 bytes of output left out ...]\n"},
	} {
		var out strings.Builder
		w := newWindow(&out, c.limit)
		for _, s := range c.writes {
			if n, err := w.Write([]byte(s)); n != len(s) || err != nil {
				t.Errorf("Write: %d, %v", n, err)
			}
		}
		w.finish()
		if out.String() != c.want {
			t.Errorf("%d, %q: got %q, want %q", c.limit, c.writes, out.String(), c.want)
		}
	}
}
