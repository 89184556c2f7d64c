package app

import (
	"context"
	"errors"
	"slices"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// protected returns the protected paths that the pull request changes on main, as a
// whole. Where it may land commit by commit, it also returns those that each commit
// changes, because each commit is judged by its own tree.
func (p *inspection) protected(ctx context.Context) ([]string, error) {
	pr, now := p.pr, p.now
	if now.config == nil || now.tip == "" {
		return nil, nil
	}
	pick := queue.Pick{Number: pr.Number, Head: pr.Head, HeadRef: pr.HeadRef}
	missing, err := p.fetch(ctx, []queue.Pick{pick})
	if err = errors.Join(err, missing[pr.Head], p.hold(ctx, now.tip)); err != nil {
		return nil, err
	}
	merged, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{{Parent: now.tip, Head: pr.Head, Message: "inspect\n"}})
	if err != nil {
		return nil, err
	}
	on := pr.Head // where it does not merge: all that differs from main
	if merged[0].Clean() {
		on = merged[0].Commit
	}
	globs := now.config.Permissions.Protected
	out, err := p.protects(ctx, globs, now.tip, on)
	if err != nil {
		return nil, err
	}
	if byCommit, err := p.byCommit(); err != nil {
		return nil, err
	} else if byCommit {
		own, err := p.Mirror.History.Own(ctx, now.tip, pr.Head)
		if err != nil && !errors.Is(err, mirror.ErrTooMany) { // more commits than may land this way
			return nil, err
		}
		for _, c := range own {
			if len(c.Parents) > 0 {
				paths, err := p.protects(ctx, globs, c.Parents[0], c.Commit)
				if err != nil {
					return nil, err
				}
				out = append(out, paths...)
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), queue.ProtectedMost)], nil
}

// byCommit reports whether the change of a request may land commit by commit.
func (p *inspection) byCommit() (yes bool, err error) {
	err = p.facts(func(c *speculation.Core) {
		r := c.State().Requests[p.Request]
		yes = r != nil && c.ByCommit(r)
	})
	return yes, err
}
