package print

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func FuzzFit(f *testing.F) {
	f.Add("a\x1b[2J日本", 5)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n %= 200
		got := Fit(Clean(s, '·', '·'), n)
		if columns := Width(got); columns != max(0, n) || !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\n\r\x07\u202e") {
			t.Errorf("Fit(%q, %d) = %q, %d columns", s, n, got, columns)
		}
	})
}

func TestBar(t *testing.T) {
	for progress, want := range map[float64]string{-1: "····", 0: "····", 0.5: "██··", 0.53125: "██▏·", 1: "████", 7: "████"} {
		if got := Bar(progress, 4); got != want {
			t.Errorf("Bar(%v) = %s, want %s", progress, got, want)
		}
	}
}
