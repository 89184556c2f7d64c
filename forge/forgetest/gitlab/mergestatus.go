package gitlab

import (
	"fmt"
	"slices"
)

// detailed returns the detailed_merge_status: one of the reasons that apply.
func (mr *mergeRequest) detailed() string {
	if mr.newStatus != "" {
		return mr.newStatus
	}
	if mr.state == "opened" && mr.checked != "checked" {
		return mr.checked
	}
	if why := mr.refusal(); why != "" {
		return why
	}
	return cmpOr(mr.ciRefusal(), "mergeable")
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// check enqueues a job that works out the merge status, if it is unchecked.
func (mr *mergeRequest) check() {
	if mr.state != "opened" || mr.checked != "unchecked" {
		return
	}
	mr.project.s.later(fmt.Sprint("merge status of !", mr.iid), 0, func() { mr.checked = "checked" })
}

// asked changes the status from unchecked to checking, after a client has seen it.
func (mr *mergeRequest) asked() {
	if mr.checked == "unchecked" {
		mr.checked = "checking"
	}
}

// mergeCheck is one of the checks of a merge request: "SUCCESS", "FAILED", "CHECKING" or
// "INACTIVE".
type mergeCheck struct{ name, state string }

// checks returns the checks of a merge request in GitLab's order, cheapest first, without
// conflicts and CI.
func (mr *mergeRequest) checks() []mergeCheck {
	p, s := mr.project, mr.project.s
	failed := func(yes bool) string { return map[bool]string{true: "FAILED", false: "SUCCESS"}[yes] }
	where := func(on bool, state string) string {
		if !on {
			return "INACTIVE"
		}
		return state
	}
	approved := failed(len(mr.approvals) < p.set.Approvals)
	if mr.syncing.After(s.now()) {
		approved = "CHECKING"
	}
	return []mergeCheck{
		{"not_open", failed(mr.state != "opened")},
		{"draft_status", failed(mr.draft())},
		{"commits_status", failed(mr.empty() || mr.from == nil || mr.from.gone)},
		{"discussions_not_resolved", where(p.set.MustResolve, failed(slices.ContainsFunc(mr.threads, func(t *thread) bool { return !t.resolved && !t.single })))},
		{"not_approved", where(s.opts.Premium, approved)},
		{"merge_request_blocked", where(s.opts.Premium, failed(slices.ContainsFunc(mr.blockers, func(b *mergeRequest) bool { return b.state != "merged" })))},
		{"status_checks_must_pass", where(s.opts.Premium && len(mr.external) > 0, failed(slices.ContainsFunc(mr.external, func(e ExternalCheck) bool { return e.Status != "passed" })))},
		{"need_rebase", where(p.set.MergeMethod != "merge", failed(mr.rebaseNeeded()))},
	}
}

// refusal returns the first check that fails, without CI; "": none.
func (mr *mergeRequest) refusal() string {
	for _, c := range mr.checks() {
		switch {
		case c.state == "FAILED":
			return c.name
		case c.state == "CHECKING":
			return "approvals_syncing"
		}
	}
	if mr.conflicts() {
		return "conflict"
	}
	return ""
}

func (mr *mergeRequest) conflicts() bool {
	_, ok := mr.project.mergeTree(mr.project.tip(mr.target), mr.head())
	return !ok
}

// Block makes a merge request depend on others, as on its page; without any, it depends
// on none any more.
func (p *Project) Block(iid int, by ...int) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	mr := p.mr(iid)
	mr.blockers = nil
	for _, n := range by {
		mr.blockers = append(mr.blockers, p.mr(n))
	}
}

// ExternalCheck is an external status check of a merge request: "pending", "passed" or
// "failed".
type ExternalCheck struct{ Name, Status string }

// SetExternal sets the external status checks of a merge request.
func (p *Project) SetExternal(iid int, checks ...ExternalCheck) {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.mr(iid).external = checks
}

func (mr *mergeRequest) rebaseNeeded() bool {
	p := mr.project
	return p.set.MergeMethod != "merge" && !p.isAncestor(p.tip(mr.target), mr.head())
}

// ciRefusal returns the reason of the setting pipelines-must-succeed: only a
// successful head pipeline, or a skipped one if that is allowed, gives none.
func (mr *mergeRequest) ciRefusal() string {
	if !mr.project.set.MustSucceed || mr.state != "opened" {
		return ""
	}
	h := mr.headPipeline()
	if h == nil {
		return "ci_must_pass"
	}
	switch h.status() {
	case "success":
		return ""
	case "skipped":
		if mr.project.set.SkippedPass {
			return ""
		}
		return "ci_must_pass"
	case "created", "waiting_for_resource", "preparing", "pending", "running", "canceling", "scheduled":
		return "ci_still_running"
	}
	return "ci_must_pass"
}

// headPipeline returns the newest pipeline of the head: one for the merge request before
// one for its branch, of any source. The pipelines of a fork's branch are the fork's
// (triggered_for_branch in app/finders/ci/pipelines_for_merge_request_finder.rb).
func (mr *mergeRequest) headPipeline() *pipeline {
	var branch *pipeline
	list := mr.project.pipelines
	if mr.from != mr.project {
		list = slices.Concat(mr.from.pipelines, list)
	}
	for _, pl := range slices.Backward(list) {
		if pl.sha != mr.head() && pl.head != mr.head() {
			continue
		}
		if pl.source == "merge_request_event" && (pl.ref == mr.headRef() || pl.head != "") {
			return pl
		}
		if branch == nil && pl.ref == mr.source && mr.from == pl.project {
			branch = pl
		}
	}
	return branch
}

func (mr *mergeRequest) headRef() string { return fmt.Sprintf("refs/merge-requests/%d/head", mr.iid) }
