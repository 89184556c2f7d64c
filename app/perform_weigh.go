package app

import (
	"context"
	"errors"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// weigh names the commits on main's line after a culprit that its revert concerns. For a
// culprit too far back to be looked at, it names none.
func (p *commits) weigh(ctx context.Context, a *queue.Action, t queue.Weigh) (queue.Body, error) {
	out := queue.Weighed{Action: a.Key, Hunt: t.Hunt, Commit: t.Commit, Tip: t.Tip}
	now, err := p.inForce()
	if err = errors.Join(err, p.prepare(ctx), p.hold(ctx, t.Tip)); err != nil {
		return nil, err
	}
	now.by = t.Analyzer
	line, _, err := p.Mirror.History.Past(ctx, t.Tip, queue.MostTraced)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(line, func(l mirror.PastCommit) bool { return l.Commit == t.Commit })
	if at < 0 || line[at].Parent == "" {
		return out, nil
	}
	own, err := p.touched(ctx, now, line[at])
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, l := range slices.Backward(line[:at]) {
		if len(out.Later) == queue.MostLater {
			break
		}
		both := queue.Later{HuntCommit: pastCommit(l)}
		theirs, err := p.touched(ctx, now, l)
		if err != nil {
			return nil, err
		}
		for _, name := range theirs {
			if slices.Contains(own, name) && len(both.Targets) < queue.MostLaterNames {
				both.Targets = append(both.Targets, name)
			}
		}
		made, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{{Parent: l.Commit, Head: t.Commit, Revert: t.Commit, Message: "weigh\n"}})
		if err != nil {
			return nil, err
		}
		for _, path := range made[0].Conflicts {
			if !known[path] && len(both.Paths) < queue.MostLaterNames {
				both.Paths = append(both.Paths, path)
			}
			known[path] = true
		}
		if len(both.Targets)+len(both.Paths) > 0 {
			out.Later = append(out.Later, both)
		}
	}
	return out, nil
}

// touched returns, sorted, the targets that differ between a commit and the one before
// it.
func (p *commits) touched(ctx context.Context, now inForce, l mirror.PastCommit) ([]string, error) {
	before, err := p.judge.shared(ctx, l.Parent, now, "")
	if err != nil {
		return nil, err
	}
	after, err := p.judge.shared(ctx, l.Commit, now, l.Parent)
	if err != nil {
		return nil, err
	}
	out := conflict.Gone(before.snapshot, after.snapshot)
	for _, k := range conflict.Keys(before.snapshot, after.snapshot, before.steps.Steps, after.steps.Steps) {
		out = append(out, k.Target)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
