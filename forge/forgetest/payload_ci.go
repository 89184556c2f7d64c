package forgetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// suite tells the check suites of a commit apart: one for each run of a workflow,
// one for each other App.
type suite struct {
	id           int64
	branch, head string // branch: the one that it was made for; may be ""
	app          int64
	slug         string // of the App
}

func (r *CI) suiteOf(m *run) suite {
	return suite{cmp.Or(m.suite, r.repo.id*1000+m.app), m.branch, m.Head, m.app, m.App}
}

// suiteJSON returns a suite as webhooks show it.
func (r *CI) suiteJSON(of suite) obj {
	made, changed := time.Time{}, time.Time{}
	var conclusions []string
	pending := false
	for _, m := range r.runs {
		if have := r.suiteOf(m); have.id != of.id || have.head != of.head {
			continue
		}
		if made.IsZero() {
			made = m.started
		}
		for _, at := range []time.Time{m.started, m.completed} {
			if at.After(changed) {
				changed = at
			}
		}
		conclusions = append(conclusions, m.Conclusion)
		pending = pending || m.Status != "completed"
	}
	status, conclusion := "completed", any(conclude(conclusions))
	if pending {
		status, conclusion = "in_progress", nil
	} else if len(conclusions) == 0 {
		status, conclusion, made, changed = "queued", nil, r.repo.s.now(), r.repo.s.now()
	}
	return obj{
		"id": of.id, "node_id": fmt.Sprintf("CS_%d", of.id), "head_branch": orNil(of.branch), "head_sha": of.head,
		"status": status, "conclusion": conclusion, "url": r.repo.shapes.api("/check-suites/%d", of.id), "before": zeroID, "after": of.head,
		"pull_requests": r.pullsAt(of.branch, of.head), "app": r.appOf(of.app, of.slug),
		"created_at": stamp(made), "updated_at": stamp(changed), "latest_check_runs_count": len(conclusions),
		"check_runs_url": r.repo.shapes.api("/check-suites/%d/check-runs", of.id), "head_commit": shortCommitJSON(of.head),
	}
}

// conclude returns the conclusion of a suite or a workflow run from those of its
// jobs.
func conclude(jobs []string) string {
	for _, worst := range []string{"failure", "timed_out", "action_required", "cancelled"} {
		if slices.Contains(jobs, worst) {
			return worst
		}
	}
	return "success"
}

// pullsAt lists the open pull requests that belong to a check. "A pull request
// matches a check suite if they have the same head_sha and head_branch. When the
// check suite's head_branch is in a forked repository it will be null and the
// pull_requests array will be empty." (webhook check_suite)
func (r *CI) pullsAt(branch, head string) []obj {
	short := func(ref, sha string) obj {
		return obj{"ref": ref, "sha": sha, "repo": obj{"id": r.repo.id, "name": r.repo.name, "url": r.repo.shapes.api("")}}
	}
	list := []obj{}
	for _, p := range r.repo.issues.openFrom(branch) {
		if p.Fork == "" && p.Head == head {
			list = append(list, obj{
				"id": r.repo.shapes.pullID(p), "number": p.Number, "url": r.repo.shapes.api("/pulls/%d", p.Number),
				"head": short(p.Branch, p.Head), "base": short(p.Base, orZero(r.repo.store.readRef("refs/heads/"+p.Base))),
			})
		}
	}
	return list
}

func (r *CI) runJSON(c *run) obj {
	// "If the integrator does not provide this, then the homepage of the GitHub app
	// is used." (REST, Create a check run)
	details := cmp.Or(c.DetailsURL, r.repo.s.url+"/apps/"+c.App)
	of := r.suiteOf(c)
	return obj{
		"id": c.ID, "node_id": fmt.Sprintf("CR_%d", c.ID), "name": c.Name, "head_sha": c.Head,
		"external_id": c.ExternalID, "status": c.Status, "conclusion": orNil(c.Conclusion),
		"started_at": stamp(c.started), "completed_at": stamp(c.completed), "details_url": details,
		"url": r.repo.shapes.api("/check-runs/%d", c.ID), "html_url": r.repo.shapes.page("/runs/%d", c.ID),
		"output": obj{
			"title": orNil(c.Title), "summary": orNil(c.Summary), "text": orNil(c.Text),
			"annotations_count": len(c.annotations), "annotations_url": r.repo.shapes.api("/check-runs/%d/annotations", c.ID),
		},
		"check_suite": obj{"id": of.id}, "pull_requests": r.pullsAt(c.branch, c.Head), "app": r.appOf(c.app, c.App),
	}
}

// emitRun sends a webhook about a check run: there its suite is shown in full.
func (r *CI) emitRun(u *user, c *run, action string, more obj) {
	of := r.suiteJSON(r.suiteOf(c)).without("latest_check_runs_count", "check_runs_url", "head_commit")
	r.repo.shapes.emit(u, "check_run", obj{"action": action, "check_run": r.runJSON(c).with(obj{"check_suite": of})}.with(more))
}

// appOf returns an App that reports: ours or a CI's.
func (r *CI) appOf(id int64, slug string) obj {
	return r.repo.s.App.someApp(id, slug, r.repo.owner.json(), map[string]string{"checks": "write"}, []string{})
}

// shortCommitJSON returns GitHub's short form of a commit. The queue reads only its
// id.
func shortCommitJSON(head string) obj {
	who := obj{"name": "somebody", "email": "somebody@users.example"}
	return obj{"id": head, "tree_id": head, "message": "", "timestamp": founded, "author": who, "committer": who}
}

func (r *CI) workflowJSON(run *workflowRun) obj {
	url, actor := r.repo.shapes.api("/actions/runs/%d", run.ID), r.repo.owner
	from := r.repo.shapes.brief()
	if run.Fork {
		from["id"] = r.repo.id + 1
	}
	if run.Actor != "" {
		actor = r.repo.s.appUser(strings.TrimSuffix(run.Actor, "[bot]"))
	}
	return obj{
		"id": run.ID, "node_id": fmt.Sprintf("WFR_%d", run.ID), "name": "CI", "head_branch": run.Branch, "head_sha": run.Head,
		"path": run.Path, "run_number": 1, "run_attempt": run.Attempt, "event": run.Event, "display_title": cmp.Or(run.Title, "CI"),
		"status": run.Status, "conclusion": orNil(run.Conclusion), "workflow_id": 1,
		"check_suite_id": run.suite, "check_suite_node_id": fmt.Sprintf("CS_%d", run.suite), "check_suite_url": r.repo.shapes.api("/check-suites/%d", run.suite),
		"url": url, "html_url": r.repo.shapes.page("/actions/runs/%d", run.ID), "workflow_url": r.repo.shapes.api("/actions/workflows/1"),
		"jobs_url": url + "/jobs", "logs_url": url + "/logs", "artifacts_url": url + "/artifacts",
		"cancel_url": url + "/cancel", "rerun_url": url + "/rerun", "previous_attempt_url": nil,
		"created_at": stamp(run.created), "updated_at": stamp(run.updated), "run_started_at": stamp(run.began),
		"actor": actor.json(), "triggering_actor": actor.json(), "pull_requests": r.pullsAt(run.Branch, run.Head),
		"repository": r.repo.shapes.brief(), "head_repository": from, "head_commit": shortCommitJSON(run.Head),
	}
}

func (r *CI) emitWorkflow(run *workflowRun, action string) {
	r.repo.shapes.emit(r.repo.s.appUser(actionsSlug), "workflow_run", obj{"action": action, "workflow_run": r.workflowJSON(run), "workflow": obj{
		"id": 1, "node_id": "W_1", "name": "CI", "path": run.Path, "state": "active", "created_at": founded, "updated_at": founded,
		"url": r.repo.shapes.api("/actions/workflows/1"), "html_url": r.repo.shapes.page("/blob/%s/.github/workflows/ci.yml", r.repo.main), "badge_url": r.repo.shapes.page("/workflows/CI/badge.svg"),
	}})
}

func (r *CI) emitSuite(u *user, of suite, action string) {
	r.repo.shapes.emit(u, "check_suite", obj{"action": action, "check_suite": r.suiteJSON(of)})
}

func (r *CI) emitStatus(u *user, st *status) {
	r.repo.shapes.emit(u, "status", obj{
		"id": st.id, "sha": st.sha, "name": r.repo.fullName(), "context": st.context, "state": st.state, "description": nil, "target_url": orNil(st.url),
		"avatar_url": u.json()["avatar_url"], "branches": []obj{}, "created_at": stamp(st.at), "updated_at": stamp(st.at), "commit": r.repo.shapes.commitJSON(st.sha),
	})
}
