package app

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// Bounds of one action: a tool that reads trees may be slow, and keys without a known
// pass are built.
const (
	mostCrossed   = 64 // commits
	surveyCrosses = 2 * time.Minute
	pathCrosses   = 30 * time.Second
)

// crossing is a commit that is judged by one version of its analyzer, while some of its
// keys may have passed under another version.
type crossing struct {
	commit queue.CommitID
	now    inForce // with the version
	former string
	until  time.Time // when it is given up
}

// translate returns the keys of a commit that passes under the former version prove.
// Such a pass is of the same step and the same target, on a commit for which the
// present version computes the same hash of that target. A tree that cannot be read
// proves nothing.
func (p *passes) translate(ctx context.Context, x crossing, open []queue.Key) ([]queue.Entry, error) {
	if x.former == "" || x.former == x.now.by || len(open) == 0 {
		return nil, nil
	}
	here, err := p.judge.shared(ctx, x.commit, x.now, "")
	if err != nil {
		return nil, err
	}
	if a, err := p.judge.version(here.config.Analysis, x.former); err != nil || conflict.VersionOf(a) != withoutTools(x.former) {
		return nil, err // only another server, or other settings, had that version
	}
	past := x.now
	past.by = x.former
	before, err := p.judge.shared(ctx, x.commit, past, "")
	if err != nil {
		return nil, err
	}
	type what struct {
		step   queue.Digest
		target string
	}
	wanted := map[what]queue.Key{}
	for _, k := range open {
		wanted[what{k.Step, k.Target}] = k
	}
	former := slices.DeleteFunc(conflict.Keys(nil, before.snapshot, nil, before.steps.Steps), func(k queue.Key) bool {
		_, yes := wanted[what{k.Step, k.Target}]
		return !yes
	})
	known, err := p.known(ctx, former, before.steps)
	if err != nil {
		return nil, err
	}
	ran := map[queue.CommitID][]queue.Entry{}
	for _, e := range known {
		if len(e.Keys) == 1 && e.Passed != 0 && e.Commit != "" {
			ran[e.Commit] = append(ran[e.Commit], e)
		}
	}
	commits := slices.SortedFunc(maps.Keys(ran), func(a, b queue.CommitID) int {
		return cmp.Or(cmp.Compare(len(ran[b]), len(ran[a])), cmp.Compare(a, b))
	})
	within, cancel := context.WithDeadline(ctx, x.until)
	defer cancel()
	var out []queue.Entry
	for _, on := range commits[:min(len(commits), mostCrossed)] {
		hashes, err := p.hashesOn(within, on, x)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case within.Err() != nil:
			return out, nil
		case err != nil:
			continue
		}
		for _, e := range ran[on] {
			k := wanted[what{e.Keys[0].Step, e.Keys[0].Target}]
			if hashes[k.Target] == k.Hash {
				e.ID, e.Keys, e.Failures = k.ID(), []queue.Key{k}, nil
				out = append(out, e)
			}
		}
	}
	return out, nil
}

func withoutTools(version string) string {
	analyzer, _ := queue.SplitVersion(version)
	return analyzer
}

// hashesOn returns the targets of a commit as a crossing's version sees them.
func (p *passes) hashesOn(ctx context.Context, on queue.CommitID, x crossing) (map[string]queue.Digest, error) {
	if err := p.hold(ctx, on); err != nil {
		return nil, err
	}
	j, err := p.judge.shared(ctx, on, x.now, x.commit)
	if err != nil {
		return nil, err
	}
	out := map[string]queue.Digest{}
	for _, t := range j.snapshot.Targets() {
		out[t.Target] = t.Hash
	}
	return out, nil
}
