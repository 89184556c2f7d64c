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

var _ forge.Starter = ci{}

// quietPush are the options by which a push makes no pipeline that runs. Instances where
// ci.no_pipeline is unknown, or switched off, make one that is skipped, without jobs.
var quietPush = []string{"ci.skip", "ci.no_pipeline"}

// nobody is the setting of a project that takes variables from no one; it is the usual one
// of new groups.
const nobody = "no_one_allowed"

// unasked are words by which GitLab refuses a pipeline because it was asked for, with
// variables, and not made by a push.
var unasked = []string{"permissions to set pipeline variables", "filtered out by workflow rules", "would have been empty", "no stages / jobs"}

// CIStarts implements forge.Starter: not where nobody may set the variables of pipelines.
func (f ci) CIStarts(ctx context.Context) bool {
	f.mu.Lock()
	known, push := f.startsKnown, f.pushStarts
	f.mu.Unlock()
	if known {
		return !push
	}
	id, err := f.project(ctx)
	if err != nil {
		return true
	}
	p, err := readOne[ProjectFacts](ctx, f.Forge, "read who may set the variables of pipelines", fmt.Sprintf("projects/%d", id), nil)
	if err != nil {
		return true // CIStart will tell
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.startsKnown, f.pushStarts = true, f.pushStarts || p.VariablesFrom == nobody
	return !f.pushStarts
}

// CIStart implements forge.Starter.
func (f ci) CIStart(ctx context.Context, branch string, commit queue.CommitID, variables []forge.CIVariable) (forge.CIRun, error) {
	doing := "make a pipeline for " + branch
	id, err := f.project(ctx)
	if err != nil {
		return forge.CIRun{}, failure(ctx, doing, err)
	}
	var list []*gitlab.PipelineVariableOptions
	for _, v := range variables {
		list = append(list, &gitlab.PipelineVariableOptions{Key: gitlab.Ptr(v.Name), Value: gitlab.Ptr(v.Value), VariableType: gitlab.Ptr(gitlab.EnvVariableType)})
	}
	p, _, err := f.client.Pipelines.CreatePipeline(id, &gitlab.CreatePipelineOptions{Ref: gitlab.Ptr(branch), Variables: &list}, gitlab.WithContext(ctx))
	switch {
	case err != nil && (status(err) == http.StatusForbidden || says(err, unasked...)):
		f.mu.Lock()
		f.startsKnown, f.pushStarts = true, true
		f.mu.Unlock()
		return forge.CIRun{}, fmt.Errorf("gitlab: %s: %w: %w", doing, forge.ErrPushStarts, err)
	case err != nil:
		return forge.CIRun{}, failure(ctx, doing, err)
	case p.SHA != string(commit): // GitLab still had the branch elsewhere
		err := fmt.Errorf("gitlab: %s: pipeline %d is of %.12s and not of %.12s", doing, p.ID, p.SHA, commit)
		return forge.CIRun{}, &forge.Transient{Err: errors.Join(err, f.CancelRun(ctx, int64(p.ID)))}
	}
	return runOf(&gitlab.PipelineInfo{ID: p.ID, SHA: p.SHA, Ref: p.Ref, Source: string(p.Source), Status: p.Status, CreatedAt: p.CreatedAt, WebURL: p.WebURL}), nil
}

// CIRunResults implements forge.Starter. GitLab tells with each job what has become of its
// pipeline. Jobs that start other pipelines are listed elsewhere, and asked for only where
// one is wanted that is not among the others.
func (f ci) CIRunResults(ctx context.Context, run int64, names []string) (of forge.CIRun, out forge.CIResults, err error) {
	doing := fmt.Sprintf("read the jobs of pipeline %d", run)
	id, err := f.project(ctx)
	if err != nil {
		return of, out, failure(ctx, doing, err)
	}
	jobs, now, err := f.ownJobs(ctx, id, int(run))
	if out.Now = now; err != nil {
		return of, out, failure(ctx, doing, err)
	}
	if len(jobs) == 0 {
		return of, out, fmt.Errorf("gitlab: %s: there are none: %w", doing, forge.ErrNotFound)
	}
	last := jobs[len(jobs)-1].Pipeline
	of = forge.CIRun{ID: run, Done: over(last.Status), Word: last.Status}
	if slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(jobs, func(j *gitlab.Job) bool { return strings.EqualFold(j.Name, name) })
	}) {
		bridges, err := f.bridges(ctx, id, int(run))
		if err != nil {
			return of, out, failure(ctx, doing, err)
		}
		jobs = append(jobs, bridges...)
	}
	for _, j := range jobs {
		out.List = append(out.List, jobResult(j, &gitlab.PipelineInfo{ID: int(run), SHA: last.Sha, Ref: last.Ref}))
	}
	return of, out, nil
}
