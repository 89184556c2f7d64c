package conflict_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/index"
)

func TestTooManyPaths(t *testing.T) {
	var files []string
	for i := range 3000 {
		files = append(files, fmt.Sprintf("a/b%d/c%d.txt", i%20, i))
	}
	files = append(files, "a/b0/deep/er/x", "top\xff")
	got := conflict.TouchedPaths(files, []string{"gone"})
	if len(got) > 1000 || !slices.IsSorted(got) {
		t.Fatalf("%d paths, sorted %t", len(got), slices.IsSorted(got))
	}
	for _, p := range append(files, "gone/x") {
		if p = strings.ToValidUTF8(p, "\uFFFD"); !index.PathsMeet(got, p) {
			t.Fatalf("%q is in none of %q", p, got)
		}
	}
	if index.PathsMeet(got, "elsewhere/x") {
		t.Error("it meets what it does not touch")
	}
	var wide []string
	for i := range 3000 {
		wide = append(wide, fmt.Sprintf("d%d/x", i), fmt.Sprintf("f%d", i))
	}
	if got := conflict.TouchedPaths(wide, nil); !slices.Equal(got, []string{""}) || !index.PathsMeet(got, "any/thing") {
		t.Errorf("wide: %d paths", len(got))
	}
}

// Folders within folders cost no more than others, and nothing is left out.
func TestTouchedPathsThatAreDeep(t *testing.T) {
	var files []string
	for i := range 3 {
		files = append(files, fmt.Sprintf("%d/", i)+strings.Repeat("d/", 500)+"f")
	}
	got := conflict.TouchedPaths(append(files, "plain/f"), []string{"gone/" + strings.Repeat("d/", 500)})
	for _, p := range got {
		if strings.Count(p, "/") > 50 {
			t.Errorf("a path of %d levels is kept", strings.Count(p, "/"))
		}
	}
	for _, f := range append(files, "plain/f") {
		if !index.PathsMeet(got, f) {
			t.Errorf("%.20s... is left out", f)
		}
	}
	if index.PathsMeet(got, "3/d") || len(got) != 5 {
		t.Errorf("%d paths: %.40q", len(got), got)
	}
}
