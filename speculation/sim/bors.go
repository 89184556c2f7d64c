package sim

import (
	"context"
	"slices"
)

// bors is bors-ng's batching ("How bors works", bors-ng documentation; rust-lang's
// rollups are the same made by hand). It has one lane, and up to 16 waiting changes are
// built together. A batch that passes lands in one push. A batch that fails is cut in
// two halves, which are built one after the other before anything else. A change that
// fails alone is rejected. The setting batch is the size of a batch.
type bors struct{}

var _ Strategy = bors{}

// Name implements Strategy.
func (bors) Name() string { return "bors" }

// Run implements Strategy.
func (bors) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	size, err := o.number("batch", 16)
	if err != nil {
		return nil, err
	}
	e := newEngine(ctx, w, o)
	return e.run(&borsLane{engine: e, size: max(1, int(size))})
}

type borsLane struct {
	*engine
	size    int
	waiting []int
	parts   [][]int // of failed batches, next first
	run     *build
}

func (l *borsLane) arrived(c int) { l.waiting = append(l.waiting, c) }

func (l *borsLane) ended(b *build) {
	l.run = nil
	switch half := len(b.changes) / 2; {
	case !b.failed:
		for _, c := range b.changes {
			l.decide(c, true)
		}
	case half == 0:
		l.decide(b.changes[0], false)
	default:
		l.parts = slices.Insert(l.parts, 0, b.changes[:half], b.changes[half:])
	}
}

// voided puts the batch that was running back in front, once.
func (l *borsLane) voided(int) {
	if l.run != nil && l.run.stopped {
		l.parts = slices.Insert(l.parts, 0, l.run.changes)
		l.run = nil
	}
}

func (l *borsLane) plan() {
	if l.run != nil || l.free == 0 {
		return
	}
	if len(l.parts) == 0 && len(l.waiting) > 0 {
		n := min(l.size, len(l.waiting))
		l.parts, l.waiting = [][]int{l.waiting[:n:n]}, l.waiting[n:]
	}
	if len(l.parts) > 0 {
		l.run = l.start(l.parts[0], nil, 0)
		l.parts = l.parts[1:]
	}
}
