package github

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// ci is a Forge's CI: check runs, commit statuses and workflows.
type ci struct{ *Forge }

// CIResults reads check runs, their suites and commit statuses: three
// conditional requests where there are up to a hundred of each.
func (f ci) CIResults(ctx context.Context, commit queue.CommitID) (forge.CIResults, error) {
	out, err := f.checkRuns(ctx, commit)
	if err != nil {
		return out, err
	}
	if len(out.List) > 0 {
		branches, err := f.suites(ctx, commit)
		if err != nil {
			return out, failure(ctx, readingChecks(commit), err)
		}
		for i := range out.List {
			out.List[i].Branch = branches[out.List[i].Suite]
		}
	}
	err = f.addStatuses(ctx, commit, &out)
	return out, err
}

// CIChecks reads check runs, and commit statuses where they are asked for.
func (f ci) CIChecks(ctx context.Context, commit queue.CommitID, statuses bool) (forge.CIResults, error) {
	out, err := f.checkRuns(ctx, commit)
	if err == nil && statuses {
		err = f.addStatuses(ctx, commit, &out)
	}
	return out, err
}

func readingChecks(commit queue.CommitID) string {
	return fmt.Sprintf("read the checks of %.12s", commit)
}

// noteDate keeps the time of an answer by the forge's clock.
func noteDate(out *forge.CIResults, resp *github.Response) {
	if resp == nil || resp.Response == nil {
		return
	}
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		out.Now = at
	}
}

// checkRuns reads the check runs of a commit, without those that we report ourselves.
func (f ci) checkRuns(ctx context.Context, commit queue.CommitID) (out forge.CIResults, err error) {
	opts := &github.ListCheckRunsOptions{Filter: github.String("all"), ListOptions: github.ListOptions{PerPage: 100}}
	for {
		list, resp, err := f.client.Checks.ListCheckRunsForRef(ctx, f.o.Owner, f.o.Name, string(commit), opts)
		noteDate(&out, resp)
		if unknownCommit(err) {
			return out, fmt.Errorf("github: %s: %w: %w", readingChecks(commit), forge.ErrNotFound, err)
		}
		if err != nil {
			return out, failure(ctx, readingChecks(commit), err)
		}
		for _, r := range list.CheckRuns {
			if r.GetApp().GetID() == f.o.AppID {
				continue // what we report ourselves
			}
			out.List = append(out.List, checkResult(r))
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			return out, nil
		}
	}
}

// addStatuses reads the commit statuses of a commit.
func (f ci) addStatuses(ctx context.Context, commit queue.CommitID, out *forge.CIResults) error {
	page := &github.ListOptions{PerPage: 100}
	for {
		status, resp, err := f.client.Repositories.GetCombinedStatus(ctx, f.o.Owner, f.o.Name, string(commit), page)
		noteDate(out, resp)
		if err != nil {
			err = failure(ctx, readingChecks(commit), err)
			if errors.Is(err, forge.ErrForbidden) {
				return nil // the App may lack statuses: read, where nobody uses them
			}
			return err
		}
		for _, s := range status.Statuses {
			out.List = append(out.List, statusResult(s, commit))
		}
		if page.Page = resp.NextPage; page.Page == 0 {
			return nil
		}
	}
}

// unknownCommit reports whether GitHub does not know a commit: it answers 422.
func unknownCommit(err error) bool {
	var e *github.ErrorResponse
	return errors.As(err, &e) && e.Response != nil &&
		(e.Response.StatusCode == http.StatusUnprocessableEntity || e.Response.StatusCode == http.StatusNotFound) &&
		strings.Contains(strings.ToLower(e.Message), "no commit found")
}

// suites returns the branch that each check suite of a commit was made for.
func (f ci) suites(ctx context.Context, commit queue.CommitID) (map[int64]string, error) {
	out := map[int64]string{}
	opts := &github.ListCheckSuiteOptions{ListOptions: github.ListOptions{PerPage: 100}}
	for {
		list, resp, err := f.client.Checks.ListCheckSuitesForRef(ctx, f.o.Owner, f.o.Name, string(commit), opts)
		if err != nil {
			return nil, err
		}
		for _, s := range list.CheckSuites {
			out[s.GetID()] = s.GetHeadBranch()
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			return out, nil
		}
	}
}

// checkResult reads a check run. GitHub Actions makes a suite for each run of a
// workflow; other Apps have one per commit.
func checkResult(r *github.CheckRun) forge.CIResult {
	out := forge.CIResult{
		ID: r.GetID(), Name: r.GetName(), Commit: queue.CommitID(r.GetHeadSHA()),
		Suite: r.GetCheckSuite().GetID(), Branch: r.GetCheckSuite().GetHeadBranch(), Bound: r.GetApp().GetSlug() == config.AppActions, App: r.GetApp().GetSlug(),
		At: r.GetStartedAt().Time, Ended: r.GetCompletedAt().Time, URL: r.GetHTMLURL(),
		Title: r.GetOutput().GetTitle(), Text: r.GetOutput().GetSummary(),
	}
	if out.URL == "" {
		out.URL = r.GetDetailsURL()
	}
	out.Word = r.GetStatus()
	switch r.GetStatus() {
	case "completed":
		out.Word = r.GetConclusion()
		out.State = concluded(r.GetConclusion())
	case "in_progress":
		out.State = forge.CIRunning
	default: // queued, waiting, pending, requested
		out.State = forge.CIQueued
	}
	return out
}

// concluded reads a conclusion. Conclusions that say nothing of the commit are none:
// cancelled, skipped, neutral, stale, action_required, startup_failure.
func concluded(conclusion string) forge.CIState {
	switch conclusion {
	case "success":
		return forge.CIPassed
	case "failure":
		return forge.CIFailed
	case "timed_out":
		return forge.CITimeout
	}
	return forge.CINone
}

func statusResult(s *github.RepoStatus, commit queue.CommitID) forge.CIResult {
	return commitStatus(s.GetID(), s.GetContext(), s.GetState(), commit,
		times{s.GetCreatedAt().Time, s.GetUpdatedAt().Time}, s.GetTargetURL(), s.GetDescription())
}

type times struct{ created, updated time.Time }

func commitStatus(id int64, name, state string, commit queue.CommitID, at times, url, text string) forge.CIResult {
	out := forge.CIResult{ID: id, Status: true, Name: name, Commit: commit, Word: state, At: at.created, URL: url, Title: text}
	switch state {
	case "success":
		out.State = forge.CIPassed
	case "failure":
		out.State = forge.CIFailed
	case "error": // of the CI, not of the commit
		out.State = forge.CINone
	default:
		out.State = forge.CIRunning
	}
	if out.State.Ended() {
		if out.Ended = at.updated; out.Ended.IsZero() {
			out.Ended = at.created
		}
	}
	return out
}

// CIRuns lists the workflow runs of a branch.
func (f ci) CIRuns(ctx context.Context, branch string) ([]forge.CIRun, error) {
	return f.runs(ctx, &github.ListWorkflowRunsOptions{Branch: branch}, func(r forge.CIRun) bool { return r.Branch == branch })
}

// CIRunsOf lists the workflow runs of a commit.
func (f ci) CIRunsOf(ctx context.Context, commit queue.CommitID) ([]forge.CIRun, error) {
	return f.runs(ctx, &github.ListWorkflowRunsOptions{HeadSHA: string(commit)}, func(r forge.CIRun) bool { return r.Commit == commit })
}

// runs lists workflow runs; asked filters them again, where GitHub does not follow
// the filter.
func (f ci) runs(ctx context.Context, opts *github.ListWorkflowRunsOptions, asked func(forge.CIRun) bool) ([]forge.CIRun, error) {
	var out []forge.CIRun
	opts.PerPage = 100
	for {
		list, resp, err := f.listRuns(ctx, opts)
		if err != nil {
			return nil, failure(ctx, "list the workflow runs of "+opts.Branch+opts.HeadSHA, err)
		}
		for _, r := range list {
			run := workflowRun(r.WorkflowRun)
			if run.Path = r.Path; asked(run) {
				out = append(out, run)
			}
		}
		if opts.Page = resp.NextPage; opts.Page == 0 {
			return out, nil
		}
	}
}

// listedRun is a run with the member that go-github does not read.
type listedRun struct {
	*github.WorkflowRun
	Path string `json:"path"`
}

// listRuns reads a page of workflow runs.
func (f ci) listRuns(ctx context.Context, opts *github.ListWorkflowRunsOptions) ([]listedRun, *github.Response, error) {
	query := url.Values{"per_page": {strconv.Itoa(opts.PerPage)}}
	for name, value := range map[string]string{"branch": opts.Branch, "head_sha": opts.HeadSHA} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if opts.Page > 0 {
		query.Set("page", strconv.Itoa(opts.Page))
	}
	req, err := f.client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/actions/runs?%s", f.o.Owner, f.o.Name, query.Encode()), nil)
	if err != nil {
		return nil, nil, err
	}
	var page struct {
		Runs []listedRun `json:"workflow_runs"`
	}
	resp, err := f.client.Do(ctx, req, &page)
	return page.Runs, resp, err
}

func workflowRun(r *github.WorkflowRun) forge.CIRun {
	out := forge.CIRun{
		ID: r.GetID(), Suite: r.GetCheckSuiteID(), Commit: queue.CommitID(r.GetHeadSHA()), Branch: r.GetHeadBranch(), Name: r.GetName(),
		Attempt: max(r.GetRunAttempt(), 1), Began: r.GetRunStartedAt().Time, Push: r.GetEvent() == "push", Pull: strings.HasPrefix(r.GetEvent(), "pull_request"), Done: r.GetStatus() == "completed", Word: r.GetStatus(), URL: r.GetHTMLURL(),
		Title: r.GetDisplayTitle(), Own: r.GetRepository().GetID() != 0 && r.GetHeadRepository().GetID() == r.GetRepository().GetID(),
		Actor: cmp.Or(r.GetTriggeringActor().GetLogin(), r.GetActor().GetLogin()),
	}
	if out.Done {
		out.Word = r.GetConclusion()
	}
	return out
}

// CancelRun cancels a workflow run. GitHub accepts with 202, which go-github
// returns as an error, and answers 409 for a run that has ended.
func (f ci) CancelRun(ctx context.Context, id int64) error {
	_, err := f.client.Actions.CancelWorkflowRunByID(ctx, f.o.Owner, f.o.Name, id)
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) || hasStatus(err, http.StatusConflict) || isNotFound(err) {
		return nil
	}
	return failure(ctx, fmt.Sprintf("cancel workflow run %d", id), err)
}

// RerunFailed runs the failed jobs of a workflow run again.
func (f ci) RerunFailed(ctx context.Context, id int64) error {
	_, err := f.client.Actions.RerunFailedJobsByID(ctx, f.o.Owner, f.o.Name, id)
	var accepted *github.AcceptedError
	if errors.As(err, &accepted) {
		return nil
	}
	return failure(ctx, fmt.Sprintf("run the failed jobs of workflow run %d again", id), err)
}

// How much of a log is read, and how much of its end is kept.
const (
	logRead = 32 << 20
	logKept = 64 << 10
)

// CILog reads the end of the log of a job of GitHub Actions. The id of the job is
// that of its check run. The log itself is elsewhere, at an address that needs, and
// gets, no credentials.
func (f ci) CILog(ctx context.Context, r forge.CIResult) (string, error) {
	if r.Status || !r.Bound {
		return "", fmt.Errorf("github: the log of check %d: %w: it is not a job of GitHub Actions", r.ID, forge.ErrNotFound)
	}
	doing := fmt.Sprintf("read the log of job %d", r.ID)
	at, resp, err := f.client.Actions.GetWorkflowJobLogs(ctx, f.o.Owner, f.o.Name, r.ID, 0)
	if resp != nil && resp.Response != nil && (resp.StatusCode == http.StatusNotFound || resp.StatusCode == http.StatusGone) {
		return "", fmt.Errorf("github: %s: %w", doing, forge.ErrNotFound)
	}
	if err != nil {
		return "", failure(ctx, doing, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return "", err
	}
	got, err := (&http.Client{Transport: f.o.Shared.http, Timeout: f.o.Timeout}).Do(req)
	if err != nil {
		return "", failure(ctx, doing, unaddressed(err))
	}
	defer got.Body.Close()
	if got.StatusCode != http.StatusOK {
		return "", fmt.Errorf("github: %s: %w: %s", doing, forge.ErrNotFound, got.Status)
	}
	var end []byte
	body, chunk := io.LimitReader(got.Body, logRead), make([]byte, 32<<10)
	for {
		n, err := body.Read(chunk)
		if end = append(end, chunk[:n]...); len(end) > 2*logKept {
			end = append(end[:0], end[len(end)-logKept:]...)
		}
		if errors.Is(err, io.EOF) {
			return string(end[max(len(end)-logKept, 0):]), nil
		}
		if err != nil {
			return "", failure(ctx, doing, err)
		}
	}
}

func hasStatus(err error, code int) bool {
	var e *github.ErrorResponse
	return errors.As(err, &e) && e.Response != nil && e.Response.StatusCode == code
}
