package mirror

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDiffLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		old, new              string
		added, removed, hunks int
	}{
		{"", "", 0, 0, 0},
		{"a\nb\n", "a\nb\n", 0, 0, 0},
		{"", "a\nb\n", 2, 0, 1},
		{"a\nb", "", 0, 2, 1},
		{"a\n", "a", 1, 1, 1},
		{"a\nb\nc\nd\n", "a\nX\nc\nY\nZ\nd\n", 3, 1, 2},
		{"a\nb\nc\n", "b\nc\na\n", 1, 1, 2},
		{"x\nx\nx\n", "x\nx\n", 0, 1, 1},
	} {
		if a, r, h := diffLines([]byte(c.old), []byte(c.new)); a != c.added || r != c.removed || h != c.hunks {
			t.Errorf("%q → %q: +%d -%d in %d hunks, want +%d -%d in %d", c.old, c.new, a, r, h, c.added, c.removed, c.hunks)
		}
	}
}

// The counts explain the lengths, and are never less than a longest common
// subsequence leaves; for equal texts they are 0.
func TestDiffLinesIsADifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "c\n", "d\n", "e\n", "f\n"}), 0, 12)
		a, b := text.Draw(r, "a"), text.Draw(r, "b")
		added, removed, hunks := diffLines([]byte(strings.Join(a, "")), []byte(strings.Join(b, "")))
		common := common(a, b)
		switch {
		case added-removed != len(b)-len(a):
			r.Fatalf("+%d -%d do not explain %d lines becoming %d", added, removed, len(a), len(b))
		case added < len(b)-common || removed < len(a)-common:
			r.Fatalf("+%d -%d, and the least is +%d -%d", added, removed, len(b)-common, len(a)-common)
		case added > len(b) || removed > len(a) || hunks > added+removed || (hunks == 0) != (added+removed == 0):
			r.Fatalf("+%d -%d in %d hunks", added, removed, hunks)
		case strings.Join(a, "") == strings.Join(b, "") && hunks > 0:
			r.Fatalf("equal texts differ at %d places", hunks)
		}
	})
}

// common is the length of a longest common subsequence, by its definition.
func common(a, b []string) int {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
	}
	for i := range a {
		for j := range b {
			table[i+1][j+1] = max(table[i][j+1], table[i+1][j])
			if a[i] == b[j] {
				table[i+1][j+1] = table[i][j] + 1
			}
		}
	}
	return table[len(a)][len(b)]
}
