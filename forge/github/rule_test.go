package github_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/forge/forgetest/contract"
	"github.com/submitqueue/submitqueue/forge/github"
)

// Each type of rule that GitHub describes has a row, so that somebody has thought of it.
func TestRuleTypes(t *testing.T) {
	rows := github.RuleTypes()
	if !slices.IsSortedFunc(rows, func(a, b github.RuleType) int { return strings.Compare(a.Type, b.Type) }) {
		t.Error("the rows are not sorted by type")
	}
	for _, r := range rows {
		if !slices.Contains([]github.Judging{github.RuleJudged, github.RuleHarmless, github.RuleRefused}, r.Judging) || r.Why == "" || strings.HasSuffix(r.Why, ".") {
			t.Errorf("%s is %q: %q", r.Type, r.Judging, r.Why)
		}
	}
	types, pull := contract.RuleTypes(t)
	for _, kind := range types {
		if !slices.ContainsFunc(rows, func(r github.RuleType) bool { return r.Type == kind }) {
			t.Errorf("GitHub describes rules of type %s, and they have no row: are they judged, harmless or refused?", kind)
		}
	}
	for _, name := range pull {
		if !slices.Contains(github.PullParameters(), name) {
			t.Errorf("GitHub describes the parameter %s of pull_request, of which nobody has thought", name)
		}
	}
}
