package github

import (
	"encoding/json"
	"testing"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// A demand on reviews that is newer than this program is no demand that is met, where
// nobody else judges it.
func TestNewerDemand(t *testing.T) {
	var d demands
	parameters := `{"required_approving_review_count": 0, "require_moonlight": true, "require_sunlight": false,
		"required_reviewers": [{"minimum_approvals": 1, "file_patterns": ["*"], "reviewer": {"id": 1, "type": "Planet"}}]}`
	if err := d.add("pull_request", json.RawMessage(parameters)); err != nil {
		t.Fatal(err)
	}
	if len(d.undecided) != 1 || d.undecided[0].rule != "require_moonlight" || len(d.doubts) != 1 {
		t.Fatalf("doubts %v, undecided %v", d.doubts, d.undecided)
	}
	reply := &unmetAnswer{}
	if err := json.Unmarshal([]byte(`{"repository": {"pullRequest": {"reviewDecision": null}}}`), reply); err != nil {
		t.Fatal(err)
	}
	var f *Forge // asks nothing
	out, err := f.unmetReviews(t.Context(), forge.Requirements{Base: "main", Branch: "main"}, d, reply)
	if err != nil || len(out) != 1 || out[0].Kind != queue.RequireJudged {
		t.Errorf("undecided: %v, %v", out, err)
	}
	reply.Repository.Pull.Decision = "APPROVED"
	if out, err = f.unmetReviews(t.Context(), forge.Requirements{Base: "main", Branch: "main"}, d, reply); err != nil || len(out) != 0 {
		t.Errorf("GitHub has decided: %v, %v", out, err)
	}
}

// A check that both any App and one must report is named once.
func TestCheckAskedForTwice(t *testing.T) {
	d := demands{checks: []demandedCheck{{name: "ci"}, {name: "lint"}, {name: "ci", app: 7}}}
	ran := []ranOnHead{{Kind: "CheckRun", Name: "lint", Status: "COMPLETED", Conclusion: "FAILURE"}}
	out := unmetChecks(forge.Requirements{}, d, ran)
	if len(out) != 2 || len(out[0].Names) != 1 || out[0].Names[0] != "ci" || out[1].Names[0] != "lint" {
		t.Errorf("%+v", out)
	}
}
