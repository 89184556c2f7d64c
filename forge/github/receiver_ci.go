package github

import (
	"encoding/json"
	"fmt"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// ciKind reports whether events of a kind are about CI.
func ciKind(kind string) bool {
	switch kind {
	case "check_run", "check_suite", "status", "workflow_run":
		return true
	}
	return false
}

// ciNews reads an event about CI. The event of a check suite says nothing of single
// checks, only that there is something to see.
func ciNews(kind string, data []byte) (news forge.CINews, err error) {
	malformed := func(err error) error { return fmt.Errorf("%w: %w", forge.ErrMalformed, err) }
	switch kind {
	case "check_run":
		var p struct {
			Action string           `json:"action"`
			Run    *github.CheckRun `json:"check_run"`
		}
		if err := json.Unmarshal(data, &p); err != nil {
			// In GitHub's own examples, only the times of a request to run again cannot be
			// read.
			if p.Action != "created" && p.Action != "completed" {
				return news, forge.ErrIgnored
			}
			return news, malformed(err)
		}
		if p.Action != "created" && p.Action != "completed" || p.Run.GetID() == 0 || p.Run.GetHeadSHA() == "" {
			return news, forge.ErrIgnored
		}
		news.Results = []forge.CIResult{checkResult(p.Run)}
	case "status":
		var p github.StatusEvent
		if err := json.Unmarshal(data, &p); err != nil {
			return news, malformed(err)
		}
		if p.GetSHA() == "" || p.GetContext() == "" {
			return news, fmt.Errorf("%w: a status without commit or context", forge.ErrMalformed)
		}
		news.Results = []forge.CIResult{commitStatus(p.GetID(), p.GetContext(), p.GetState(), queue.CommitID(p.GetSHA()),
			times{p.GetCreatedAt().Time, p.GetUpdatedAt().Time}, p.GetTargetURL(), p.GetDescription())}
	case "workflow_run":
		var p struct {
			Run *github.WorkflowRun `json:"workflow_run"`
		}
		if err := json.Unmarshal(data, &p); err != nil {
			return news, malformed(err)
		}
		if p.Run.GetID() == 0 || p.Run.GetHeadBranch() == "" {
			return news, forge.ErrIgnored // of a deleted branch, or a fork's
		}
		news.Runs = []forge.CIRun{workflowRun(p.Run)}
	case "check_suite":
		var p struct {
			Action string `json:"action"`
			Suite  struct {
				Branch string `json:"head_branch"`
			} `json:"check_suite"`
		}
		if err := json.Unmarshal(data, &p); err != nil {
			return news, malformed(err)
		}
		if p.Action != "completed" || p.Suite.Branch == "" {
			return news, forge.ErrIgnored
		}
		news.Look = []string{p.Suite.Branch}
	}
	return news, nil
}
