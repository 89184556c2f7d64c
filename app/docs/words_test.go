package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// No sentence of the pages written by hand has a clause for its subject ("What its runners
// had is run again."): it names the thing. Questions may begin so.
func TestSentencesNameTheirSubject(t *testing.T) {
	clause := regexp.MustCompile(`(?m)(?:^|[.:;] |^- |\| )(?:What|Who|Whoever|Whatever) [a-z][^?|\n.]*(?:\.|\||$)`)
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%v, %v", pages, err)
	}
	for _, page := range pages {
		if page == "keys.md" { // made from comments of the code
			continue
		}
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range clause.FindAllString(string(text), -1) {
			t.Errorf("%s: %q", page, found)
		}
	}
}
