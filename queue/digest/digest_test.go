package digest_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/digest"
)

func TestDigestOf(t *testing.T) {
	seen := map[digest.Digest][]string{}
	for _, fields := range [][]string{nil, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {"a\x00b"}, {"b", "a"},
		{"\x00\x00\x00\x00\x00\x00\x00\x01a"}} {
		d := digest.Of(fields...)
		if other, twice := seen[d]; twice {
			t.Errorf("%q and %q have one digest", fields, other)
		}
		seen[d] = fields
		if len(d) != 64 || strings.ToLower(string(d)) != string(d) {
			t.Errorf("digest %q is no SHA-256 in lower-case hexadecimal", d)
		}
	}
	// Stored ledgers stand on this very function.
	if got := digest.Of("key1", "s"); got != "5a9d89022f811817c1d0ed14576907bde34982e1ba2a2a776a6a715bdf15b48f" {
		t.Errorf("DigestOf has changed: %s", got)
	}
}

// However a text is cut into fields, each cut has its own digest.
func TestDigestOfFraming(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		a := rapid.SliceOfN(rapid.StringN(0, 3, -1), 0, 5).Draw(r, "a")
		b := rapid.SliceOfN(rapid.StringN(0, 3, -1), 0, 5).Draw(r, "b")
		if rapid.Bool().Draw(r, "recut") { // the same text, cut elsewhere
			text := strings.Join(a, "")
			cut := rapid.IntRange(0, len(text)).Draw(r, "cut")
			b = []string{text[:cut], text[cut:]}
		}
		if same := digest.Of(a...) == digest.Of(b...); same != slices.Equal(a, b) {
			r.Fatalf("%q and %q: same digest %v", a, b, same)
		}
	})
}
