package forgetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// actionsApp is the App under which GitHub Actions reports.
const (
	actionsApp  = 15368
	actionsSlug = "github-actions"
)

// CIPush is a push to a branch, as a CI sees it.
type CIPush struct {
	Branch, Head string
	r            *Repository
}

// Has reports whether the pushed commit has a file.
func (p CIPush) Has(file string) bool { return p.r.Has(p.Head, file) }

// Has reports whether a commit has a file, or a folder.
func (r *Repository) Has(commit, file string) bool {
	list, ok := r.files.Load(commit)
	if !ok {
		out, err := r.store.git(context.Background(), nil, "ls-tree", "-r", "-t", "-z", "--name-only", "--full-tree", commit)
		if err != nil {
			return false // it is not there, by now
		}
		list, _ = r.files.LoadOrStore(commit, strings.Split(string(out), "\x00"))
	}
	return slices.Contains(list.([]string), file)
}

// On returns the same push, as if it were to another branch.
func (p CIPush) On(branch string) CIPush {
	p.Branch = branch
	return p
}

// CIJob is a job that a CI runs on a pushed commit.
type CIJob struct {
	Name       string
	Conclusion string        // how it ends, at once; "": it runs until FinishCI
	Takes      time.Duration // with a Conclusion: it ends after this time, unless something ends it before
	Again      string        // how it ends when it is run again; "": as before
	Queued     bool          // it waits for a machine until FinishCI
	Status     bool          // a commit status of another CI, not a check run; Conclusion: success, failure, error
	Log        string        // of a job of GitHub Actions, when it has ended
	App        string        // slug of another App, which has one suite for a commit; "": GitHub Actions
}

// CIRun is a run of a workflow: GitHub Actions makes one for a push.
type CIRun struct {
	ID         int64
	Event      string // "": push
	Path       string // of the workflow; "": .github/workflows/ci.yml
	Title      string // the text of the workflow's run-name; "": CI
	Fork       bool   // its branch is in a fork that has a branch of the same name
	Actor      string // the account that has started it; "": the repository's owner
	Branch     string
	Head       string
	Attempt    int
	Status     string // "in_progress" or "completed"
	Conclusion string
}

// workflowRun is a run with its jobs.
type workflowRun struct {
	CIRun
	suite   int64
	jobs    []CIJob
	created time.Time
	began   time.Time // its newest attempt
	updated time.Time
}

// ci is the simulated CI of a repository.
type ci struct {
	t      TB
	script func(CIPush) []CIJob
	runs   []*workflowRun
	suites map[string]int64 // of other Apps, by slug and commit
}

// SetCI gives the repository a CI: script returns the jobs that it runs on a push
// to a branch; a nil script starts none. It is not called for a push if the message
// of the tip has a marker such as [skip ci]. Deleting a branch while something runs
// on it fails the test.
func (r *CI) SetCI(t TB, script func(CIPush) []CIJob) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	if r.ci == nil {
		r.ci = &ci{suites: map[string]int64{}}
	}
	r.ci.t, r.ci.script = t, script
}

// CIRuns lists the runs of workflows, oldest first.
func (r *CI) CIRuns() []CIRun {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	var out []CIRun
	if r.ci != nil {
		for _, run := range r.ci.runs {
			out = append(out, run.CIRun)
		}
	}
	return out
}

// StartCI runs jobs on a branch's commit now, as a late CI does.
func (r *CI) StartCI(branch string, jobs ...CIJob) {
	head := r.repo.store.readRef("refs/heads/" + branch)
	if head == "" {
		panic("forgetest: no branch " + branch)
	}
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	r.startCI(CIPush{Branch: branch, Head: head, r: r.repo}, jobs)
	r.repo.s.touch()
}

// StartRun starts a run of a workflow on a branch's commit, by the event, path and actor
// of a CIRun. With the event pull_request it tests the merge that GitHub has made of the
// branch and its base, and reports on the branch's head all the same.
func (r *CI) StartRun(of CIRun, jobs ...CIJob) {
	head := r.repo.store.readRef("refs/heads/" + of.Branch)
	if head == "" {
		panic("forgetest: no branch " + of.Branch)
	}
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	of.Head = head
	r.startRun(of, jobs)
	r.repo.s.touch()
}

// RefuseRun makes a push of a branch by the App start no workflow, because of a policy or
// an error in the workflow's file: it adds a run that has failed before it had a job.
func (r *CI) RefuseRun(branch string) {
	head := r.repo.store.readRef("refs/heads/" + branch)
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	if r.ci == nil {
		r.ci = &ci{suites: map[string]int64{}}
	}
	now := r.repo.s.now()
	run := &workflowRun{CIRun: CIRun{ID: r.repo.s.nextID(), Branch: branch, Head: head, Attempt: 1, Event: "push", Path: ".github/workflows/ci.yml", Actor: r.repo.s.opts.Slug + "[bot]", Status: "completed", Conclusion: "failure"},
		suite: r.repo.s.nextID(), created: now, began: now, updated: now}
	r.ci.runs = append(r.ci.runs, run)
	r.emitWorkflow(run, "completed")
	r.repo.s.touch()
}

// SwitchActions switches GitHub Actions off for the repository, or on again. The fake
// only shows the setting.
func (r *CI) SwitchActions(on bool) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	r.off = !on
	r.repo.s.touch()
}

// FinishCI ends a job that runs on a branch.
func (r *CI) FinishCI(branch, name, conclusion string) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	for _, run := range slices.Backward(r.ci.runs) {
		if run.Branch == branch && run.Status != "completed" {
			if c := r.runOf(run.suite, name); c != nil && c.Status != "completed" {
				r.finishJob(c, conclusion)
				r.finishRun(run)
				r.repo.s.touch()
				return
			}
		}
	}
	panic("forgetest: no job " + name + " runs on " + branch)
}

// pushedCI tells the CI of branches that moved. The caller holds r.refs and not s.mu.
func (r *CI) pushedCI(moves []refMove) {
	r.repo.s.mu.Lock()
	c := r.ci
	r.repo.s.mu.Unlock()
	if c == nil {
		return
	}
	for _, m := range moves {
		branch, ok := strings.CutPrefix(m.ref, "refs/heads/")
		if !ok {
			continue
		}
		push := CIPush{Branch: branch, Head: m.new, r: r.repo}
		if m.new == zeroID {
			r.repo.s.mu.Lock()
			for _, run := range c.runs {
				if run.Branch == branch && run.Status != "completed" {
					c.t.Errorf("branch %s was deleted while run %d is %s on it", branch, run.ID, run.Status)
				}
			}
			r.repo.s.mu.Unlock()
			continue
		}
		if c.script == nil || r.skips(m.new) {
			continue
		}
		jobs := c.script(push)
		r.repo.s.mu.Lock()
		r.startCI(push, jobs)
		r.repo.s.touch()
		r.repo.s.mu.Unlock()
	}
}

// skips reports whether a commit's message keeps CI from starting on its push:
// GitHub looks only at the message of the tip (docs.github.com, "Skipping workflow
// runs").
func (r *CI) skips(commit string) bool {
	message, err := r.repo.store.message(context.Background(), commit)
	if err != nil {
		r.repo.s.log.Error("read the message of what was pushed", "err", err)
		return false
	}
	message = strings.TrimSpace(message)
	for _, marker := range []string{"[skip ci]", "[ci skip]", "[no ci]", "[skip actions]", "[actions skip]"} {
		if strings.Contains(message, marker) {
			return true
		}
	}
	last := message[strings.LastIndex("\n\n"+message, "\n\n"):]
	return slices.ContainsFunc(strings.Split(last, "\n"), func(line string) bool { return line == "skip-checks: true" || line == "skip-checks:true" })
}

// startCI starts the jobs of a push.
func (r *CI) startCI(p CIPush, jobs []CIJob) {
	var own []CIJob
	for _, j := range jobs {
		switch {
		case j.Status:
			r.postStatus(p.Head, j.Name, "pending")
			if j.Conclusion != "" {
				r.postStatus(p.Head, j.Name, j.Conclusion)
			}
		case j.App != "":
			key := j.App + "@" + p.Head
			if r.ci.suites[key] == 0 {
				r.ci.suites[key] = r.repo.s.nextID()
			}
			r.startJob(r.ci.suites[key], "", p.Head, j)
		default:
			own = append(own, j)
		}
	}
	if len(own) == 0 {
		return
	}
	r.startRun(CIRun{Branch: p.Branch, Head: p.Head}, own)
}

// startRun starts a run of jobs of GitHub Actions.
func (r *CI) startRun(of CIRun, jobs []CIJob) {
	now := r.repo.s.now()
	of.ID, of.Attempt, of.Status = r.repo.s.nextID(), 1, "in_progress"
	of.Event, of.Path = cmp.Or(of.Event, "push"), cmp.Or(of.Path, ".github/workflows/ci.yml")
	run := &workflowRun{CIRun: of, suite: r.repo.s.nextID(), jobs: jobs, created: now, began: now, updated: now}
	r.ci.runs = append(r.ci.runs, run)
	r.emitWorkflow(run, "requested")
	for _, j := range jobs {
		r.startJob(run.suite, of.Branch, of.Head, j)
	}
	r.finishRun(run)
}

// startJob makes the check run of a job.
func (r *CI) startJob(suite int64, branch, head string, j CIJob) {
	slug, app := j.App, int64(2)
	if slug == "" {
		slug, app = actionsSlug, actionsApp
	}
	c := &run{CheckRun: CheckRun{ID: r.repo.s.nextID(), Name: j.Name, Head: head, Status: "in_progress", App: slug,
		DetailsURL: r.repo.shapes.page("/actions/runs/%d/job", suite)}, app: app, started: r.repo.s.now(), suite: suite, branch: branch}
	c.log = j.Log
	if j.Queued {
		c.Status = "queued"
	}
	r.runs = append(r.runs, c)
	r.tellRun(r.repo.s.appUser(slug), c)
	switch {
	case j.Takes > 0:
		time.AfterFunc(j.Takes, func() { r.finishLate(c, j.Conclusion) })
	case j.Conclusion != "":
		r.finishJob(c, j.Conclusion)
	}
}

// finishLate ends a job that takes its time, if nothing has ended it.
func (r *CI) finishLate(c *run, conclusion string) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	if c.Status == "completed" {
		return
	}
	r.finishJob(c, conclusion)
	for _, run := range r.ci.runs {
		if run.suite == c.suite {
			r.finishRun(run)
		}
	}
	r.repo.s.touch()
}

func (r *CI) finishJob(c *run, conclusion string) {
	c.Status, c.Conclusion, c.completed = "completed", conclusion, r.repo.s.now()
	r.tellRun(r.repo.s.appUser(c.App), c)
}

// runOf returns the newest check run of a name in a suite.
func (r *CI) runOf(suite int64, name string) *run {
	for _, c := range slices.Backward(r.runs) {
		if c.suite == suite && c.Name == name {
			return c
		}
	}
	return nil
}

// finishRun ends a run if all its jobs have ended.
func (r *CI) finishRun(run *workflowRun) {
	var ended []string
	for _, j := range run.jobs {
		c := r.runOf(run.suite, j.Name)
		if c.Status != "completed" {
			return
		}
		ended = append(ended, c.Conclusion)
	}
	run.Status, run.Conclusion, run.updated = "completed", conclude(ended), r.repo.s.now()
	r.emitWorkflow(run, "completed")
	r.emitSuite(r.repo.s.appUser(actionsSlug), suite{run.suite, run.Branch, run.Head, actionsApp, actionsSlug}, "completed")
}

// cancelRun cancels a run, as a person or an App does.
func (r *CI) cancelRun(run *workflowRun) error {
	if run.Status == "completed" {
		return &problem{status: 409, message: "Cannot cancel a workflow run that is completed."}
	}
	for _, j := range run.jobs {
		if c := r.runOf(run.suite, j.Name); c.Status != "completed" {
			r.finishJob(c, "cancelled")
		}
	}
	r.finishRun(run)
	return nil
}

// rerunFailed runs again the jobs of an ended run that did not pass.
func (r *CI) rerunFailed(run *workflowRun) error {
	if run.Status != "completed" {
		return refused(fmt.Sprintf("This workflow is already running: %d", run.ID))
	}
	run.Attempt++
	run.Status, run.Conclusion, run.began = "in_progress", "", r.repo.s.now()
	r.emitWorkflow(run, "requested")
	for i, j := range run.jobs {
		if c := r.runOf(run.suite, j.Name); c.Conclusion == "success" {
			continue
		}
		if j.Again != "" {
			j.Conclusion = j.Again
			run.jobs[i] = j
		}
		r.startJob(run.suite, run.Branch, run.Head, j)
	}
	r.finishRun(run)
	return nil
}
