package gitlab

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// obj is a JSON object.
type obj map[string]any

func (o obj) with(more obj) obj {
	out := maps.Clone(o)
	maps.Copy(out, more)
	return out
}

const stampLayout = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(stampLayout)
}

// hookStamp is how webhooks write times.
func hookStamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func (u *User) json() obj {
	return obj{"id": u.ID, "username": u.Name, "name": u.Name, "state": "active"}
}

func userObjects(users []*User) []obj {
	list := []obj{}
	for _, u := range users {
		list = append(list, u.json())
	}
	return list
}

func labelObjects(labels []string) []obj {
	list := []obj{}
	for i, l := range labels {
		list = append(list, obj{"id": i + 1, "title": l})
	}
	return list
}

func (p *Project) brief() obj {
	return obj{"id": p.id, "name": p.path[strings.LastIndex(p.path, "/")+1:], "path_with_namespace": p.path, "default_branch": p.main, "web_url": p.s.url + "/" + p.path}
}

// tell sends the hook of a merge request; extra has "oldrev" or "changes".
func (mr *mergeRequest) tell(action string, by *User, extra obj) {
	p := mr.project
	attributes := mr.attributes().with(obj{"action": action})
	payload := obj{"object_kind": "merge_request", "event_type": "merge_request", "user": by.json(), "project": p.brief(),
		"labels": labelObjects(mr.labels), "changes": obj{}, "assignees": userObjects(mr.assignees)}
	if old, ok := extra["oldrev"]; ok {
		attributes["oldrev"] = old
	}
	if changes, ok := extra["changes"]; ok {
		payload["changes"] = changes
	}
	payload["object_attributes"] = attributes
	p.send(MergeHook, payload)
}

func (mr *mergeRequest) attributes() obj {
	return obj{"id": mr.id, "iid": mr.iid, "title": mr.title, "description": mr.body, "state": mr.state, "source_branch": mr.source, "target_branch": mr.target,
		"source_project_id": mr.from.id, "target_project_id": mr.project.id, "author_id": mr.author.ID, "draft": mr.draft(), "work_in_progress": mr.draft(),
		"last_commit": obj{"id": mr.head()}, "updated_at": hookStamp(mr.updatedAt), "created_at": hookStamp(mr.createdAt), "merge_commit_sha": orNull(mr.mergeCommit)}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// tellNote sends the hook of a note: its user is the author, even if another user has
// edited the note.
func (mr *mergeRequest) tellNote(n *note, action string) {
	mr.project.send(NoteHook, obj{"object_kind": "note", "event_type": "note", "user": n.author.json(), "project_id": mr.project.id, "project": mr.project.brief(),
		"object_attributes": obj{"id": n.id, "note": n.body, "noteable_type": "MergeRequest", "author_id": n.author.ID, "project_id": mr.project.id, "noteable_id": mr.id,
			"created_at": hookStamp(n.createdAt), "updated_at": hookStamp(n.updatedAt), "system": false, "action": action, "type": nil,
			"url": mr.url() + "#note"},
		"merge_request": mr.attributes()})
}

func (p *Project) tellPush(who *User, m refMove) { p.send(PushHook, p.pushPayload(who, m)) }

func (p *Project) pushPayload(who *User, m refMove) obj {
	commits := []obj{}
	if m.new != "" {
		commits = append(commits, obj{"id": m.new, "message": p.subject(m.new)})
	}
	return obj{"object_kind": "push", "event_name": "push", "before": orZero(m.old), "after": orZero(m.new), "ref": m.ref, "checkout_sha": orNull(m.new),
		"user_id": who.ID, "user_name": who.Name, "user_username": who.Name, "project_id": p.id, "project": p.brief(), "commits": commits, "total_commits_count": len(commits)}
}

// tell sends the hook of a pipeline as it is when the job runs, with its latest builds,
// without bridges and without posted statuses (lib/gitlab/data_builder/pipeline.rb).
func (pl *pipeline) tell() {
	pl.project.s.later("pipeline hook", 0, func() {
		builds := []obj{}
		for _, j := range pl.jobs {
			if !j.status && !j.bridge && !j.retried {
				builds = append(builds, obj{"id": j.id, "name": j.name, "stage": j.stage, "status": j.state, "allow_failure": j.may})
			}
		}
		var of any // the merge request that it was made for
		for _, mr := range pl.project.sorted() {
			if pl.source == "merge_request_event" && strings.HasPrefix(pl.ref, fmt.Sprintf("refs/merge-requests/%d/", mr.iid)) {
				of = obj{"id": mr.id, "iid": mr.iid}
			}
		}
		pl.project.send(PipelineHook, obj{"object_kind": "pipeline", "merge_request": of, "user": pl.user.json(), "project": pl.project.brief(), "builds": builds,
			"object_attributes": obj{"id": pl.id, "ref": pl.ref, "sha": pl.sha, "source": pl.source, "status": pl.status(), "tag": false, "created_at": hookStamp(pl.made), "finished_at": nil}})
	})
}

func (pl *pipeline) tellJob(j *job) {
	if j.bridge {
		return
	}
	pl.project.s.later("job hook", 0, func() {
		pl.project.send(JobHook, obj{"object_kind": "build", "ref": pl.ref, "sha": pl.sha, "build_id": j.id, "build_name": j.name, "build_stage": j.stage,
			"build_status": j.state, "build_allow_failure": j.may, "pipeline_id": pl.id, "project_id": pl.project.id, "project_name": pl.project.path,
			"project": pl.project.brief(), "user": pl.user.json(), "repository": obj{"name": pl.project.path}})
	})
}

func (mr *mergeRequest) url() string {
	return mr.project.s.url + "/" + mr.project.path + "/-/merge_requests/" + itoa(mr.iid)
}

func (mr *mergeRequest) json() obj {
	p := mr.project
	out := obj{"id": mr.id, "iid": mr.iid, "project_id": p.id, "title": mr.title, "description": mr.body, "state": mr.state,
		"created_at": stamp(mr.createdAt), "updated_at": stamp(mr.updatedAt), "merged_at": stamp(mr.mergedAt),
		"target_branch": mr.target, "source_branch": mr.source, "source_project_id": mr.from.id, "target_project_id": p.id, "author": mr.author.json(),
		"assignees": userObjects(mr.assignees), "labels": orEmpty(mr.labels), "draft": mr.draft(), "work_in_progress": mr.draft(), "sha": orNull(mr.head()),
		"merge_commit_sha": orNull(mr.mergeCommit), "squash_commit_sha": orNull(mr.squashed), "squash": mr.squash, "web_url": mr.url(),
		"detailed_merge_status": mr.detailed(), "merge_status": "unchecked", "has_conflicts": false, "blocking_discussions_resolved": true,
		"references": obj{"full": p.path + "!" + itoa(mr.iid)}, "merge_error": nil, "user_notes_count": len(mr.notes)}
	if mr.from.gone {
		out["source_project_id"] = nil
	}
	if len(mr.versions) > 0 {
		v := mr.versions[len(mr.versions)-1]
		out["diff_refs"] = obj{"base_sha": v.base, "head_sha": v.head, "start_sha": v.base}
	}
	if h := mr.headPipeline(); h != nil {
		out["head_pipeline"] = h.json()
	} else {
		out["head_pipeline"] = nil
	}
	return out
}

func (pl *pipeline) json() obj {
	return obj{"id": pl.id, "iid": pl.id, "project_id": pl.project.id, "sha": pl.sha, "ref": pl.ref, "status": pl.status(), "source": pl.source,
		"created_at": stamp(pl.made), "updated_at": stamp(pl.made), "web_url": pl.project.s.url + "/" + pl.project.path + "/-/pipelines/" + itoa(pl.id),
		"user": pl.user.json(), "name": nil}
}

func (j *job) json() obj {
	return obj{"id": j.id, "name": j.name, "stage": j.stage, "status": j.state, "ref": j.ref, "allow_failure": j.may, "created_at": stamp(j.made), "started_at": stamp(j.began),
		"finished_at": stamp(j.ended), "web_url": j.pipelines.project.s.url + "/" + j.pipelines.project.path + "/-/jobs/" + itoa(j.id), "user": j.user.json(),
		"pipeline":       obj{"id": j.pipelines.id, "sha": j.pipelines.sha, "ref": j.pipelines.ref, "status": j.pipelines.status(), "project_id": j.pipelines.project.id},
		"failure_reason": j.reason, "commit": obj{"id": j.pipelines.sha}, "tag": false}
}

func (j *job) statusJSON() obj {
	return obj{"id": j.id, "sha": j.pipelines.sha, "ref": j.ref, "status": j.state, "name": j.name, "target_url": orNull(j.url), "description": orNull(j.words),
		"created_at": stamp(j.made), "started_at": stamp(j.began), "finished_at": stamp(j.ended), "allow_failure": j.may, "coverage": nil,
		"pipeline_id": j.pipelines.id, "author": j.user.json()}
}

func (n *note) json(iid int) obj {
	return obj{"id": n.id, "body": n.body, "author": n.author.json(), "system": n.system, "internal": n.internal, "confidential": n.internal,
		"created_at": stamp(n.createdAt), "updated_at": stamp(n.updatedAt), "noteable_iid": iid, "noteable_type": "MergeRequest", "resolvable": false}
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return slices.Clone(list)
}
