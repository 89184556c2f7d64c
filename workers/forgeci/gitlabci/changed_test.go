package gitlabci_test

import (
	"testing"

	"github.com/submitqueue/submitqueue/workers/forgeci/gitlabci"
)

// The value of a variable that the file sets in several places, or by a rule, is not known, and
// nothing is said for sure that depends on it (docs.gitlab.com, "workflow:rules:variables").
func TestVariablesThatChange(t *testing.T) {
	for name, text := range map[string]string{
		"set by a workflow rule":        "variables: {BUILD: 'no'}\nworkflow: {rules: [{if: '$CI_COMMIT_BRANCH =~ /^submitqueue\\//', variables: {BUILD: 'yes'}}, {when: always}]}\ntest: {script: x, rules: [{if: $BUILD == 'yes'}]}\n",
		"set by a job to another":       "variables: {BUILD: 'no'}\ntest: {script: x, variables: {BUILD: $OTHER}, rules: [{if: $BUILD == 'yes'}]}\n",
		"changes since a branch":        "test: {script: x, rules: [{changes: {paths: [docs/**], compare_to: refs/heads/main}}]}\n",
		"a parent's, kept by its child": "variables: {BUILD: 'no'}\n.p: {variables: {BUILD: $OTHER}}\ntest: {script: x, extends: .p, variables: {A: b}, rules: [{if: $BUILD == 'yes'}]}\n",
	} {
		f := gitlabci.Read([]byte(text))
		if f.Err != nil || len(f.Jobs) != 1 {
			t.Fatalf("%s: %+v", name, f)
		}
		if got, _ := f.Has(f.Jobs[0], build); got != gitlabci.Maybe {
			t.Errorf("%s: %v, want %v", name, got, gitlabci.Maybe)
		}
	}
}
