package demo

import (
	"strings"
	"testing"
)

func TestJudge(t *testing.T) {
	plan := &Plan{Changes: []Change{
		{Branch: "good", Expect: ExpectLand},
		{Branch: "bad", Expect: ExpectBuildFailure},
		{Branch: "a1", Expect: ExpectOneBuilds, Pair: "a"},
		{Branch: "a2", Expect: ExpectOneBuilds, Pair: "a"},
		{Branch: "m1", Expect: ExpectOneMerges, Pair: "m"},
		{Branch: "m2", Expect: ExpectOneMerges, Pair: "m"},
		{Branch: "own", Expect: ExpectVerdict},
	}}
	right := map[string]Result{
		"good": ResultLanded, "bad": ResultBuild, "a1": ResultLanded, "a2": ResultBuild,
		"m1": ResultMerge, "m2": ResultLanded, "own": ResultOther,
	}
	for _, test := range []struct {
		name  string
		edit  map[string]Result
		wrong string
	}{
		{"as planned", nil, ""},
		{"the other halves", map[string]Result{"a1": ResultBuild, "a2": ResultLanded, "m1": ResultLanded, "m2": ResultMerge}, ""},
		{"good rejected", map[string]Result{"good": ResultBuild}, "good"},
		{"bad landed", map[string]Result{"bad": ResultLanded}, "bad"},
		{"bad for another reason", map[string]Result{"bad": ResultMerge}, "bad"},
		{"no result", map[string]Result{"good": ""}, "good"},
		{"both landed", map[string]Result{"a2": ResultLanded}, "a1 a2"},
		{"neither landed", map[string]Result{"a1": ResultBuild}, "a1 a2"},
		{"a loser with the wrong reason", map[string]Result{"m1": ResultBuild}, "m1"},
		{"disputed", map[string]Result{"own": ResultDisputed, "good": ResultDisputed}, "good own"},
		{"own without a verdict", map[string]Result{"own": ResultNone}, "own"},
	} {
		results := map[string]Result{}
		for branch, got := range right {
			results[branch] = got
		}
		for branch, got := range test.edit {
			results[branch] = got
		}
		var branches []string
		for _, w := range Judge(plan, results) {
			branches = append(branches, w.Branch)
		}
		if got := strings.Join(branches, " "); got != test.wrong {
			t.Errorf("%s: wrong are %q, want %q", test.name, got, test.wrong)
		}
	}
}
