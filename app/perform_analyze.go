package app

import (
	"context"
	"errors"
	"path"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// under returns the commit that a change is analyzed on: main with what it is on
// top of. Where that does not merge, main itself: what differs from it is then
// more than what the change does, which errs on the safe side.
func (p *performer) under(ctx context.Context, t queue.Analyze, missing map[queue.CommitID]error) (queue.CommitID, error) {
	if len(t.Under) == 0 {
		return t.Main, nil
	}
	var picks []mirror.Pick
	for _, k := range t.Under {
		if err := missing[k.Head]; err != nil {
			return "", err
		}
		picks = append(picks, mergeOf(k, ""))
	}
	made, err := p.Mirror.Merges.MergeChain(ctx, t.Main, picks)
	if err != nil {
		return "", err
	}
	if last := made[len(made)-1]; last.Clean() {
		return last.Commit, nil
	}
	return t.Main, nil
}

// footprint says what a merged change does to the commit below it.
func (p *performer) footprint(ctx context.Context, t queue.Analyze, m merging) (queue.Footprint, error) {
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
	files, gone, err := p.Mirror.Objects.Touched(ctx, main.snapshot.Tree, with.snapshot.Tree)
	if err != nil {
		return queue.Footprint{}, err
	}
	f.Paths, f.Files, f.Dirs = conflict.TouchedPaths(files, gone), len(files), directoriesOf(files)
	return f, nil
}

func directoriesOf(files []string) int {
	dirs := map[string]bool{}
	for _, f := range files {
		dirs[path.Dir(f)] = true
	}
	return len(dirs)
}

// analyzedOn returns the commit that shows what a change does to main: the
// merge, or the head as it is where there is none. What differs from main is
// then more than what the head changes; that errs on the safe side.
func analyzedOn(m mirror.Merged, head queue.CommitID) queue.CommitID {
	if m.Clean() {
		return m.Commit
	}
	return head
}

// meet tries with which others a change merges on main: onto each of them.
func (p *performer) meet(ctx context.Context, key string, t queue.Meet) (queue.Body, error) {
	missing, err := p.fetch(ctx, append([]queue.Pick{t.Pick}, t.With...))
	if err = errors.Join(err, missing[t.Pick.Head], p.prepare(ctx), p.hold(ctx, t.Main)); err != nil {
		return nil, err
	}
	out := queue.Met{Action: key, Change: t.Change}
	var wave []mirror.Pick
	var with []queue.ChangeID
	for _, k := range t.With {
		if missing[k.Head] == nil {
			wave, with = append(wave, mergeOf(k, t.Main)), append(with, k.Change)
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
			wave, on = append(wave, mergeOf(t.Pick, m.Commit)), append(on, with[i])
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
