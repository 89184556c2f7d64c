package app

import "testing"

func TestNumberIn(t *testing.T) {
	for subject, want := range map[string]int{
		"Merge pull request #12 from ann/x": 12, "Faster (#7)": 7, "Faster (!8)": 8, "see #9": 0, "(#9) first": 0, "": 0,
		"(#1234567890123)": 0, "Merge pull request #": 0,
	} {
		if got := numberIn(subject); got != want {
			t.Errorf("%q: %d, want %d", subject, got, want)
		}
	}
}
