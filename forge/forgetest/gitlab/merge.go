package gitlab

import (
	"fmt"
	"net/http"
)

// merging holds the parameters of a merge.
type merging struct {
	sha, message   string
	squash, remove bool
}

// accept answers PUT .../merge: its refusals come in GitLab's order, so that a moved
// head is often refused with 405 or 422 first.
func (mr *mergeRequest) accept(who *User, want merging) (*refused, bool) {
	p := mr.project
	g, guarded := p.guard(mr.target)
	if p.level(who) < 30 || guarded && (g.Merge == 0 || p.level(who) < g.Merge) {
		return &refused{http.StatusUnauthorized, obj{"message": "401 Unauthorized"}}, false
	}
	if mr.checked != "checked" {
		mr.checked = "checked" // this call works out the status itself
	}
	switch why := cmpOr(mr.refusal(), mr.ciRefusal()); {
	case why == "conflict" || why == "need_rebase":
		return &refused{http.StatusUnprocessableEntity, obj{"message": "422 Branch cannot be merged"}}, false
	case why != "":
		return &refused{http.StatusMethodNotAllowed, obj{"message": "405 Method Not Allowed"}}, false
	}
	if want.sha != "" && want.sha != mr.head() {
		return &refused{http.StatusConflict, obj{"message": "SHA does not match HEAD of source branch: " + mr.head()}}, false
	}
	squash := mr.squash || want.squash // false cannot switch it off
	if p.set.Squash == "always" && !squash {
		return &refused{http.StatusUnprocessableEntity, obj{"message": "422 This project requires squashing commits when merge requests are accepted."}}, false
	}
	if p.s.fussy(mr) {
		return nil, false // 200, and it is still open
	}
	tip, head := p.tip(mr.target), mr.head()
	message := want.message
	if message == "" {
		message = fmt.Sprintf("Merge branch '%s' into '%s'\n\n%s\n\nSee merge request %s!%d", mr.source, mr.target, mr.title, p.path, mr.iid)
	}
	if squash {
		tree, ok := p.mergeTree(tip, head)
		if !ok {
			return &refused{http.StatusUnprocessableEntity, obj{"message": "422 Branch cannot be merged"}}, false
		}
		mr.squashed = p.commitTree(tree, cmpOr(want.message, mr.title), p.base(tip, head))
		if p.set.MergeMethod == "ff" {
			mr.squashed = p.commitTree(tree, cmpOr(want.message, mr.title), tip)
		}
		head = mr.squashed
	}
	commit := head
	if p.set.MergeMethod != "ff" {
		tree, ok := p.mergeTree(tip, head)
		if !ok {
			return &refused{http.StatusUnprocessableEntity, obj{"message": "422 Branch cannot be merged"}}, false
		}
		commit = p.commitTree(tree, message, tip, head)
	}
	move := refMove{"refs/heads/" + mr.target, tip, commit}
	must(p.transact([]refMove{move}))
	mr.merged(who, commit, true)
	p.received(who, []refMove{move}, nil)
	if (want.remove || p.set.DeleteSource) && mr.from == p && p.tip(mr.source) == mr.head() {
		gone := refMove{"refs/heads/" + mr.source, mr.head(), ""}
		must(p.transact([]refMove{gone}))
		p.received(who, []refMove{gone}, nil)
	}
	return nil, true
}

// fussy says whether the next merge answers 200 and merges nothing, as older versions do.
func (s *Server) fussy(mr *mergeRequest) bool {
	if mr.mergeError == "stays open" {
		mr.mergeError = ""
		return true
	}
	return false
}

// MergeStaysOpen makes the next merge of a merge request answer 200 and leave it
// open.
func (p *Project) MergeStaysOpen(iid int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).mergeError = "stays open"
}

// Merge merges a merge request, as a user does by the button.
func (p *Project) Merge(user string, iid int) error {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	no, _ := p.mr(iid).accept(p.s.user(user), merging{})
	if no != nil {
		return fmt.Errorf("%d: %v", no.status, no.body)
	}
	return nil
}
