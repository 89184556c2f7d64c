package conflict_test

import (
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/conflicttest"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Where a disk takes no notice of case, a tree with two names that differ in nothing else
// cannot be checked out. Each of two changes that add the two can.
func TestNamesThatDiffer(t *testing.T) {
	base := conflicttest.New(map[string]string{"a/target": "", "b/target": "", "b/Ab/x": "", "b/é": "", "docs/x.md": ""})
	s := config.Analysis{Ignore: []string{"docs/**"}}
	before := mustAnalyze(t, folders{}, s, base)
	for names, want := range map[string]string{
		"b/read":            "b",
		"b/Read":            "b",
		"b/read b/Read":     "a b",
		"b/read/x b/READ":   "a b",
		"b/aB/y":            "a b", // a folder, too
		"b/É":               "a b",
		"b/ab2 b/AB":        "a b",
		"B/x":               "a b",
		"b/e":               "b",
		"a/Read b/read":     "a b", // each its own
		"docs/X.md":         "",    // in no hash
		"b/Ab/y b/Ab/deep/": "b",
	} {
		next := base
		for name := range strings.FieldsSeq(names) {
			next = next.With(strings.TrimSuffix(name, "/"), "")
		}
		f := conflict.FootprintOf(before, mustAnalyze(t, folders{}, s, next), "m")
		if got := strings.Join(f.Affected, " "); got != want {
			t.Errorf("%s: affected %q, want %q", names, got, want)
		}
	}
}
