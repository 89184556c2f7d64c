package forgetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// refMove is one ref that is asked to move. old is "" for a ref to create, new is
// zeroID for a ref to delete.
type refMove struct {
	ref, old, new string
}

type pushOptions struct {
	atomic  bool
	cleanup string // further lines for update-ref
}

// pushResult is the result of each move: "" is success.
type pushResult struct {
	moves  []refMove
	reason []string
	lines  []string // for the person pushing
}

func (p pushResult) err() error {
	var all []error
	for i, reason := range p.reason {
		if reason != "" {
			all = append(all, fmt.Errorf("%s: %s: %s", p.moves[i].ref, reason, strings.Join(p.lines, "\n")))
		}
	}
	return errors.Join(all...)
}

// push is the only function that moves branches and tags: it applies protection,
// makes the transaction in git, and then updates pull requests and sends webhooks.
// The caller holds r.refs and has the objects in place.
func (r *store) push(ctx context.Context, who identity, moves []refMove, o pushOptions) pushResult {
	res := pushResult{moves: moves, reason: make([]string, len(moves))}
	refused := false
	for i, m := range moves {
		if no := r.repo.law.judge(ctx, who, m); no != nil {
			res.reason[i], refused = no.reason, true
			res.lines = append(res.lines, no.lines...)
		} else if now := r.readRef(m.ref); now != m.old {
			res.reason[i], refused = "failed to update ref", true
			res.lines = append(res.lines, fmt.Sprintf("error: cannot lock ref '%s': is at %s but expected %s", m.ref, orZero(now), orZero(m.old)))
		}
	}
	if refused && o.atomic {
		for i := range res.reason {
			if res.reason[i] == "" {
				res.reason[i] = "atomic push failure"
			}
		}
	}
	if err := r.transact(ctx, &res, o.cleanup); err != nil {
		for i := range res.reason {
			if res.reason[i] == "" {
				res.reason[i] = "failed to update ref"
			}
		}
		res.lines = append(res.lines, err.Error())
	}
	var done []refMove
	for i, m := range moves {
		if res.reason[i] == "" && m.old != m.new {
			done = append(done, m)
		}
	}
	if len(done) > 0 {
		r.pushed(ctx, who, done)
	}
	return res
}

func orZero(id string) string {
	if id == "" {
		return zeroID
	}
	return id
}

// transact moves the refs that were not refused in one git transaction.
func (r *store) transact(ctx context.Context, res *pushResult, cleanup string) error {
	var in bytes.Buffer
	in.WriteString(cleanup)
	for i, m := range res.moves {
		if res.reason[i] != "" || m.old == m.new {
			continue
		}
		fmt.Fprintf(&in, "update %s %s %s\n", m.ref, m.new, orZero(m.old))
	}
	if in.Len() == 0 {
		return nil
	}
	if done, err := r.transactHere(in.String()); done {
		return err
	}
	_, err := r.git(ctx, &in, "update-ref", "--stdin")
	return err
}

// pushed updates pull requests after moves, and sends webhooks.
func (r *store) pushed(ctx context.Context, who identity, moves []refMove) {
	type told struct {
		refMove
		commits []commitInfo // new ones, newest first
		forced  bool
		tip     *commitInfo
	}
	var all []told
	var tips []string
	for _, m := range moves {
		t := told{refMove: m}
		if m.old != "" && m.new != zeroID {
			out, err := r.git(ctx, nil, "log", "--left-right", "--name-status", "--no-renames", infoFormat, m.old+"..."+m.new)
			if err != nil {
				r.repo.s.log.Error("read what was pushed", "err", err)
			}
			for _, c := range parseInfo(out) {
				if c.side == "<" {
					t.forced = true
				} else {
					t.commits = append(t.commits, c)
				}
			}
		}
		if m.new != zeroID && len(t.commits) == 0 {
			tips = append(tips, m.new)
		}
		all = append(all, t)
	}
	if len(tips) > 0 {
		infos := r.infosOf(ctx, tips)
		for i := range all {
			if at := slices.IndexFunc(infos, func(c commitInfo) bool { return c.id == all[i].new }); at >= 0 {
				all[i].tip = &infos[at]
			}
		}
	}

	r.repo.s.mu.Lock()
	actor := r.repo.s.actor(who)
	for _, t := range all {
		if t.tip == nil && len(t.commits) > 0 {
			t.tip = &t.commits[0]
		}
		r.repo.shapes.emitPush(actor, t.refMove, t.forced, t.commits, t.tip)
		if branch, ok := strings.CutPrefix(t.ref, "refs/heads/"); ok && t.new == zeroID {
			r.branchGone(actor, branch)
		}
	}
	// This comes before the heads that the same push moves are recorded: see record.go.
	var merged []int
	for _, t := range all {
		if t.ref == "refs/heads/"+r.repo.main && t.old != "" {
			merged = append(merged, r.mergeReached(actor, t.new, t.commits)...)
		}
	}
	followers := r.forkPulls()
	r.repo.s.touch()
	r.repo.s.mu.Unlock()
	r.recordHeads(ctx, actor, moves)
	for _, t := range all {
		for _, f := range followers {
			if "refs/heads/"+f.branch == t.ref && t.new != zeroID {
				f.base.store.follow(ctx, actor, f.number, r.repo.dir, t.new)
			}
		}
	}
	r.repo.CI.pushedCI(moves)
	r.restackMerged(ctx, who, merged)
}

// mergeReached marks each open pull request into the default branch as merged if its recorded
// head is among the commits that were pushed to that branch. It returns the numbers of the
// merged ones.
func (r *store) mergeReached(actor *user, tip string, commits []commitInfo) (merged []int) {
	reached := make(map[string]bool, len(commits))
	for _, c := range commits {
		reached[c.id] = true
	}
	for _, p := range r.repo.issues.sorted() {
		if p.open() && p.Base == r.repo.main && reached[p.Head] {
			p.Merged, p.mergeCommit, p.mergedBy = true, tip, actor
			r.repo.issues.closePull(actor, p)
			merged = append(merged, p.Number)
		}
	}
	return merged
}

// branchGone closes the open pull requests from and into a deleted branch.
func (r *store) branchGone(actor *user, branch string) {
	for _, p := range r.repo.issues.sorted() {
		if p.open() && (p.Branch == branch && p.Fork == "" || p.Base == branch) {
			r.repo.issues.closePull(actor, p)
		}
	}
}
