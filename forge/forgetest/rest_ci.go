package forgetest

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

func ciRoutes() []route {
	const base = "/repos/{owner}/{repo}"
	return []route{
		{pattern: "GET " + base + "/commits/{ref}/check-suites", need: "checks:read", f: listSuites},
		{pattern: "GET " + base + "/commits/{ref}/status", need: "statuses:read", f: combinedStatus},
		{pattern: "GET " + base + "/actions/runs", need: "actions:read", f: listWorkflowRuns},
		{pattern: "GET " + base + "/actions/jobs/{id}/logs", need: "actions:read", f: jobLog},
		{pattern: "POST " + base + "/actions/runs/{id}/cancel", need: "actions:write", f: cancelWorkflowRun},
		{pattern: "POST " + base + "/actions/runs/{id}/rerun-failed-jobs", need: "actions:write", f: rerunFailedJobs},
	}
}

// listSuites lists the suites of a commit: one for each run of a workflow, one
// for each other App.
func listSuites(c *call) (any, error) {
	head := c.repo.resolve(c.r.PathValue("ref"))
	if !c.repo.hasObject(head) {
		return nil, &problem{status: 422, message: "No commit found for SHA: " + head}
	}
	type key struct {
		id  int64
		app int64
	}
	seen := map[key]bool{}
	list := []obj{}
	for _, m := range c.repo.runs {
		k := key{c.repo.suiteOf(m), m.app}
		if m.Head == head && !seen[k] {
			seen[k] = true
			list = append(list, c.repo.suiteJSON(k.id, m.branch, head, m.app))
		}
	}
	return obj{"total_count": len(list), "check_suites": paged(c, list)}, nil
}

func combinedStatus(c *call) (any, error) {
	head := c.repo.resolve(c.r.PathValue("ref"))
	if !c.repo.hasObject(head) {
		return nil, &problem{status: 422, message: "No commit found for SHA: " + head}
	}
	list, state := []obj{}, "success"
	seen := map[string]bool{}
	if c.repo.ci != nil {
		for _, s := range slices.Backward(c.repo.ci.status) {
			if name := strings.ToLower(s.context); s.sha == head && !seen[name] { // contexts are case-insensitive
				seen[name] = true
				list = append(list, obj{
					"id": s.id, "node_id": "SC_1", "state": s.state, "context": s.context, "description": nil, "target_url": s.url,
					"avatar_url": "", "url": c.repo.api("/statuses/%s", head), "created_at": stamp(s.at), "updated_at": stamp(s.at),
				})
				switch {
				case s.state == "failure", s.state == "error":
					state = "failure"
				case s.state == "pending" && state == "success":
					state = "pending"
				}
			}
		}
	}
	if len(list) == 0 {
		state = "pending"
	}
	return obj{"state": state, "sha": head, "total_count": len(list), "statuses": paged(c, list), "repository": c.repo.json(),
		"url": c.repo.api("/commits/%s/status", head), "commit_url": c.repo.api("/commits/%s", head)}, nil
}

// listWorkflowRuns lists the newest first.
func listWorkflowRuns(c *call) (any, error) {
	q := c.r.URL.Query()
	var list []*workflowRun
	if c.repo.ci != nil {
		for _, run := range slices.Backward(c.repo.ci.runs) {
			if (q.Get("branch") == "" || q.Get("branch") == run.Branch) && (q.Get("head_sha") == "" || q.Get("head_sha") == run.Head) {
				list = append(list, run)
			}
		}
	}
	out := []obj{}
	for _, run := range paged(c, list) {
		out = append(out, c.repo.workflowJSON(run))
	}
	return obj{"total_count": len(list), "workflow_runs": out}, nil
}

// jobLog tells where the log of a job is; its id is that of the check run.
func jobLog(c *call) (any, error) {
	m, err := c.run()
	if err != nil || m.app != actionsApp || m.Status != "completed" || m.log == "" {
		return nil, notFound()
	}
	c.next.Set("Location", fmt.Sprintf("%s/_logs/%s/%d", c.s.url, c.repo.fullName(), m.ID))
	return answer{http.StatusFound, obj{}}, nil
}

// serveLog is the store of logs, elsewhere: it takes no credentials.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "credentials for somebody else", http.StatusBadRequest)
		return
	}
	log, found := "", false
	s.mu.Lock()
	if repo := s.repos[strings.ToLower(r.PathValue("owner")+"/"+r.PathValue("name"))]; repo != nil {
		for _, m := range repo.runs {
			if fmt.Sprint(m.ID) == r.PathValue("id") {
				log, found = m.log, true
			}
		}
	}
	s.mu.Unlock() // before the answer, which is taken down under it
	if !found {
		http.NotFound(w, r)
		return
	}
	io.WriteString(w, log)
}

func (c *call) workflowRun() (*workflowRun, error) {
	if c.repo.ci != nil {
		for _, run := range c.repo.ci.runs {
			if run.ID == c.number("id") {
				return run, nil
			}
		}
	}
	return nil, notFound()
}

func cancelWorkflowRun(c *call) (any, error) {
	run, err := c.workflowRun()
	if err == nil {
		err = c.repo.cancelRun(run)
	}
	if err != nil {
		return nil, err
	}
	return answer{http.StatusAccepted, obj{}}, nil
}

func rerunFailedJobs(c *call) (any, error) {
	run, err := c.workflowRun()
	if err == nil {
		err = c.repo.rerunFailed(run)
	}
	if err != nil {
		return nil, err
	}
	return answer{http.StatusCreated, obj{}}, nil
}

// suiteOf is the suite of a check run.
func (r *Repository) suiteOf(m *run) int64 {
	if m.suite != 0 {
		return m.suite
	}
	return r.id*1000 + m.app
}

func (r *Repository) suiteJSON(id int64, branch, head string, app int64) obj {
	status, conclusion, n := "completed", any("success"), 0
	slug := ""
	for _, m := range r.runs {
		if m.Head != head || r.suiteOf(m) != id || m.app != app {
			continue
		}
		n++
		slug = m.App
		if m.Status != "completed" {
			status, conclusion = "in_progress", nil
		}
	}
	return obj{
		"id": id, "node_id": "CS_1", "head_branch": orNil(branch), "head_sha": head, "status": status, "conclusion": conclusion,
		"url": r.api("/check-suites/%d", id), "before": zeroID, "after": head, "pull_requests": []obj{},
		"app":        obj{"id": app, "slug": slug, "node_id": "A_" + slug, "name": slug, "owner": r.owner.json()},
		"repository": r.json(), "created_at": stamp(r.s.now()), "updated_at": stamp(r.s.now()), "latest_check_runs_count": n,
		"check_runs_url": r.api("/check-suites/%d/check-runs", id), "head_commit": r.shortCommitJSON(head),
	}
}

// shortCommitJSON is GitHub's short form of a commit.
func (r *Repository) shortCommitJSON(head string) obj {
	who := obj{"name": "somebody", "email": "somebody@users.example"}
	return obj{"id": head, "tree_id": head, "message": "", "timestamp": stamp(r.s.now()), "author": who, "committer": who}
}

func (r *Repository) workflowJSON(run *workflowRun) obj {
	url := r.api("/actions/runs/%d", run.ID)
	return obj{
		"id": run.ID, "node_id": "WFR_1", "name": "CI", "head_branch": run.Branch, "head_sha": run.Head, "path": ".github/workflows/ci.yml",
		"run_number": 1, "run_attempt": run.Attempt, "event": "push", "display_title": "CI", "status": run.Status, "conclusion": orNil(run.Conclusion),
		"workflow_id": 1, "check_suite_id": run.suite, "check_suite_node_id": "CS_1", "url": url, "html_url": r.page("/actions/runs/%d", run.ID),
		"pull_requests": []obj{}, "created_at": stamp(run.created), "updated_at": stamp(run.updated), "run_started_at": stamp(run.began),
		"jobs_url": url + "/jobs", "logs_url": url + "/logs", "check_suite_url": r.api("/check-suites/%d", run.suite), "artifacts_url": url + "/artifacts",
		"cancel_url": url + "/cancel", "rerun_url": url + "/rerun", "previous_attempt_url": nil, "workflow_url": r.api("/actions/workflows/1"),
		"repository": r.json(), "head_repository": r.json(), "head_commit": r.shortCommitJSON(run.Head),
	}
}
