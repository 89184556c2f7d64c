package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// afterwards is how GitLab takes note of pushes: each ref has a job of its own, and the
// jobs run in any order, at any time. The job of a source branch stores the head of its
// merge request; with resets it takes back the approvals. The job of the target branch
// calls those merge requests merged whose stored head is there, and no job does so later: a
// merge request whose head is stored after that stays open, with nothing in it.
// (RefreshService and PostMergeService of GitLab; forge/forgetest/gitlab does the same.)
type afterwards struct {
	jobs     []int // numbers of merge requests whose branch has moved; 0: main has
	resets   bool
	approved map[int]queue.CommitID // the head of which a move has taken back the approvals
	ended    map[int]bool           // merge requests that were merged or closed, by anybody

	merged, empty, closed int // by the target's job, left open by it with nothing in it, closed by the queue
}

// onGitLab has the world's forge follow GitLab's rules. Landings are drawn by branched.
func (h *history) onGitLab() {
	h.branched()
	h.rules.MergeAPI, h.branches.declines = "", nil
	h.branches.gitlab = &afterwards{ended: map[int]bool{}, approved: map[int]queue.CommitID{}, resets: h.chance(50, "approvals are reset")}
	h.requires = h.branches.gitlab.resets
	if h.chance(30, "semi-linear") {
		h.rules.Method = config.MethodSemiLinear
	}
}

// pushed leaves the job of a merge request's branch, or of main, to be run.
func (g *afterwards) pushed(number int) { g.jobs = append(g.jobs, number) }

// follow runs one of the jobs.
func (w *world) follow(which int) {
	g := w.branches.gitlab
	number := g.jobs[which]
	g.jobs = slices.Delete(slices.Clone(g.jobs), which, which+1)
	if number == 0 {
		w.callMerged()
		return
	}
	if p := w.pulls[number]; p.open {
		if b := w.moved(p); b != nil {
			w.note(p, b)
		}
	}
}

// followAll runs all jobs, in the order of the pushes.
func (w *world) followAll() {
	for w.branches != nil && w.branches.gitlab != nil && len(w.branches.gitlab.jobs) > 0 {
		w.follow(0)
	}
}

// callMerged is the job of the target branch.
func (w *world) callMerged() {
	g := w.branches.gitlab
	there := map[queue.CommitID]bool{}
	w.reach(w.main, there)
	for _, c := range w.line(w.main) {
		for _, head := range c.merged() {
			w.reach(head, there)
		}
	}
	for _, n := range derived.Sorted(w.pulls) {
		p := w.pulls[n]
		if !p.open || p.base != "main" {
			continue
		}
		stored, b := p.head, w.moved(p)
		if b != nil {
			stored = b.shown
		}
		if !there[stored] {
			if b != nil && there[b.at] {
				g.empty++
			}
			continue
		}
		p.open, p.merged, g.ended[n] = false, true, true
		g.merged++
		w.logf("## merge request %d is merged", n)
		w.mail = append(w.mail, w.event(queue.Closed{Number: n, Merged: true}))
	}
}

// closesLanded closes the merge request of a change that has landed and that GitLab does
// not show as merged by itself: what the queue's performer does with what the core says.
func (w *world) closesLanded(p *pull, ch queue.Change) {
	if w.branches == nil || w.branches.gitlab == nil || ch.Phase != queue.Landed || ch.Verdict == nil || !p.open || p.head != ch.Head {
		return
	}
	if ch.Method.Keeps() || ch.Verdict.Along && !ch.Verdict.Closed {
		return // it is said to be shown as merged
	}
	p.open, w.branches.gitlab.ended[p.number] = false, true
	w.branches.gitlab.closed++
	w.mail = append(w.mail, w.event(queue.Closed{Number: p.number}))
}

// reset takes back the approvals of a merge request whose head has changed, where the
// project has it so.
func (g *afterwards) reset(p *pull) {
	if g != nil && g.resets {
		if len(p.lacks) == 0 {
			g.approved[p.number] = p.head
		}
		p.lacks = []queue.Requirement{{Kind: queue.RequireReviews, Names: []string{"0", "1"}}}
	}
}

// metAtHead reports whether a pull request meets what is asked of it at the head that it is
// shown at. Approvals of that head that only a move of it by the queue has taken back count.
func (w *world) metAtHead(p *pull) bool {
	if p.draft || len(p.lacks) == 0 {
		return !p.draft
	}
	return w.branches != nil && w.branches.gitlab != nil && w.branches.gitlab.approved[p.number] == w.shows(p)
}

// ends demands, at the end, that no merge request is left open whose change has landed.
func (a *audit) ends() {
	w := a.w
	w.Helper()
	if w.branches == nil || w.branches.gitlab == nil {
		return
	}
	for _, id := range derived.Sorted(w.core.State().Changes) {
		ch := w.core.State().Changes[id]
		p := w.pulls[ch.Number]
		if ch.Phase == queue.Landed && p.head == ch.Head && p.base == "main" && p.open && !w.branches.gitlab.ended[p.number] && !a.removed[id] {
			w.Fatalf("merge request %d is left open, although %s has landed (%s): %+v", p.number, id, ch.Method, ch.Verdict)
		}
	}
}
