package gitlab

import (
	"fmt"
	"slices"
)

// detailed is the detailed_merge_status: of all that does not hold, one reason.
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

// check has the merge status worked out, if it is not: what is asked for is enqueued, and
// the asker told so.
func (mr *mergeRequest) check() {
	if mr.state != "opened" || mr.checked != "unchecked" {
		return
	}
	mr.project.s.later(fmt.Sprint("merge status of !", mr.iid), 0, func() { mr.checked = "checked" })
}

// asked moves on the status of one whose check has begun.
func (mr *mergeRequest) asked() {
	if mr.checked == "unchecked" {
		mr.checked = "checking"
	}
}

// refusal is the first check that fails, cheapest first, but for CI; "": none.
func (mr *mergeRequest) refusal() string {
	p := mr.project
	switch {
	case mr.state != "opened":
		return "not_open"
	case mr.draft():
		return "draft_status"
	case mr.empty() || mr.from == nil || mr.from.gone:
		return "commits_status"
	case p.set.MustResolve && slices.ContainsFunc(mr.threads, func(t *thread) bool { return !t.resolved && !t.single }):
		return "discussions_not_resolved"
	case mr.syncing.After(p.s.now()):
		return "approvals_syncing"
	case p.s.opts.Premium && len(mr.approvals) < p.set.Approvals:
		return "not_approved"
	case mr.rebaseNeeded():
		return "need_rebase"
	}
	if _, ok := p.mergeTree(p.tip(mr.target), mr.head()); !ok {
		return "conflict"
	}
	return ""
}

func (mr *mergeRequest) rebaseNeeded() bool {
	p := mr.project
	return p.set.MergeMethod != "merge" && !p.isAncestor(p.tip(mr.target), mr.head())
}

// ciRefusal is what pipelines-must-succeed says: anything but success of the head
// pipeline is refused.
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

// headPipeline is the newest one of the head: one for the merge request before one for its
// branch, of whatever source. Those of a fork's branch are not the project's.
func (mr *mergeRequest) headPipeline() *pipeline {
	var branch *pipeline
	for _, pl := range slices.Backward(mr.project.pipelines) {
		if pl.sha != mr.head() {
			continue
		}
		if pl.source == "merge_request_event" && pl.ref == mr.headRef() {
			return pl
		}
		if branch == nil && pl.ref == mr.source && mr.from == mr.project {
			branch = pl
		}
	}
	return branch
}

func (mr *mergeRequest) headRef() string { return fmt.Sprintf("refs/merge-requests/%d/head", mr.iid) }
