package gitlab

import (
	"fmt"
	"net/http"
	"slices"
	"unicode/utf8"
)

// posting is one commit status that somebody posts.
type posting struct {
	state, ref, name, url, words string
	pipeline                     int
}

// textLimit is the largest length of the texts of a commit status.
const textLimit = 255

// post answers POST .../statuses/:sha: the status becomes a job of the newest pipeline
// of the commit, or of a new one, and counts there.
func (p *Project) post(who *User, sha string, w posting) (*job, *refused) {
	bad := func(format string, args ...any) *refused {
		return &refused{http.StatusBadRequest, obj{"message": fmt.Sprintf(format, args...)}}
	}
	if !p.has(sha) {
		return nil, &refused{http.StatusNotFound, obj{"message": "404 Commit Not Found"}}
	}
	if !slices.Contains([]string{"pending", "running", "success", "failed", "canceled", "skipped"}, w.state) {
		return nil, &refused{http.StatusBadRequest, obj{"error": "state does not have a valid value"}}
	}
	for name, text := range map[string]string{"target_url": w.url, "description": w.words, "ref": w.ref} {
		if utf8.RuneCountInString(text) > textLimit {
			return nil, bad("%s is too long (maximum is 255 characters)", name)
		}
	}
	ref := w.ref
	if ref == "" {
		ref = p.anyBranchOf(sha)
	}
	if ref == "" {
		return nil, &refused{http.StatusNotFound, obj{"message": "404 References for commit Not Found"}}
	}
	if g, guarded := p.guard(ref); guarded && max(g.Push, g.Merge) > 0 && p.level(who) < permissive(g.Push, g.Merge) {
		return nil, &refused{http.StatusForbidden, obj{"message": "403 Forbidden"}}
	}
	var pl *pipeline
	for _, x := range slices.Backward(p.pipelines) {
		if x.sha == sha && (w.pipeline == 0 || x.id == w.pipeline) && (w.ref == "" || x.ref == w.ref) {
			pl = x
			break
		}
	}
	if pl == nil && w.pipeline != 0 {
		return nil, &refused{http.StatusNotFound, obj{"message": "404 Pipeline Not Found"}}
	}
	if pl == nil {
		pl = p.addPipeline(who, ref, sha, "external")
	}
	for _, j := range pl.jobs {
		if j.name == w.name && !j.status {
			return nil, bad("name: taken")
		}
	}
	var row *job
	for _, j := range slices.Backward(pl.jobs) { // only of the same account
		if j.status && j.name == w.name && j.user == who && !j.retried && (j.state == "pending" || j.state == "running") {
			row = j
			break
		}
	}
	now := p.s.now()
	if row == nil {
		for _, j := range pl.jobs {
			if j.status && j.name == w.name && j.user == who {
				j.retried = true
			}
		}
		row = &job{id: p.s.nextID(), name: w.name, stage: "external", state: "created", user: who, status: true, ref: ref, made: now, pipelines: pl}
		pl.jobs = append(pl.jobs, row)
	} else if row.state == w.state || row.state == "running" && w.state == "pending" {
		event := map[string]string{"running": "run", "pending": "enqueue"}[w.state]
		return nil, bad("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via %q)", event, row.state, event)
	}
	row.state, row.words, row.url = w.state, w.words, w.url
	if w.state == "running" {
		row.began = now
	} else if over(w.state) {
		row.ended = now
	}
	pl.tell()
	return row, nil
}

// anyBranchOf returns a branch that contains a commit; "": none does.
func (p *Project) anyBranchOf(sha string) string {
	out, _ := p.git(nil, "for-each-ref", "--contains", sha, "--format=%(refname:lstrip=2)", "--count=1", "refs/heads/")
	return out
}

// Statuses returns the statuses that an account has posted under a name on a commit,
// without those that newer ones have replaced.
func (p *Project) Statuses(user, sha, name string) (list []Job) {
	for _, pl := range p.Pipelines() {
		for _, j := range pl.Jobs {
			if pl.SHA == sha && j.Status && j.Name == name && j.User == user && !j.Retried {
				list = append(list, j)
			}
		}
	}
	return list
}
