package gitlab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/xanzy/go-gitlab"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// ci is a Forge's CI: a run is a pipeline, a check is a job or a posted commit status. A
// retried pipeline stays the same pipeline, with other jobs.
type ci struct{ *Forge }

// ciApp is the name under which a step asks for a job as a check.
const ciApp = "gitlab-ci"

// over reports whether a pipeline or job in this state has ended.
func over(state string) bool {
	return slices.Contains([]string{"success", "failed", "canceled", "skipped"}, state)
}

// CIResults reads the jobs of the pipelines of a commit.
func (f ci) CIResults(ctx context.Context, commit queue.CommitID) (forge.CIResults, error) {
	return f.results(ctx, commit, true)
}

// CIChecks is CIResults; without statuses, pipelines of others are left out.
func (f ci) CIChecks(ctx context.Context, commit queue.CommitID, statuses bool) (forge.CIResults, error) {
	return f.results(ctx, commit, statuses)
}

func (f ci) results(ctx context.Context, commit queue.CommitID, statuses bool) (out forge.CIResults, err error) {
	doing := fmt.Sprintf("read the jobs of %.12s", commit)
	id, err := f.project(ctx)
	if err != nil {
		return out, failure(ctx, doing, err)
	}
	runs, now, err := f.pipelines(ctx, &gitlab.ListProjectPipelinesOptions{SHA: gitlab.Ptr(string(commit))})
	if out.Now = now; err == nil && len(runs) == 0 { // an unknown commit has no pipelines either
		_, _, err = f.client.Commits.GetCommit(id, string(commit), nil, gitlab.WithContext(ctx))
	}
	if err != nil {
		return out, failure(ctx, doing, err)
	}
	foreign := map[int]*gitlab.PipelineInfo{}
	for _, r := range runs {
		if r.Source == "external" {
			foreign[r.ID] = r
			continue
		}
		jobs, err := f.jobs(ctx, id, r.ID)
		if err != nil {
			return out, failure(ctx, doing, err)
		}
		for _, j := range jobs {
			out.List = append(out.List, jobResult(j, r))
		}
	}
	if statuses && len(foreign) > 0 {
		err = f.addStatuses(ctx, id, commit, foreign, &out)
	}
	return out, failure(ctx, doing, err)
}

// addStatuses adds commit statuses that others have posted.
func (f ci) addStatuses(ctx context.Context, id int, commit queue.CommitID, foreign map[int]*gitlab.PipelineInfo, out *forge.CIResults) error {
	o := &gitlab.GetCommitStatusesOptions{}
	return all(func(page gitlab.ListOptions) ([]*gitlab.CommitStatus, *gitlab.Response, error) {
		o.ListOptions = page
		return f.client.Commits.GetCommitStatuses(id, string(commit), o, gitlab.WithContext(ctx))
	}, func(s *gitlab.CommitStatus) bool {
		if foreign[s.PipelineId] == nil {
			return true
		}
		out.List = append(out.List, forge.CIResult{ID: int64(s.ID), Status: true, Name: s.Name, Commit: commit, State: stateOf(s.Status, s.AllowFailure, ""), Word: s.Status,
			At: timeOf(s.CreatedAt), Ended: timeOf(s.FinishedAt), URL: s.TargetURL, Title: s.Description})
		return true
	})
}

// pipelines lists pipelines, the newest first, without those of our own statuses; now is
// the time by GitLab's clock.
func (f ci) pipelines(ctx context.Context, o *gitlab.ListProjectPipelinesOptions) (list []*gitlab.PipelineInfo, now time.Time, err error) {
	id, err := f.project(ctx)
	if err != nil {
		return nil, now, err
	}
	err = all(func(page gitlab.ListOptions) ([]*gitlab.PipelineInfo, *gitlab.Response, error) {
		o.ListOptions = page
		some, resp, err := f.client.Pipelines.ListProjectPipelines(id, o, gitlab.WithContext(ctx))
		now = cmp.Or(clockOf(resp), now)
		return some, resp, err
	}, func(p *gitlab.PipelineInfo) bool {
		if p.Ref != StatusRef {
			list = append(list, p)
		}
		return len(list) < hundred
	})
	slices.SortFunc(list, func(a, b *gitlab.PipelineInfo) int { return b.ID - a.ID })
	return list, now, err
}

// jobs lists the jobs of a pipeline that were not retried, and those that start another
// pipeline.
func (f *Forge) jobs(ctx context.Context, id, pipeline int) ([]*gitlab.Job, error) {
	list, _, err := f.ownJobs(ctx, id, pipeline)
	if err != nil {
		return nil, err
	}
	bridges, err := f.bridges(ctx, id, pipeline)
	return append(list, bridges...), err
}

// ownJobs lists the jobs of a pipeline that were not retried; now is the time by GitLab's
// clock.
func (f *Forge) ownJobs(ctx context.Context, id, pipeline int) (list []*gitlab.Job, now time.Time, err error) {
	o := &gitlab.ListJobsOptions{}
	err = all(func(page gitlab.ListOptions) ([]*gitlab.Job, *gitlab.Response, error) {
		o.ListOptions = page
		some, resp, err := f.client.Jobs.ListPipelineJobs(id, pipeline, o, gitlab.WithContext(ctx))
		now = cmp.Or(clockOf(resp), now)
		return some, resp, err
	}, func(j *gitlab.Job) bool { list = append(list, j); return true })
	return list, now, err
}

// bridges lists the jobs of a pipeline that start another one.
func (f *Forge) bridges(ctx context.Context, id, pipeline int) (list []*gitlab.Job, err error) {
	o := &gitlab.ListJobsOptions{}
	err = all(func(page gitlab.ListOptions) ([]*gitlab.Bridge, *gitlab.Response, error) {
		o.ListOptions = page
		return f.client.Jobs.ListPipelineBridges(id, pipeline, o, gitlab.WithContext(ctx))
	}, func(b *gitlab.Bridge) bool {
		list = append(list, &gitlab.Job{ID: b.ID, Name: b.Name, Status: b.Status, AllowFailure: b.AllowFailure, FailureReason: b.FailureReason, CreatedAt: b.CreatedAt, FinishedAt: b.FinishedAt, WebURL: b.WebURL})
		return true
	})
	return list, err
}

// clockOf returns when an answer was given, by GitLab's clock; zero: it does not
// say.
func clockOf(resp *gitlab.Response) time.Time {
	if resp == nil || resp.Response == nil {
		return time.Time{}
	}
	at, _ := http.ParseTime(resp.Header.Get("Date"))
	return at
}

func jobState(j *gitlab.Job) forge.CIState { return stateOf(j.Status, j.AllowFailure, j.FailureReason) }

// GitLab's reasons for a failed job (app/models/concerns/enums/ci/commit_status.rb).
// blamed are those that the commit's own commands or CI file can have; no reason is told
// for a job that has started another pipeline and fails with it. All other reasons, known
// or new, are about machines, quotas and settings, and say nothing of the commit: for
// example, no more compute minutes. late are those of a job that took too long.
var (
	blamed = []string{"", "unknown_failure", "script_failure", "trace_size_exceeded", "environment_creation_failure", "pipeline_loop_detected",
		"invalid_bridge_trigger", "downstream_pipeline_creation_failed", "downstream_project_trigger_resolved_to_empty",
		"reached_max_descendant_pipelines_depth", "reached_max_pipeline_hierarchy_size"}
	late = []string{"job_execution_timeout", "job_execution_server_timeout", "server_timeout_running", "server_timeout_canceling"}
)

// stateOf translates a state of GitLab. A failed job that may fail counts as passed, as
// it does at GitLab. A manual job that may fail counts as none, since it may be left out.
func stateOf(state string, mayFail bool, reason string) forge.CIState {
	switch state {
	case "success":
		return forge.CIPassed
	case "failed":
		switch {
		case mayFail:
			return forge.CIPassed
		case slices.Contains(late, reason):
			return forge.CITimeout
		case slices.Contains(blamed, reason):
			return forge.CIFailed
		}
		return forge.CINone
	case "canceled", "skipped":
		return forge.CINone
	case "manual":
		if mayFail {
			return forge.CINone
		}
		return forge.CIQueued
	case "running", "canceling":
		return forge.CIRunning
	}
	return forge.CIQueued
}

// inState fills in what a result says of the state of its job. For people, it says why a
// failed job is no result. A job that is no result yet may begin under the id that it has: a
// skipped one when the failed jobs before it are retried, which get new ids
// (app/services/ci/retry_pipeline_service.rb), and a manual one when somebody plays it.
func inState(r forge.CIResult, word string, mayFail bool, reason string) forge.CIResult {
	r.State, r.Word, r.Title = stateOf(word, mayFail, reason), word, reason
	if r.State == forge.CINone {
		r.Waits = word == "skipped" || word == "manual"
		if word == "failed" {
			r.Word = word + " (" + reason + ")"
		}
	}
	return r
}

func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func jobResult(j *gitlab.Job, r *gitlab.PipelineInfo) forge.CIResult {
	return inState(forge.CIResult{ID: int64(j.ID), App: ciApp, Name: j.Name, Commit: queue.CommitID(r.SHA), Suite: int64(r.ID), Branch: r.Ref, Bound: true,
		At: timeOf(j.CreatedAt), Ended: timeOf(j.FinishedAt), URL: j.WebURL}, j.Status, j.AllowFailure, j.FailureReason)
}

func runOf(p *gitlab.PipelineInfo) forge.CIRun {
	return forge.CIRun{ID: int64(p.ID), Suite: int64(p.ID), Commit: queue.CommitID(p.SHA), Branch: p.Ref, Name: "pipeline", Own: true, Attempt: 1, Began: timeOf(p.CreatedAt),
		Push: p.Source == "push" || p.Source == "api", Asked: p.Source == "api", Pull: p.Source == "merge_request_event", Done: over(p.Status), Word: p.Status, URL: p.WebURL}
}

// CIRuns implements forge.CI.
func (f ci) CIRuns(ctx context.Context, branch string) ([]forge.CIRun, error) {
	return f.runs(ctx, "list the pipelines of "+branch, &gitlab.ListProjectPipelinesOptions{Ref: &branch})
}

// CIRunsOf implements forge.CI.
func (f ci) CIRunsOf(ctx context.Context, commit queue.CommitID) ([]forge.CIRun, error) {
	return f.runs(ctx, fmt.Sprintf("list the pipelines of %.12s", commit), &gitlab.ListProjectPipelinesOptions{SHA: gitlab.Ptr(string(commit))})
}

func (f ci) runs(ctx context.Context, doing string, o *gitlab.ListProjectPipelinesOptions) (out []forge.CIRun, err error) {
	list, _, err := f.pipelines(ctx, o)
	for _, p := range list {
		if p.Source != "external" {
			out = append(out, runOf(p))
		}
	}
	return out, failure(ctx, doing, err)
}

// CancelRun implements forge.CI.
func (f ci) CancelRun(ctx context.Context, run int64) error {
	doing := fmt.Sprintf("cancel pipeline %d", run)
	id, err := f.project(ctx)
	if err == nil {
		_, _, err = f.client.Pipelines.CancelPipelineBuild(id, int(run), gitlab.WithContext(ctx))
	}
	if errors.Is(err, gitlab.ErrNotFound) {
		return nil
	}
	return failure(ctx, doing, err)
}

// RerunFailed implements forge.CI.
func (f ci) RerunFailed(ctx context.Context, run int64) error {
	id, err := f.project(ctx)
	if err == nil {
		_, _, err = f.client.Pipelines.RetryPipelineBuild(id, int(run), gitlab.WithContext(ctx))
	}
	return failure(ctx, fmt.Sprintf("retry pipeline %d", run), err)
}

// longestLog is how much of the end of a log is kept.
const longestLog = 256 << 10

// CILog implements forge.CI.
func (f ci) CILog(ctx context.Context, r forge.CIResult) (string, error) {
	doing := fmt.Sprintf("read the log of job %d", r.ID)
	if r.Status {
		return "", fmt.Errorf("gitlab: %s: %w: it is a status that somebody has posted", doing, forge.ErrNotFound)
	}
	id, err := f.project(ctx)
	if err != nil {
		return "", failure(ctx, doing, err)
	}
	trace, _, err := f.client.Jobs.GetTraceFile(id, int(r.ID), gitlab.WithContext(ctx))
	if err != nil {
		return "", failure(ctx, doing, err)
	}
	if _, err := trace.Seek(-min(trace.Size(), longestLog), io.SeekEnd); err != nil {
		return "", failure(ctx, doing, err)
	}
	text, err := io.ReadAll(trace)
	return string(text), failure(ctx, doing, err)
}
