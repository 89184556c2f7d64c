package app

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// Analyses and trial merges that come together are merged together, which is
// quick, and judged each by itself, which may be slow: a program that hangs on
// one change holds up no other. What has ended is told at intervals, so that
// many that end at once are one turn.

const (
	judgedAtOnce = 8
	toldEvery    = 100 * time.Millisecond
)

// outcome is what came of an action.
type outcome struct {
	action *underway
	body   queue.Body
	err    error
	took   time.Duration
}

// together carries out analyses, or trial merges.
func (p *performer) together(group []*underway) {
	began := time.Now()
	ended := make(chan outcome)
	generation := p.Mirror.Generation()
	merges, err := p.mergedFirst(group)
	for _, a := range group {
		p.wg.Go(func() {
			o := outcome{action: a}
			defer func() {
				o.took = time.Since(began)
				ended <- o
			}()
			defer p.recovered(a.Action, &o.err)
			merges, err, generation := merges, err, generation
			for try := 1; ; try++ {
				merged := merges[a]
				if o.err = errors.Join(err, merged.err); o.err == nil {
					o.body, o.err = inTurn(a.ctx, p.judges, func() (queue.Body, error) {
						work, stop := graceful(a.ctx, gitGrace)
						defer stop()
						return p.judged(work, a.Action, merged)
					})
				}
				if try == healTries || !p.mended(a.ctx, generation, o.err) {
					return
				}
				generation = p.Mirror.Generation()
				merges, err = p.mergedFirst([]*underway{a})
			}
		})
	}
	p.tell(ended, len(group))
}

// mergedFirst makes the first merges of actions in the turn of git.
func (p *performer) mergedFirst(group []*underway) (merges map[*underway]merging, err error) {
	defer p.recovered(group[0].Action, &err)
	return inTurn(p.ctx, p.git, func() (map[*underway]merging, error) { return p.mergings(group), nil })
}

// tell hands on so many outcomes, those that come within a moment together.
func (p *performer) tell(ended <-chan outcome, left int) {
	var some []outcome
	tick := time.NewTicker(toldEvery)
	defer tick.Stop()
	for left > 0 || len(some) > 0 {
		if left > 0 {
			select {
			case o := <-ended:
				some, left = append(some, o), left-1
				continue
			case <-tick.C:
			}
		}
		for _, o := range some {
			p.result(o.action.ctx, o.action.Action, o.body, o.err, o.took)
		}
		some = nil
	}
}

// recovered makes a panic the failure of an action: it is ours, and not the
// change's fault, and the queue goes on.
func (p *performer) recovered(a *queue.Action, err *error) {
	if r := recover(); r != nil {
		p.Log.Error("an action panicked", "queue", p.Called(), "action", a.Key, "panic", r, "stack", string(debug.Stack()))
		*err = fmt.Errorf("internal error: %v", r)
	}
}

// merging is the first merge of an action, or why there is none.
type merging struct {
	mirror.Merged
	on  queue.CommitID
	now inForce
	err error
}

// first returns what an action merges first, and on what: nothing, where all its
// picks are one merge.
func first(t queue.Task) (on queue.CommitID, picks []queue.Pick, pick bool) {
	if t, ok := t.(queue.Analyze); ok {
		return t.Main, []queue.Pick{t.Pick}, true
	}
	r := t.(queue.Resolve)
	return r.Base, r.Picks, r.Together != len(r.Picks) || r.Together == 0
}

// mergings makes the first merge of each action.
func (p *performer) mergings(group []*underway) map[*underway]merging {
	ctx, stop := graceful(p.ctx, gitGrace)
	defer stop()
	out := map[*underway]merging{}
	var all []queue.Pick
	for _, a := range group {
		_, picks, _ := first(a.Task)
		if t, ok := a.Task.(queue.Analyze); ok {
			picks = append(picks, t.Under...)
		}
		all = append(all, picks...)
	}
	now, err := p.inForce() // asked once: the answer waits for the turn that is being made
	missing, err2 := p.fetch(ctx, all)
	err = errors.Join(err, err2, p.prepare(ctx))
	var wave []mirror.Pick
	var at []*underway
	for _, a := range group {
		on, picks, pick := first(a.Task)
		err := err
		if err == nil {
			err = p.hold(ctx, on)
		}
		for _, k := range picks {
			err = errors.Join(err, missing[k.Head])
		}
		if t, ok := a.Task.(queue.Analyze); ok && err == nil {
			on, err = p.under(ctx, t, missing)
		}
		out[a] = merging{mirror.Merged{Commit: on, Empty: true}, on, now, err}
		if err == nil && pick {
			wave, at = append(wave, mergeOf(picks[0], on)), append(at, a)
		}
	}
	made, err := p.Mirror.Merges.MergeWave(ctx, wave)
	for n, a := range at {
		if out[a] = (merging{now: now, err: err}); err == nil {
			out[a] = merging{made[n], wave[n].Parent, now, nil}
		}
	}
	return out
}

// judged says what an action's merge is.
func (p *performer) judged(ctx context.Context, a *queue.Action, m merging) (queue.Body, error) {
	t, ok := a.Task.(queue.Analyze)
	if !ok {
		return p.resolveChain(ctx, a, m.Merged, m.now)
	}
	m.now.by = t.Analyzer
	f, err := p.footprint(ctx, t, m)
	return queue.Analyzed{Action: a.Key, Change: t.Change, Footprint: f, Analyzer: t.Analyzer}, err
}
