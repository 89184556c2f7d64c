// Package spell deals with words that people have written: which known word a misspelt one
// most likely means, and how to quote text that may be long or hostile.
package spell

import "strings"

// Nearest returns the name that a misspelt word most likely means, or "".
func Nearest(word string, names []string) string {
	best, least := "", 3
	if len(word) > 64 {
		return ""
	}
	folded := strings.ReplaceAll(strings.ToLower(word), "-", "_")
	for _, n := range names {
		if d := Distance(folded, n); d < least && d < len(n)/2+1 {
			best, least = n, d
		}
	}
	return best
}

// Distance returns how many letters have to be put in, taken out or changed to make
// one text of another.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			diagonal, row[j] = row[j], min(row[j]+1, row[j-1]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// Clip returns text of at most n characters, with a mark where it goes on.
func Clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
