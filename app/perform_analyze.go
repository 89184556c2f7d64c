package app

import (
	"context"
	"path"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// analysis is the first merge of an analysis: the change, onto main, or onto the changes that
// it is on top of.
func analysis(t queue.Analyze) opening {
	return opening{on: t.Main, under: t.Under, picks: []queue.Pick{t.Pick}, alone: true}
}

// analyze says what a merged change does to the commit below it.
func (p *ground) analyze(ctx context.Context, a *queue.Action, t queue.Analyze, m merging) (queue.Body, error) {
	m.now.by = t.Analyzer
	f, err := p.footprint(ctx, t, m)
	return queue.Analyzed{Action: a.Key, Change: t.Change, Footprint: f, Analyzer: t.Analyzer}, err
}

// footprint is what the change affects on the commit below it.
func (p *ground) footprint(ctx context.Context, t queue.Analyze, m merging) (queue.Footprint, error) {
	main, err := p.judge.shared(ctx, m.on, m.now, "")
	if err != nil {
		return queue.Footprint{}, err
	}
	with, err := p.judge.shared(ctx, analyzedOn(m.Merged, t.Pick.Head), m.now, m.on)
	if err != nil {
		return queue.Footprint{}, err
	}
	f := conflict.FootprintOf(main.snapshot, with.snapshot, t.Main)
	f.Again = main.snapshot.Provisional || with.snapshot.Provisional
	deltas, err := p.Mirror.Objects.Diff(ctx, main.snapshot.Tree, with.snapshot.Tree)
	if err != nil {
		return queue.Footprint{}, err
	}
	files, gone, err := p.Mirror.Objects.TouchedBy(ctx, deltas, with.snapshot.Tree)
	if err != nil {
		return queue.Footprint{}, err
	}
	f.Paths, f.Files, f.Dirs = conflict.TouchedPaths(files, gone), len(files), directoriesOf(files)
	f.Extent, err = p.extent(ctx, t, deltas)
	f.Extent.Builds, f.Extent.Tests = conflict.Purposes(files)
	return f, err
}

// extent is how much the change does as text, and how its head stands to main.
func (p *ground) extent(ctx context.Context, t queue.Analyze, deltas []mirror.Delta) (e queue.Extent, err error) {
	size, counted, err := p.Mirror.Objects.Size(ctx, deltas)
	if err != nil {
		return e, err
	}
	if e.Counted = counted; counted {
		e.Lines, e.Dropped, e.Hunks, e.Binaries = size.Added, size.Removed, size.Hunks, size.Binaries
	}
	e.Commits, e.Behind, e.Placed, err = p.Mirror.History.Standing(ctx, t.Main, t.Pick.Head)
	return e, err
}

func directoriesOf(files []string) int {
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[path.Dir(f)] = true
	}
	return len(dirs)
}

// analyzedOn returns the commit that shows what a change does to main: the
// merge, or the head as it is where there is none. The difference to main is
// then larger than the change of the head; that errs on the safe side.
func analyzedOn(m mirror.Merged, head queue.CommitID) queue.CommitID {
	if m.Clean() {
		return m.Commit
	}
	return head
}
