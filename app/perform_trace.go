package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// traceChunk is how many commits of the line are looked up in the archive at once.
const traceChunk = 8

// trace walks main's line back from a commit and computes the keys of each trail,
// until all of them have passed somewhere.
func (p *passes) trace(ctx context.Context, a *queue.Action, t queue.Trace) (queue.Body, error) {
	now, err := p.inForce()
	if err = errors.Join(err, p.hold(ctx, t.Commit)); err != nil {
		return nil, err
	}
	now.by = t.Analyzer
	line, whole, err := p.Mirror.History.Past(ctx, t.Commit, queue.MostTraced)
	if err != nil {
		return nil, err
	}
	at, steps := make([][][]queue.Key, 0, len(line)), make([]queue.StepSet, 0, len(line)) // by commit, newest first
	passed, known := make([]bool, len(t.Trails)), map[queue.Digest]queue.Entry{}
	near := queue.CommitID("")
	for from := 0; from < len(line) && slices.Contains(passed, false); from += traceChunk {
		to := min(from+traceChunk, len(line))
		var all []queue.Key
		for _, l := range line[from:to] {
			j, err := p.judge.shared(ctx, l.Commit, now, near)
			if err != nil {
				return nil, err
			}
			near = l.Commit
			keys := keysOfTrails(t.Trails, j)
			at, steps = append(at, keys), append(steps, j.steps)
			all = append(all, slices.Concat(keys...)...)
		}
		entries, err := p.seen(ctx, all, steps[from:]...)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			known[e.ID] = e
		}
		for n := from; n < to; n++ {
			for i := range t.Trails {
				passed[i] = passed[i] || !slices.ContainsFunc(at[n][i], func(k queue.Key) bool { _, ok := known[k.ID()]; return !ok })
			}
		}
	}
	out := queue.Traced{Action: a.Key, Hunt: t.Hunt, Commit: t.Commit, Analyzer: t.Analyzer, Whole: whole && len(at) == len(line),
		Trails: slices.Clone(t.Trails)}
	sets := map[queue.Digest]bool{}
	for n := len(at) - 1; n >= 0; n-- {
		c := pastCommit(line[n])
		c.Steps = steps[n].ID
		for i := range out.Trails {
			x := &out.Trails[i]
			if m := len(x.Spots); !x.Opaque && m > 0 && slices.Equal(x.Spots[m-1].Keys, at[n][i]) {
				continue
			}
			x.Spots = append(x.Spots, queue.Spot{At: len(out.Line), Keys: at[n][i]})
		}
		out.Line = append(out.Line, c)
		if !sets[c.Steps] {
			sets[c.Steps] = true
			out.Steps = append(out.Steps, steps[n])
		}
	}
	for _, e := range known {
		out.Passed = append(out.Passed, e)
	}
	slices.SortFunc(out.Passed, func(a, b queue.Entry) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out, nil
}

// keysOfTrails returns, for each trail, the keys of the trail that a commit has.
func keysOfTrails(trails []queue.Trail, j judged) [][]queue.Key {
	out := make([][]queue.Key, len(trails))
	names := map[queue.Digest]string{}
	for _, s := range j.steps.Steps {
		names[s.Digest()] = s.Name
	}
	for _, k := range conflict.Keys(nil, j.snapshot, nil, j.steps.Steps) {
		for i, t := range trails {
			if t.Step == names[k.Step] && slices.Contains(t.Targets, k.Target) {
				out[i] = append(out[i], k)
			}
		}
	}
	return out
}
