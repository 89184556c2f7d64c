package workers

import (
	"slices"
	"sort"
	"strings"
)

// minMask is the shortest text that is masked: shorter ones would shred logs.
const minMask = 4

// newMask returns a function that replaces secrets by ***, also as programs encode them. Each
// line of a value with several lines is a secret; a line shorter than 4 bytes is not.
func newMask(values []string) func(string) string {
	var pairs []string
	all := slices.Clone(values)
	for _, v := range values {
		all = append(all, disguises(v)...)
		all = append(all, disguises(v+"\n")...)
		for line := range strings.Lines(v) {
			all = append(all, disguises(strings.TrimSpace(line))...)
		}
	}
	for _, v := range longestFirst(all) {
		pairs = append(pairs, v, "***")
	}
	if len(pairs) == 0 {
		return func(s string) string { return s }
	}
	return strings.NewReplacer(pairs...).Replace
}

// longestFirst returns the lines of the values that are long enough to mask,
// each once, the longest first: so one that contains another goes first.
func longestFirst(values []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, v := range values {
		for line := range strings.Lines(v) {
			line = strings.TrimSpace(line)
			if len(line) >= minMask && !seen[line] {
				seen[line] = true
				out = append(out, line)
			}
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if len(out[i]) != len(out[j]) {
			return len(out[i]) > len(out[j])
		}
		return out[i] < out[j]
	})
	return out
}
