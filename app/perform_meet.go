package app

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// meet finds the other changes with which a change merges on main: it merges the change onto
// each of them.
func (p *commits) meet(ctx context.Context, a *queue.Action, t queue.Meet) (queue.Body, error) {
	missing, err := p.fetch(ctx, append([]queue.Pick{t.Pick}, t.With...))
	if err = errors.Join(err, missing[t.Pick.Head], p.prepare(ctx), p.hold(ctx, t.Main)); err != nil {
		return nil, err
	}
	out := queue.Met{Action: a.Key, Change: t.Change}
	var wave []mirror.Pick
	var with []queue.ChangeID
	for _, k := range t.With {
		if missing[k.Head] == nil {
			wave, with = append(wave, p.mergeOf(k, t.Main)), append(with, k.Change)
		}
	}
	below, err := p.Mirror.Merges.MergeWave(ctx, wave)
	if err != nil {
		return nil, err
	}
	var on []queue.ChangeID
	wave = nil
	for i, m := range below {
		if m.Clean() {
			wave, on = append(wave, p.mergeOf(t.Pick, m.Commit)), append(on, with[i])
		}
	}
	merged, err := p.Mirror.Merges.MergeWave(ctx, wave)
	if err != nil {
		return nil, err
	}
	for i, m := range merged {
		if m.Clean() {
			out.Merges = append(out.Merges, on[i])
		}
	}
	return out, nil
}
