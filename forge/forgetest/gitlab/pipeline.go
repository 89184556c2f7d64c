package gitlab

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// pipeline is a pipeline of a project.
type pipeline struct {
	project *Project
	id      int
	ref     string
	sha     string
	head    string // sha is the merge of this head of a merge request; empty: sha is no such merge
	source  string // "push", "api", "merge_request_event" or "external"
	user    *User
	jobs    []*job
	alone   string // its status where it has no jobs
	made    time.Time
	cancel  bool // it was cancelled; its jobs may still run
	vars    map[string]string
	inputs  map[string]any
}

// job is a job or a commit status of a pipeline: GitLab makes no difference.
type job struct {
	id        int
	name      string
	stage     string
	state     string
	user      *User
	status    bool // somebody has posted it
	ref       string
	words     string
	url       string
	may       bool // may fail
	bridge    bool // starts another pipeline
	retried   bool
	log       string
	made      time.Time
	began     time.Time
	ended     time.Time
	reason    string
	pipelines *pipeline
}

// Pipeline is a pipeline as tests see it.
type Pipeline struct {
	ID        int
	Ref       string
	SHA       string
	Source    string
	Status    string
	Variables map[string]string
	Inputs    map[string]any
	Jobs      []Job
}

// Job is a job or commit status as tests see it.
type Job struct {
	ID      int
	Name    string
	State   string
	Status  bool
	User    string
	Words   string
	URL     string
	Retried bool
}

func over(state string) bool {
	return slices.Contains([]string{"success", "failed", "canceled", "skipped"}, state)
}

// status works out the state from the jobs that were not retried, as GitLab does.
func (pl *pipeline) status() string {
	count, all := map[string]int{}, 0
	for _, j := range pl.jobs {
		if j.retried {
			continue
		}
		state := j.state
		if state == "failed" && j.may {
			state = "success"
		}
		count[state]++
		all++
	}
	if all == 0 {
		return pl.alone
	}
	has := func(states ...string) bool {
		return slices.ContainsFunc(states, func(s string) bool { return count[s] > 0 })
	}
	switch {
	case pl.cancel && has("running", "pending", "created", "canceling"):
		return "canceling"
	case count["skipped"] == all:
		return "skipped"
	case count["success"]+count["skipped"] == all:
		return "success"
	case count["created"] == all:
		return "created"
	case count["success"]+count["skipped"]+count["canceled"] == all:
		return "canceled"
	case count["created"]+count["skipped"]+count["pending"] == all && has("pending"):
		return "pending"
	case has("running", "pending"):
		return "running"
	case has("manual") && !has("failed", "created", "canceled"):
		return "manual"
	case has("created"):
		return "running"
	case has("failed"):
		return "failed"
	case has("canceled"):
		return "canceled"
	}
	return "failed"
}

// pushedPipeline makes the pipeline of a push, unless its options say otherwise: with
// ci.skip the pipeline is skipped, and with ci.no_pipeline, which depends on a feature
// flag of the project, there is none (lib/gitlab/ci/pipeline/chain/no_pipeline.rb).
func (p *Project) pushedPipeline(who *User, m refMove, options []string) {
	switch {
	case slices.Contains(options, "ci.no_pipeline") && !p.set.NoOption, len(p.set.Jobs) == 0 && !p.set.Broken, p.set.Rules, p.set.Merged:
		return
	case slices.Contains(options, "ci.skip"), strings.Contains(p.subject(m.new), "[skip ci]"):
		p.addPipeline(who, m.branch(), m.new, "push").drop("skipped")
	case p.set.Broken:
		p.addPipeline(who, m.branch(), m.new, "push").drop("failed")
	default:
		p.addPipeline(who, m.branch(), m.new, "push")
	}
}

func (pl *pipeline) drop(state string) {
	pl.jobs, pl.alone = nil, state
	pl.tell()
}

func (p *Project) mergeRequestPipeline(mr *mergeRequest, who *User) {
	if len(p.set.Jobs) == 0 || mr.state != "opened" {
		return
	}
	if p.set.Results {
		ref := fmt.Sprintf("refs/merge-requests/%d/merge", mr.iid)
		made := must2(p.git(nil, "commit-tree", "-p", p.tip(mr.target), "-p", mr.head(), "-m", "Merge", mr.head()+"^{tree}"))
		must2(p.git(nil, "update-ref", ref, made))
		p.addPipeline(who, ref, made, "merge_request_event").head = mr.head()
		return
	}
	p.addPipeline(who, mr.headRef(), mr.head(), "merge_request_event")
}

func (p *Project) addPipeline(who *User, ref, sha, source string) *pipeline {
	if p.set.AutoCancel && source != "external" {
		for _, old := range p.pipelines {
			if old.ref == ref && old.sha != sha && !over(old.status()) && old.source != "external" {
				old.stop()
			}
		}
	}
	pl := &pipeline{project: p, id: p.s.nextID(), ref: ref, sha: sha, source: source, user: who, made: p.s.now(), alone: "created"}
	if source != "external" {
		for i, name := range slices.Concat(p.set.Jobs, p.set.Bridges) {
			pl.jobs = append(pl.jobs, &job{id: p.s.nextID(), name: name, stage: "test", state: "pending", user: who, ref: ref, made: p.s.now(), bridge: i >= len(p.set.Jobs), pipelines: pl})
		}
	}
	p.pipelines = append(p.pipelines, pl)
	pl.tell()
	return pl
}

// create answers POST .../pipeline: it takes a ref that REST sees, ignores [skip ci], and
// refuses everything else with 400 (lib/api/ci/pipelines.rb, which runs the service with
// ignore_skip_ci and without save_on_errors, so that a refusal leaves no pipeline). REST
// sees the branches of branch_names in repository.rb; the post-receive job expires the
// cache of that method.
func (p *Project) create(who *User, ref string, vars map[string]string, inputs map[string]any) (*pipeline, *refused) {
	bad := func(text string) *refused {
		return &refused{http.StatusBadRequest, obj{"message": obj{"base": []string{text}}}}
	}
	g, guarded := p.guard(ref)
	switch {
	case !p.cached[ref] || p.tip(ref) == "":
		return nil, bad("Reference not found")
	case guarded && max(g.Push, g.Merge) > 0 && p.level(who) < permissive(g.Push, g.Merge):
		return nil, bad("You do not have sufficient permission to run a pipeline on '" + ref + "'. Please select a different branch or contact your administrator for assistance.")
	case len(vars) > 0 && (p.set.VariablesFrom == 0 || p.level(who) < p.set.VariablesFrom):
		return nil, bad("Insufficient permissions to set pipeline variables")
	case p.set.PerMinute > 0 && p.created >= p.set.PerMinute:
		return nil, bad("Too many pipelines created in the last minute. Try again later.")
	case p.set.Broken:
		return nil, bad("jobs:test config should implement a script: or a trigger: keyword")
	case len(p.set.Jobs) == 0:
		return nil, bad("Missing CI config file")
	case p.set.Rules || p.set.PushOnly:
		return nil, bad("Pipeline filtered out by workflow rules.")
	}
	if why := p.declares(ref, inputs); why != "" {
		return nil, bad(why)
	}
	p.created++
	if p.created == 1 {
		p.s.later("a minute of pipelines", time.Minute, func() { p.created = 0 })
	}
	pl := p.addPipeline(who, ref, p.tip(ref), "api")
	pl.vars, pl.inputs = vars, inputs
	return pl, nil
}

// stop cancels a pipeline: waiting jobs at once, running ones in a separate
// background job.
func (pl *pipeline) stop() {
	pl.cancel = true
	now := pl.project.s.now()
	for _, j := range pl.jobs {
		switch {
		case over(j.state) || j.state == "manual":
		case j.state == "running" && !j.status:
			j.state = "canceling"
			pl.project.s.later("cancel", 0, func() {
				if j.state == "canceling" {
					j.state, j.ended = "canceled", pl.project.s.now()
					pl.tell()
				}
			})
		default:
			j.state, j.ended = "canceled", now
		}
	}
	pl.tell()
}

// retry runs again the jobs that did not pass: they get new ids in the same pipeline,
// which is open again. Jobs that were skipped because of them begin under the ids that they
// have (app/services/ci/retry_pipeline_service.rb).
func (pl *pipeline) retry(who *User) {
	pl.cancel = false
	for _, j := range slices.Clone(pl.jobs) {
		if j.state == "skipped" && !j.status {
			j.state, j.ended = "created", time.Time{}
		}
		if (j.state == "failed" || j.state == "canceled") && !j.retried && !j.status {
			j.retried = true
			pl.jobs = append(pl.jobs, &job{id: pl.project.s.nextID(), name: j.name, stage: j.stage, state: "pending", user: who, ref: j.ref, made: pl.project.s.now(), may: j.may, bridge: j.bridge, pipelines: pl})
		}
	}
	pl.tell()
}

// Report sets the state of a job of a pipeline: "running", "success", "failed", "manual",
// "skipped" or "canceled"; with a log, if any.
func (p *Project) Report(id int, name, state string, log ...string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	pl := p.pipeline(id)
	if pl == nil {
		panic(fmt.Sprintf("no pipeline %d", id))
	}
	for _, j := range slices.Backward(pl.jobs) {
		if j.name == name && !j.retried {
			j.state, j.log = state, strings.Join(log, "\n")
			if state == "running" {
				j.began = p.s.now()
			} else {
				j.ended = p.s.now()
			}
			pl.tellJob(j)
			pl.tell()
			return
		}
	}
	panic(fmt.Sprintf("pipeline %d has no job %q", id, name))
}

// Fail has a job of a pipeline fail for one of GitLab's reasons, such as
// "ci_quota_exceeded".
func (p *Project) Fail(id int, name, reason string) {
	p.s.mu.Lock()
	for _, j := range p.pipeline(id).jobs {
		if j.name == name && !j.retried {
			j.reason = reason
		}
	}
	p.s.mu.Unlock()
	p.Report(id, name, "failed")
}

// ReportAll is Report of all jobs of a pipeline that are not over.
func (p *Project) ReportAll(id int, state string) {
	for _, pl := range p.Pipelines() {
		for _, j := range pl.Jobs {
			if pl.ID == id && !j.Status && !j.Retried && !over(j.State) {
				p.Report(id, j.Name, state)
			}
		}
	}
}

// MayFail says that jobs of a name in a pipeline may fail.
func (p *Project) MayFail(id int, name string) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, j := range p.pipeline(id).jobs {
		j.may = j.may || j.name == name
	}
}

// RetryPipeline retries a pipeline, as a user does by the button Retry.
func (p *Project) RetryPipeline(user string, id int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.pipeline(id).retry(p.s.user(user))
}

func (p *Project) pipeline(id int) *pipeline {
	for _, pl := range p.pipelines {
		if pl.id == id {
			return pl
		}
	}
	return nil
}

// Pipelines lists the pipelines, oldest first.
func (p *Project) Pipelines() (list []Pipeline) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	for _, pl := range p.pipelines {
		out := Pipeline{ID: pl.id, Ref: pl.ref, SHA: pl.sha, Source: pl.source, Status: pl.status(), Variables: pl.vars, Inputs: pl.inputs}
		for _, j := range pl.jobs {
			out.Jobs = append(out.Jobs, Job{j.id, j.name, j.state, j.status, j.user.Name, j.words, j.url, j.retried})
		}
		list = append(list, out)
	}
	return list
}
