package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// resolution is the first merge of a path. There is none where all its picks are one merge.
func resolution(t queue.Resolve) opening {
	return opening{on: t.Base, picks: t.Picks, alone: t.Together != len(t.Picks) || t.Together == 0}
}

// resolve makes the commits of a path and computes their keys.
func (p *passes) resolve(ctx context.Context, a *queue.Action, t queue.Resolve, first merging) (queue.Body, error) {
	merged, err := p.chain(ctx, t, first.Merged)
	if err != nil {
		return nil, err
	}
	now := first.now
	now.by = t.Analyzer
	out := resolving{queue.Resolved{Action: a.Key, Guard: t.Guard()}, now, t.Protected}
	parent := t.Base
	var keys []queue.Key
	failed := false
	add := func(l queue.Link) {
		keys, out.Links = append(keys, l.Keys...), append(out.Links, l)
		failed = l.Outcome == queue.MergeFailed
	}
	for i, m := range merged {
		l, err := p.link(ctx, &out, t.Picks[i], merging{Merged: m, on: parent})
		if err != nil {
			return nil, err
		}
		if add(l); failed {
			break
		}
		parent = m.Commit
	}
	if n := len(t.Picks) - t.Together; t.Together > 0 && len(out.Links) == n && !failed {
		l, err := p.rollup(ctx, &out, t.Picks[n:], parent)
		if err != nil {
			return nil, err
		}
		add(l)
	}
	if out.Passed, err = p.known(ctx, keys, out.Steps...); err != nil {
		return nil, err
	}
	if t.Former != "" {
		if err := p.crossed(ctx, &out, t.Former); err != nil {
			return nil, err
		}
	}
	return out.Resolved, nil
}

// chain merges the picks of a path that are merged one by one, after the first of them.
func (p *commits) chain(ctx context.Context, t queue.Resolve, first mirror.Merged) ([]mirror.Merged, error) {
	single := t.Picks[:len(t.Picks)-t.Together]
	if len(single) == 0 {
		return nil, nil
	}
	merged := []mirror.Merged{first}
	if len(single) == 1 || !first.Clean() && !first.Empty {
		return merged, nil
	}
	var rest []mirror.Pick
	for _, k := range single[1:] {
		rest = append(rest, p.mergeOf(k, ""))
	}
	more, err := p.Mirror.Merges.MergeChain(ctx, first.Commit, rest)
	return append(merged, more...), err
}

// crossed adds to a path the keys that passes under another version of the analyzer
// prove.
func (p *passes) crossed(ctx context.Context, r *resolving, former string) error {
	passed := map[queue.Digest]bool{}
	for _, e := range r.Passed {
		passed[e.ID] = true
	}
	until := time.Now().Add(pathCrosses)
	for _, l := range r.Links {
		open := slices.DeleteFunc(slices.Clone(l.OwnKeys()), func(k queue.Key) bool { return passed[k.ID()] })
		now := r.now
		now.by = l.Analyzer
		proven, err := p.translate(ctx, crossing{l.Commit, now, former, until}, open)
		if err != nil {
			return err
		}
		r.Proven = append(r.Proven, proven...)
	}
	return nil
}

// resolving is a path while its links are judged.
type resolving struct {
	queue.Resolved
	now   inForce
	globs []string // of protected paths
}

// link describes the merge of one pick onto a commit.
func (p *passes) link(ctx context.Context, r *resolving, k queue.Pick, m merging) (queue.Link, error) {
	l := queue.Link{ID: queue.LinkOf(m.on, k.Change), Parent: m.on, Change: k.Change, Before: r.now.by}
	switch {
	case m.Empty:
		l.Outcome = queue.MergeNothing
		return l, nil
	case !m.Clean():
		l.Outcome, l.Conflicts, l.Refused = queue.MergeFailed, m.Conflicts, m.Refused
		return l, nil
	}
	l, err := p.merged(ctx, r, l, m.Merged)
	if err == nil && len(m.Between) > 0 {
		l.Between = m.Between
		if !k.Skip {
			err = p.halfway(ctx, r, &l)
		}
	}
	if err == nil {
		l.Taken, err = p.taken(ctx, r.globs, &l, k)
	}
	return l, err
}

// merged fills in the keys that a link's commit has and its parent does not have.
func (p *passes) merged(ctx context.Context, r *resolving, l queue.Link, m mirror.Merged) (queue.Link, error) {
	before, err := p.judge.shared(ctx, l.Parent, r.now, "")
	if err != nil {
		return l, err
	}
	if l.Before != "" && before.version() != l.Before {
		return l, fmt.Errorf("commit %s was judged by analyzer %s, which this server does not know for it; it is judged anew once %s has been read", l.Parent, l.Before, p.branch())
	}
	after, err := p.judge.shared(ctx, m.Commit, r.now, l.Parent)
	if err != nil {
		return l, err
	}
	if l.Before != "" {
		l.Analyzer, r.now.by = after.version(), after.version()
	}
	l.Outcome, l.Commit, l.Tree, l.Steps = queue.Merged, m.Commit, m.Tree, after.steps.ID
	l.Keys = conflict.Keys(before.snapshot, after.snapshot, before.steps.Steps, after.steps.Steps)
	l.Gone = conflict.Gone(before.snapshot, after.snapshot)
	r.Steps = append(r.Steps, after.steps)
	l.Protected, err = p.protects(ctx, r.globs, append(append([]queue.CommitID{l.Parent}, m.Between...), m.Commit)...)
	return l, err
}

// halfway adds keys to the link of a change that lands as several commits: the keys that each
// commit has and the one before it does not have. Keys that the link has already are
// left out.
func (p *passes) halfway(ctx context.Context, r *resolving, l *queue.Link) error {
	now := r.now
	now.by = l.Before
	known := map[queue.Key]bool{}
	for _, k := range l.Keys {
		known[k] = true
	}
	before, err := p.judge.shared(ctx, l.Parent, now, "")
	if err != nil {
		return err
	}
	at := l.Parent
	for _, commit := range append(l.Between[:len(l.Between):len(l.Between)], l.Commit) {
		after, err := p.judge.shared(ctx, commit, now, at)
		if err != nil {
			return err
		}
		part := queue.Halfway{Commit: commit, Steps: after.steps.ID}
		for _, k := range conflict.Keys(before.snapshot, after.snapshot, before.steps.Steps, after.steps.Steps) {
			if !known[k] {
				known[k] = true
				l.Keys = append(l.Keys, k)
				part.Keys++
			}
		}
		if part.Keys > 0 {
			l.Parts = append(l.Parts, part)
			r.Steps = append(r.Steps, after.steps)
		}
		before, at = after, commit
	}
	return nil
}

// rollup makes the link of a merge of several changes at once.
func (p *passes) rollup(ctx context.Context, r *resolving, picks []queue.Pick, parent queue.CommitID) (queue.Link, error) {
	ids := make([]queue.ChangeID, len(picks))
	for i, k := range picks {
		ids[i] = k.Change
	}
	l := queue.Link{ID: queue.LinkOf(parent, ids...), Parent: parent, With: ids[:len(ids)-1], Change: ids[len(ids)-1], Before: r.now.by}
	m, err := p.mergeTogether(ctx, picks, parent)
	switch {
	case err != nil:
		return l, err
	case m.Empty || !m.Clean():
		l.Outcome, l.Conflicts, l.Refused = queue.MergeFailed, m.Conflicts, m.Refused
		return l, nil
	}
	if l, err = p.merged(ctx, r, l, m); err == nil {
		l.Taken, err = p.taken(ctx, r.globs, &l, picks...)
	}
	return l, err
}
