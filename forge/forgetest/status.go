package forgetest

import (
	"slices"
	"strings"
	"time"
)

// status is a commit status.
type status struct {
	id                       int64
	context, state, url, sha string
	at                       time.Time
}

// PostStatus posts a commit status, as another CI does: "pending", "success",
// "failure" or "error".
func (r *CI) PostStatus(head, name, state string) {
	r.repo.s.mu.Lock()
	defer r.repo.s.mu.Unlock()
	r.postStatus(head, name, state)
	r.repo.s.touch()
}

func (r *CI) postStatus(head, name, state string) {
	st := &status{id: r.repo.s.nextID(), context: name, state: state, sha: head, at: r.repo.s.now(), url: r.repo.shapes.page("/ci/%s", head)}
	r.statuses = append(r.statuses, st)
	r.emitStatus(r.repo.s.appUser("other-ci"), st)
}

// statusesOf lists the newest status of each context of a commit, newest first.
// Contexts that differ only in case are the same (REST, commit statuses).
func (r *CI) statusesOf(head string) []*status {
	var list []*status
	seen := map[string]bool{}
	for _, st := range slices.Backward(r.statuses) {
		if name := strings.ToLower(st.context); st.sha == head && !seen[name] {
			seen[name] = true
			list = append(list, st)
		}
	}
	return list
}
