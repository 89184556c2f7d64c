package app

import (
	"context"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// halfway adds to a link whose change lands as several commits the keys that each
// of these has and the one before it has not, as far as the link does not have
// them already.
func (p *performer) halfway(ctx context.Context, r *resolving, l *queue.Link) error {
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
