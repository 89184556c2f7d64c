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
func (r *Repository) PostStatus(head, name, state string) {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.postStatus(head, name, state)
	r.s.touch()
}

func (r *Repository) postStatus(head, name, state string) {
	st := &status{id: r.s.nextID(), context: name, state: state, sha: head, at: r.s.now(), url: r.page("/ci/%s", head)}
	r.statuses = append(r.statuses, st)
	r.emitStatus(r.s.appUser("other-ci"), st)
}

// statusesOf lists the newest status of each context of a commit, newest first.
// Contexts are told apart whatever their letters' case (REST, commit statuses).
func (r *Repository) statusesOf(head string) []*status {
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
