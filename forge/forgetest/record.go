package forgetest

import (
	"context"
	"strings"
)

// The head that GitHub has recorded for a pull request may differ from the tip of its
// branch: GitHub records a push some time after it has answered it, and judges a push of
// the base branch by the head that is recorded at that moment. So if a push moves a head
// and the base branch together, the pull request ends as closed. The same happens if the
// base branch is pushed first: when the head is recorded, the base contains all of its
// commits, and GitHub closes a pull request that has nothing to merge. The pull request
// ends as merged if the head is pushed first, and recorded, and the base branch is pushed
// after that. Sources: channable/hoff pull requests 196 (an atomic push), 245 and 246
// (the head first, then main once GitHub's webhook shows it); the README of the git
// merger in uber/submitqueue, "Head branches"; "Landing pull requests" in Node's
// collaborator guide, which has the author force-push the landed commits to the pull
// request's branch before main is pushed.
//
// The recorded head of a closed pull request does not change any more when its
// branch moves.

// unseen is the branch of a pull request with a push that is not recorded yet.
type unseen struct {
	actor  *user
	branch string
}

// HoldHeads keeps pushes to the branches of pull requests unrecorded until
// ReleaseHeads. Without it, they are recorded right after the push.
func (r *Repository) HoldHeads() {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	r.late = true
}

// ReleaseHeads records the pushes that HoldHeads has kept back; later pushes are
// recorded at once.
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

// recordHeads records the branches that a push has moved, now or later. The caller
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

// record makes the tip of a branch the head of the open pull requests that come from
// it, and closes those that then have nothing to merge. The caller holds r.refs and
// not s.mu.
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
