package gitlab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// judgedQuery asks for all of GitLab's checks of a merge request at once. The REST
// interface tells only the first that fails, and hides the others.
const judgedQuery = `query($path: ID!, $iid: String!) { project(fullPath: $path) { mergeRequest(iid: $iid) { diffHeadSha mergeabilityChecks { identifier status } } } }`

// judged is one of GitLab's checks of a merge request.
type judged struct {
	Identifier string `json:"identifier"`
	Status     string `json:"status"` // "SUCCESS", "FAILED", "CHECKING", "WARNING" or "INACTIVE"
}

// reasons returns the checks that a merge request does not pass, by the names of
// detailed_merge_status, and those that GitLab is still working out. A GitLab that
// cannot be asked for all (before version 16.5) tells only one.
func (f *Forge) reasons(ctx context.Context, mr *gitlab.MergeRequest) (failed, working []string, err error) {
	if mr.DetailedMergeStatus == "mergeable" {
		return nil, nil, nil
	}
	list, err := f.judge(ctx, mr)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range list {
		switch name := strings.ToLower(c.Identifier); c.Status {
		case "SUCCESS", "INACTIVE", "WARNING":
		case "CHECKING":
			working = append(working, name)
		default:
			failed = append(failed, name)
		}
	}
	if !slices.Contains(failed, mr.DetailedMergeStatus) && !slices.Contains(working, mr.DetailedMergeStatus) {
		failed = append(failed, mr.DetailedMergeStatus)
	}
	return failed, working, nil
}

// judge reads all checks; it returns none if this GitLab does not tell them.
func (f *Forge) judge(ctx context.Context, mr *gitlab.MergeRequest) ([]judged, error) {
	f.mu.Lock()
	path := f.path
	f.mu.Unlock()
	req, err := f.client.NewRequest(http.MethodPost, "", map[string]any{"query": judgedQuery, "variables": map[string]string{"path": path, "iid": fmt.Sprint(mr.IID)}}, []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)})
	if err != nil {
		return nil, err
	}
	at := *f.base
	at.Path, at.RawPath = strings.TrimSuffix(at.Path, "/")+"/api/graphql", ""
	req.URL = &at
	var answer struct {
		Data struct {
			Project *struct {
				MergeRequest *struct {
					Head   string   `json:"diffHeadSha"`
					Checks []judged `json:"mergeabilityChecks"`
				} `json:"mergeRequest"`
			} `json:"project"`
		} `json:"data"`
	}
	if _, err = f.client.Do(req, &answer); err != nil {
		if errors.Is(err, gitlab.ErrNotFound) || status(err) == http.StatusForbidden {
			return nil, nil
		}
		return nil, err
	}
	p := answer.Data.Project
	if p == nil || p.MergeRequest == nil || p.MergeRequest.Head != "" && p.MergeRequest.Head != mr.SHA {
		return nil, nil
	}
	return p.MergeRequest.Checks, nil
}

// blockers returns a requirement for each merge request that this one depends on
// and that is not merged.
func (f *Forge) blockers(ctx context.Context, id, number int) (out []queue.Requirement, err error) {
	list, err := readAll[struct {
		By struct {
			IID     int    `json:"iid"`
			Project int    `json:"project_id"`
			State   string `json:"state"`
			Refs    struct {
				Full string `json:"full"`
			} `json:"references"`
		} `json:"blocking_merge_request"`
	}](ctx, f, "list what it depends on", fmt.Sprintf("projects/%d/merge_requests/%d/blocks", id, number))
	if err != nil && !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrForbidden) {
		return nil, err
	}
	for _, x := range list {
		if x.By.State == "merged" || x.By.IID == 0 {
			continue
		}
		name := queue.PullRef{Number: x.By.IID}.String()
		if x.By.Project != id {
			name = x.By.Refs.Full
		}
		out = append(out, queue.Requirement{Kind: queue.RequireLanded, Names: []string{name, queue.DependsBlocks}})
	}
	if len(out) == 0 { // they are not shown to us
		out = append(out, queue.Requirement{Kind: queue.RequireLanded, Names: []string{"", queue.DependsBlocks}})
	}
	return out, nil
}

// external returns the external status checks of a merge request that have not
// passed.
func (f *Forge) external(ctx context.Context, id, number int) (waiting, failed []string, err error) {
	list, err := readAll[struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	}](ctx, f, "list its external status checks", fmt.Sprintf("projects/%d/merge_requests/%d/status_checks", id, number))
	if err != nil && !errors.Is(err, forge.ErrNotFound) && !errors.Is(err, forge.ErrForbidden) {
		return nil, nil, err
	}
	for _, x := range list {
		switch x.Status {
		case "passed", "approved":
		case "failed":
			failed = append(failed, x.Name)
		default:
			waiting = append(waiting, x.Name)
		}
	}
	if len(waiting)+len(failed) == 0 {
		waiting = []string{"external status checks"}
	}
	return waiting, failed, nil
}
