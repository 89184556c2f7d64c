package app

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/forge"
)

// A branch is free if and only if nothing but the pull request that lands speaks of it.
func TestUseOfABranch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"main", "release", "topic"})
		numbers := rapid.SliceOfN(rapid.IntRange(1, 3), 0, 2)
		f := branchFacts{Target: "main", Default: names.Draw(t, "default"), Targets: rapid.SliceOfN(names, 0, 2).Draw(t, "targets"),
			Served: rapid.Bool().Draw(t, "served"), BranchUse: forge.BranchUse{Gone: rapid.Bool().Draw(t, "gone"),
				Protected: rapid.Bool().Draw(t, "protected"), From: numbers.Draw(t, "from"), Into: numbers.Draw(t, "into")}}
		branch, number := names.Draw(t, "branch"), rapid.IntRange(1, 3).Draw(t, "number")
		kept := f
		for _, x := range []struct {
			is   bool
			drop func(*branchFacts)
		}{
			{branch == f.Target, func(f *branchFacts) { f.Target = "" }},
			{branch == f.Default, func(f *branchFacts) { f.Default = "" }},
			{slices.Contains(f.Targets, branch), func(f *branchFacts) { f.Targets = nil }},
			{f.Served, func(f *branchFacts) { f.Served = false }},
			{f.Gone, func(f *branchFacts) { f.Gone = false }},
			{f.Protected, func(f *branchFacts) { f.Protected = false }},
			{slices.ContainsFunc(f.From, func(n int) bool { return n != number }), func(f *branchFacts) { f.From = nil }},
			{len(f.Into) > 0, func(f *branchFacts) { f.Into = nil }},
		} {
			if x.is && f.use(branch, number) == "" {
				t.Fatalf("%s is free for #%d: %+v", branch, number, f)
			}
			x.drop(&kept)
		}
		if kept.use(branch, number) != "" {
			t.Fatalf("of %s, nothing is left, and it is not free: %q", branch, kept.use(branch, number))
		}
	})
}
