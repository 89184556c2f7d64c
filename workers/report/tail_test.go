package report

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTail(t *testing.T) {
	var few, long Tail
	for range 100 {
		few.Add("x")
		long.Add(strings.Repeat("é", 3000))
	}
	if n := len(few.lines); n != TailLines {
		t.Errorf("%d lines", n)
	}
	if s := long.String(); len(s) > TailBytes || len(s) < TailBytes/2 || !utf8.ValidString(s) {
		t.Errorf("%d bytes", len(s))
	}
}
