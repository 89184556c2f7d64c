package app

import (
	"context"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// survey compares the keys of main's whole tree with the ledger.
func (p *passes) survey(ctx context.Context, a *queue.Action, t queue.Survey) (queue.Body, error) {
	j, err := p.whole(ctx, t.Commit, t.Analyzer)
	if err != nil {
		return nil, err
	}
	keys := conflict.Keys(nil, j.snapshot, nil, j.steps.Steps)
	known, err := p.known(ctx, keys, j.steps)
	if err != nil {
		return nil, err
	}
	passed := p.inState(keys)
	for _, e := range known {
		passed[e.ID] = true
	}
	out := queue.Surveyed{Action: a.Key, Commit: t.Commit, Tree: j.tree, Steps: j.steps,
		Analyzer: j.version(), Total: len(keys), Unknown: j.snapshot.Unknown}
	for _, k := range keys {
		if !passed[k.ID()] {
			out.Unproven = append(out.Unproven, k)
		}
	}
	if out.Passed, err = p.translate(ctx, crossing{t.Commit, j.now, t.Former, time.Now().Add(surveyCrosses)}, out.Unproven); err != nil {
		return nil, err
	}
	for _, e := range out.Passed {
		passed[e.ID] = true
	}
	out.Unproven = slices.DeleteFunc(out.Unproven, func(k queue.Key) bool { return passed[k.ID()] })
	return out, nil
}
