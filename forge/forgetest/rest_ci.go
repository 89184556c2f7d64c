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
		{pattern: "GET " + base + "/actions/runs/{id}/jobs", need: "actions:read", f: listJobs},
		{pattern: "GET " + base + "/actions/permissions", need: "administration:read", f: getActions},
		{pattern: "GET " + base + "/actions/jobs/{id}/logs", need: "actions:read", f: jobLog},
		{pattern: "POST " + base + "/actions/runs/{id}/cancel", need: "actions:write", f: cancelWorkflowRun},
		{pattern: "POST " + base + "/actions/runs/{id}/rerun-failed-jobs", need: "actions:write", f: rerunFailedJobs},
	}
}

// listSuites lists the suites of a commit: one for each run of a workflow, one
// for each other App.
func listSuites(c *call) (any, error) {
	head := c.repo.store.resolve(c.r.PathValue("ref"))
	if !c.repo.store.hasObject(head) {
		return nil, &problem{status: 422, message: "No commit found for SHA: " + head}
	}
	seen := map[int64]bool{}
	list := []obj{}
	for _, m := range c.repo.CI.runs {
		if of := c.repo.CI.suiteOf(m); m.Head == head && !seen[of.id] {
			seen[of.id] = true
			list = append(list, c.repo.CI.suiteJSON(of).with(obj{"repository": c.repo.shapes.json()}))
		}
	}
	return obj{"total_count": len(list), "check_suites": paged(c, list)}, nil
}

func combinedStatus(c *call) (any, error) {
	head := c.repo.store.resolve(c.r.PathValue("ref"))
	if !c.repo.store.hasObject(head) {
		return nil, &problem{status: 422, message: "No commit found for SHA: " + head}
	}
	list, state := []obj{}, "success"
	for _, st := range c.repo.CI.statusesOf(head) {
		list = append(list, obj{
			"id": st.id, "node_id": "SC_1", "state": st.state, "context": st.context, "description": nil, "target_url": orNil(st.url),
			"avatar_url": "", "url": c.repo.shapes.api("/statuses/%s", head), "created_at": stamp(st.at), "updated_at": stamp(st.at),
		})
		switch {
		case st.state == "failure", st.state == "error":
			state = "failure"
		case st.state == "pending" && state == "success":
			state = "pending"
		}
	}
	if len(list) == 0 {
		state = "pending"
	}
	return obj{"state": state, "sha": head, "total_count": len(list), "statuses": paged(c, list), "repository": c.repo.shapes.json(),
		"url": c.repo.shapes.api("/commits/%s/status", head), "commit_url": c.repo.shapes.api("/commits/%s", head)}, nil
}

// listWorkflowRuns lists the newest first.
func listWorkflowRuns(c *call) (any, error) {
	q := c.r.URL.Query()
	var list []*workflowRun
	if c.repo.CI.ci != nil {
		for _, run := range slices.Backward(c.repo.CI.ci.runs) {
			if (q.Get("branch") == "" || q.Get("branch") == run.Branch) && (q.Get("head_sha") == "" || q.Get("head_sha") == run.Head) &&
				(q.Get("actor") == "" || strings.EqualFold(q.Get("actor"), run.Actor)) {
				list = append(list, run)
			}
		}
	}
	out := []obj{}
	for _, run := range paged(c, list) {
		out = append(out, c.repo.CI.workflowJSON(run))
	}
	return obj{"total_count": len(list), "workflow_runs": out}, nil
}

// listJobs lists the jobs of a run, by their newest check runs.
func listJobs(c *call) (any, error) {
	run, err := c.workflowRun()
	if err != nil {
		return nil, err
	}
	list := []obj{}
	for _, j := range run.jobs {
		m := c.repo.CI.runOf(run.suite, j.Name)
		url := c.repo.shapes.api("/actions/jobs/%d", m.ID)
		list = append(list, obj{"id": m.ID, "node_id": fmt.Sprintf("CR_%d", m.ID), "run_id": run.ID, "run_url": c.repo.shapes.api("/actions/runs/%d", run.ID),
			"head_sha": run.Head, "workflow_name": "CI", "head_branch": run.Branch, "name": m.Name, "url": url, "html_url": url,
			"status": m.Status, "conclusion": orNil(m.Conclusion), "created_at": stamp(m.started), "started_at": stamp(m.started), "completed_at": nil,
			"check_run_url": c.repo.shapes.api("/check-runs/%d", m.ID), "labels": []string{}, "runner_id": nil, "runner_name": nil,
			"runner_group_id": nil, "runner_group_name": nil})
	}
	return obj{"total_count": len(list), "jobs": paged(c, list)}, nil
}

func getActions(c *call) (any, error) {
	return obj{"enabled": !c.repo.CI.off, "allowed_actions": "all"}, nil
}

// jobLog tells where the log of a job is; its id is that of the check run.
func jobLog(c *call) (any, error) {
	m, err := c.run()
	if err != nil || m.app != actionsApp || m.Status != "completed" || m.log == "" {
		return nil, notFound()
	}
	c.next.Set("Location", fmt.Sprintf("%s/_logs/%s/%d", c.s.url, c.repo.fullName(), m.ID))
	return answer{http.StatusFound, nil}, nil
}

// serveLog answers as the separate store of logs: it takes no credentials.
func (s *web) serveLog(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "" {
		http.Error(w, "credentials for somebody else", http.StatusBadRequest)
		return
	}
	log, found := "", false
	s.server.mu.Lock()
	if repo := s.server.repos[strings.ToLower(r.PathValue("owner")+"/"+r.PathValue("name"))]; repo != nil {
		for _, m := range repo.CI.runs {
			if fmt.Sprint(m.ID) == r.PathValue("id") {
				log, found = m.log, true
			}
		}
	}
	s.server.mu.Unlock() // before the answer: listing it takes the same lock
	if !found {
		http.NotFound(w, r)
		return
	}
	io.WriteString(w, log)
}

func (c *call) workflowRun() (*workflowRun, error) {
	if c.repo.CI.ci != nil {
		for _, run := range c.repo.CI.ci.runs {
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
		err = c.repo.CI.cancelRun(run)
	}
	if err != nil {
		return nil, err
	}
	return answer{http.StatusAccepted, obj{}}, nil
}

func rerunFailedJobs(c *call) (any, error) {
	run, err := c.workflowRun()
	if err == nil {
		err = c.repo.CI.rerunFailed(run)
	}
	if err != nil {
		return nil, err
	}
	return answer{http.StatusCreated, obj{}}, nil
}
