package gitlab

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// approvalsSync is how long after a push the approvals still exist.
const approvalsSync = 10 * time.Second

// refresh follows up a push to one ref, in a separate job: GitLab's RefreshService.
func (p *Project) refresh(who *User, m refMove) {
	branch := m.branch()
	p.closeUponMissingSource(who, branch)
	if m.old != "" && m.new != "" { // a new target branch counts as without commits
		p.mergeManually(who, branch, m)
	}
	for _, q := range p.s.projects {
		for _, mr := range q.sorted() {
			if mr.state == "opened" && mr.source == branch && mr.from == p && m.new != "" {
				mr.moved(who, m)
			} else if mr.state == "opened" && mr.target == branch && q == p {
				mr.unchecked()
			}
		}
	}
}

func (p *Project) closeUponMissingSource(who *User, branch string) {
	for _, q := range p.s.projects {
		for _, mr := range q.sorted() {
			if mr.state == "opened" && mr.source == branch && mr.from == p && p.tip(branch) == "" {
				mr.close(who)
			}
		}
	}
}

// mergeManually marks merge requests as merged if their content was pushed to their
// target: if all of six conditions hold.
func (p *Project) mergeManually(who *User, branch string, m refMove) {
	commits := p.between(m.old, m.new)
	for _, mr := range p.sorted() {
		if mr.target == branch && mr.state == "opened" && // closed ones stay closed; drafts and ones with failed pipelines count
			slices.Contains(commits, mr.head()) && // the stored head, not the branch's tip
			!mr.empty() &&
			mr.from != nil && !mr.from.gone {
			mr.merged(who, m.new, false)
		}
	}
}

// merged is GitLab's PostMergeService. After GitLab's own merge (own), the merge requests
// that ask for the source branch are retargeted; after a push, they are not.
func (mr *mergeRequest) merged(who *User, commit string, own bool) {
	mr.state, mr.mergeCommit, mr.mergedAt = "merged", commit, mr.project.s.now()
	mr.touch()
	if own {
		mr.project.retargetChain(who, mr)
	}
	if mr.target == mr.project.main {
		for n, open := range mr.project.issues {
			if open && strings.Contains(mr.body, fmt.Sprintf("Closes #%d", n)) {
				mr.project.s.later(fmt.Sprint("close issue ", n), 0, func() { mr.project.issues[n] = false })
			}
		}
	}
	mr.tell("merge", who, nil)
}

// retargetChain retargets at most four merge requests that ask for the branch of a merged
// one: they then ask for its target.
func (p *Project) retargetChain(who *User, low *mergeRequest) {
	left := 4
	for _, mr := range p.sorted() {
		if left > 0 && mr.state == "opened" && mr.target == low.source && low.from == p && mr.from == p {
			mr.retarget(who, low.target)
			left--
		}
	}
}

// moved updates an open merge request after a push to its source branch.
func (mr *mergeRequest) moved(who *User, m refMove) {
	p := mr.project
	if mr.from.tip(mr.source) == mr.head() {
		return // it was opened, or reloaded, after that push
	}
	mr.reload()
	mr.touch()
	if strings.HasPrefix(strings.ToLower(p.subject(mr.head())), "draft:") && !mr.draft() {
		mr.title = "Draft: " + mr.title
	}
	if p.set.Reset && p.s.opts.Premium {
		mr.syncing = p.s.now().Add(approvalsSync)
		p.s.later(fmt.Sprint("reset approvals of !", mr.iid), approvalsSync, func() {
			mr.approvals, mr.syncing = nil, time.Time{}
			mr.unchecked()
		})
	}
	mr.tell("update", who, obj{"oldrev": m.old})
	if p.set.Merged {
		p.s.later("pipeline of a merge request", 0, func() { p.mergeRequestPipeline(mr, who) })
	}
}
