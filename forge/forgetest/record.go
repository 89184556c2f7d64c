package forgetest

import (
	"context"
	"strings"
)

// The head that GitHub has recorded of a pull request is not where its branch is: a push
// is taken in some time after it has been answered, and a push of the base branch is
// judged against what is recorded at that moment. So a push that moves a head and the
// base branch together ends with the pull request closed, as one does that moves the
// base branch first: when the head is recorded, it has nothing that the base has not,
// and GitHub closes what has nothing to merge. It ends as merged where the head is pushed
// first, and recorded, and the base branch after that. Sources: channable/hoff pull
// requests 196 (an atomic push), 245 and 246 (the head first, then main once GitHub's
// webhook shows it); the README of the git merger in uber/submitqueue, "Head branches";
// "Landing pull requests" in Node's collaborator guide, which has the author force-push
// the landed commits to the pull request's branch before main is pushed.
//
// The record of a closed pull request does not change any more, wherever its
// branch goes.

// unseen is a pull request's branch that was pushed to and is yet to be recorded.
type unseen struct {
	actor  *user
	branch string
}

// HoldHeads has what is pushed to the branches of pull requests go unrecorded until
// ReleaseHeads. Without it, it is recorded right after the push.
func (r *Repository) HoldHeads() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.late = true
}

// ReleaseHeads records what HoldHeads has kept back, and from now on what comes.
func (r *Repository) ReleaseHeads() {
	r.refs.Lock()
	defer r.refs.Unlock()
	r.s.mu.Lock()
	late := r.unseen
	r.late, r.unseen = false, nil
	r.s.mu.Unlock()
	for _, u := range late {
		r.store.record(context.Background(), u)
	}
}

// recordHeads takes in the branches that a push has moved, now or later. The caller
// holds r.refs and not s.mu.
func (r *store) recordHeads(ctx context.Context, actor *user, moves []refMove) {
	for _, m := range moves {
		branch, ok := strings.CutPrefix(m.ref, "refs/heads/")
		if !ok || m.new == zeroID {
			continue
		}
		u := unseen{actor, branch}
		r.repo.s.mu.Lock()
		late := r.repo.late
		if late {
			r.repo.unseen = append(r.repo.unseen, u)
		}
		r.repo.s.mu.Unlock()
		if !late {
			r.record(ctx, u)
		}
	}
}

// record makes where a branch is the head of the open pull requests that come from it,
// and closes those that have nothing to merge by then. The caller holds r.refs and not
// s.mu.
func (r *store) record(ctx context.Context, u unseen) {
	head := r.readRef("refs/heads/" + u.branch)
	if head == "" {
		return
	}
	r.repo.s.mu.Lock()
	pulls := r.repo.issues.openFrom(u.branch)
	r.repo.s.mu.Unlock()
	for _, p := range pulls {
		if p.Fork != "" {
			continue
		}
		if err := r.writeRef(p.headRef(), head); err != nil {
			r.repo.s.log.Error("record a head", "pull", p.Number, "err", err)
			continue
		}
		_, err := r.git(ctx, nil, "merge-base", "--is-ancestor", head, "refs/heads/"+p.Base)
		r.repo.s.mu.Lock()
		r.synchronize(u.actor, p, head)
		if err == nil {
			r.repo.issues.closePull(u.actor, p)
		}
		r.repo.s.touch()
		r.repo.s.mu.Unlock()
	}
}

func (r *store) synchronize(actor *user, p *pull, head string) {
	before := p.Head
	if before == head {
		return
	}
	p.Head, p.updated, p.pusher = head, r.repo.s.now(), actor.login
	r.repo.shapes.emitPull(actor, p, "synchronize", obj{"before": before, "after": head})
	r.repo.issues.dismissStale(actor, p)
}
