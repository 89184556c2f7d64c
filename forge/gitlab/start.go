package gitlab

import (
	"cmp"
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

// quietPush are the options by which a push starts no pipeline. Instances where
// ci.no_pipeline is unknown, or switched off, make a skipped pipeline without jobs.
var quietPush = []string{"ci.skip", "ci.no_pipeline"}

// nobody is the setting of a project that takes no variables; it is the default in new
// groups.
const nobody = "no_one_allowed"

// refused are words by which GitLab refuses variables from us. unasked are words by which
// it refuses a pipeline because it was asked for, and not made by a push.
var (
	refused = []string{"permissions to set pipeline variables"}
	unasked = []string{"filtered out by workflow rules", "would have been empty", "no stages / jobs"}
)

// CIStarts implements forge.Starter. It returns false where nobody may set the variables
// of pipelines and the pipeline takes no inputs, and where a push has to start pipelines.
func (f ci) CIStarts(ctx context.Context, inputs bool) bool {
	f.mu.Lock()
	known := f.startsKnown
	f.mu.Unlock()
	if !known {
		f.readStarts(ctx) // if this fails, CIStart will tell
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.pushStarts && (inputs || !f.noVariables)
}

// readStarts reads the settings that say how pipelines begin.
func (f ci) readStarts(ctx context.Context) {
	id, err := f.project(ctx)
	if err != nil {
		return
	}
	p, err := readOne[ProjectFacts](ctx, f.Forge, "read who may set the variables of pipelines", fmt.Sprintf("projects/%d", id), nil)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.startsKnown, f.noVariables = true, f.noVariables || p.VariablesFrom == nobody
}

// CIFile implements forge.Starter.
func (f ci) CIFile(ctx context.Context) string {
	p, err := f.settings(ctx)
	if err != nil {
		return ciFile("")
	}
	return ciFile(p.CIConfigPath)
}

// ciFile returns the path of the CI file in the repository, from the project's setting;
// "": the file is elsewhere, at an address or in another project (FILE@PROJECT).
func ciFile(setting string) string {
	if strings.ContainsAny(setting, "@:") {
		return ""
	}
	return cmp.Or(setting, ".gitlab-ci.yml")
}

// CIStart implements forge.Starter.
func (f ci) CIStart(ctx context.Context, branch string, commit queue.CommitID, told forge.CITold) (forge.CIRun, error) {
	doing := "make a pipeline for " + branch
	f.mu.Lock()
	if f.noVariables && len(told.Inputs) > 0 {
		told.Variables = nil
	}
	f.mu.Unlock()
	p, err := f.createPipeline(ctx, branch, told)
	takesNone := err != nil && says(err, refused...)
	switch {
	case takesNone && len(told.Inputs) > 0 && len(told.Variables) > 0: // and GitLab has made no pipeline
		f.learn(&f.noVariables)
		return f.CIStart(ctx, branch, commit, told)
	case takesNone:
		f.learn(&f.noVariables)
		return forge.CIRun{}, fmt.Errorf("gitlab: %s: %w: %w", doing, forge.ErrPushStarts, err)
	case err != nil && (status(err) == http.StatusForbidden || says(err, unasked...)):
		f.learn(&f.pushStarts)
		return forge.CIRun{}, fmt.Errorf("gitlab: %s: %w: %w", doing, forge.ErrPushStarts, err)
	case err != nil:
		return forge.CIRun{}, failure(ctx, doing, err)
	case p.SHA != string(commit): // GitLab still had the branch elsewhere
		err := fmt.Errorf("gitlab: %s: pipeline %d is of %.12s and not of %.12s", doing, p.ID, p.SHA, commit)
		return forge.CIRun{}, &forge.Transient{Err: errors.Join(err, f.CancelRun(ctx, int64(p.ID)))}
	}
	return runOf(&gitlab.PipelineInfo{ID: p.ID, SHA: p.SHA, Ref: p.Ref, Source: string(p.Source), Status: p.Status, CreatedAt: p.CreatedAt, WebURL: p.WebURL}), nil
}

// learn sets one of the fields that say how pipelines begin, as GitLab has shown
// it.
func (f ci) learn(what *bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.startsKnown, *what = true, true
}

// pair is a variable of a pipeline.
type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	Kind  string `json:"variable_type"`
}

func (f ci) createPipeline(ctx context.Context, branch string, told forge.CITold) (*gitlab.Pipeline, error) {
	id, err := f.project(ctx)
	if err != nil {
		return nil, err
	}
	body := struct { // the library's type has no inputs
		Ref       string            `json:"ref"`
		Variables []pair            `json:"variables,omitempty"`
		Inputs    map[string]string `json:"inputs,omitempty"` // from GitLab 17.11 on
	}{Ref: branch, Inputs: map[string]string{}}
	for _, v := range told.Variables {
		body.Variables = append(body.Variables, pair{v.Name, v.Value, "env_var"})
	}
	for _, v := range told.Inputs {
		body.Inputs[v.Name] = v.Value
	}
	p := &gitlab.Pipeline{}
	r, err := f.client.NewRequest(http.MethodPost, fmt.Sprintf("projects/%d/pipeline", id), body, []gitlab.RequestOptionFunc{gitlab.WithContext(ctx)})
	if err == nil {
		_, err = f.client.Do(r, p)
	}
	return p, err
}

// CIRunResults implements forge.Starter. GitLab tells with each job the state of its
// pipeline. Jobs that start other pipelines are listed elsewhere, and are read only if a
// wanted job is not among the others.
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
