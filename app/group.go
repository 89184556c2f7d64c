package app

import (
	"context"
	"errors"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// Analyses and trial merges that come together are merged together, which is quick.
// They are judged one by one, which may be slow: a program that hangs on one change
// holds up no other change. Results are handed on at intervals, so that many that end
// at once are one turn.

const toldEvery = 100 * time.Millisecond

// joint is how actions of a kind that come together are carried out.
type joint struct {
	opens func(queue.Task) opening // in one wave for all of them
	judge func(context.Context, *queue.Action, merging) (queue.Body, error)
}

// joined makes a joint from functions on a kind's own type of task.
func joined[T queue.Task](opens func(T) opening, judge func(context.Context, *queue.Action, T, merging) (queue.Body, error)) *joint {
	return &joint{func(t queue.Task) opening { return opens(t.(T)) },
		func(ctx context.Context, a *queue.Action, m merging) (queue.Body, error) {
			return judge(ctx, a, a.Task.(T), m)
		}}
}

// opening is the first merge of an action, before it is made.
type opening struct {
	on    queue.CommitID
	under []queue.Pick // merged onto `on` first, where they merge
	picks []queue.Pick // all picks that the action needs, in order
	alone bool         // the first pick is merged separately
}

// merging is the first merge of an action, or why there is none.
type merging struct {
	mirror.Merged
	on  queue.CommitID
	now inForce
	err error
}

// together carries out actions that join, each until its own context ends.
func (p *performer) together(life context.Context, group []*underway, each []context.Context) {
	began := time.Now()
	ended := make(chan outcome)
	generation := p.Mirror.Generation()
	merges := p.mergedFirst(life, group)
	for i, a := range group {
		p.wg.Go(func() {
			o := outcome{action: a}
			defer func() {
				o.took = time.Since(began)
				ended <- o
			}()
			defer p.recovered(a.Action, &o.err)
			k, ctx, merged, generation := p.kindOf(a.Task), each[i], merges[i], generation
			for try := 1; ; try++ {
				if o.err = merged.err; o.err == nil {
					o.body, o.err = inTurn(ctx, p.places[k.at], func() (queue.Body, error) {
						work, stop := graceful(ctx, k.grace)
						defer stop()
						return k.joins.judge(work, a.Action, merged)
					})
				}
				if try == healTries || !p.heal.mended(ctx, generation, o.err) {
					return
				}
				generation = p.Mirror.Generation()
				merged = p.mergedFirst(life, group[i:i+1])[0]
			}
		})
	}
	p.tell(life, ended, len(group))
}

// mergedFirst makes the first merges of actions in the turn of git.
func (p *performer) mergedFirst(life context.Context, group []*underway) []merging {
	openings := make([]opening, len(group))
	for i, a := range group {
		openings[i] = p.kindOf(a.Task).joins.opens(a.Task)
	}
	merges, err := func() (merges []merging, err error) {
		defer p.recovered(group[0].Action, &err)
		return inTurn(life, p.places[inGit], func() ([]merging, error) {
			ctx, stop := graceful(life, gitGrace)
			defer stop()
			return p.passes.mergings(ctx, openings), nil
		})
	}()
	if err != nil {
		merges = make([]merging, len(group))
		for i := range merges {
			merges[i].err = err
		}
	}
	return merges
}

// tell hands on the given number of outcomes. Outcomes that come within a moment are handed on
// together.
func (p *performer) tell(life context.Context, ended <-chan outcome, left int) {
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
			p.result(life, o)
		}
		some = nil
	}
}

// mergings makes the first merge of each opening.
func (p *commits) mergings(ctx context.Context, openings []opening) []merging {
	var all []queue.Pick
	for _, o := range openings {
		all = append(append(all, o.picks...), o.under...)
	}
	now, err := p.inForce() // asked once: the answer waits for the turn that is being made
	missing, err2 := p.fetch(ctx, all)
	err = errors.Join(err, err2, p.prepare(ctx))
	out := make([]merging, len(openings))
	var wave []mirror.Pick
	var at []int
	for i, o := range openings {
		on, err := o.on, err
		if err == nil {
			err = p.hold(ctx, on)
		}
		for _, k := range o.picks {
			err = errors.Join(err, missing[k.Head])
		}
		if err == nil {
			on, err = p.above(ctx, o, missing)
		}
		out[i] = merging{mirror.Merged{Commit: on, Empty: true}, on, now, err}
		if err == nil && o.alone {
			wave, at = append(wave, p.mergeOf(o.picks[0], on)), append(at, i)
		}
	}
	made, err := p.Mirror.Merges.MergeWave(ctx, wave)
	for n, i := range at {
		if out[i] = (merging{now: now, err: err}); err == nil {
			out[i] = merging{made[n], wave[n].Parent, now, nil}
		}
	}
	return out
}

// above returns the commit that an opening's picks are merged on: the opening's commit
// with the picks under them merged onto it. Where those do not merge, it is the
// opening's commit: the difference to it is then more than what the picks do, which
// errs on the safe side.
func (p *commits) above(ctx context.Context, o opening, missing map[queue.CommitID]error) (queue.CommitID, error) {
	if len(o.under) == 0 {
		return o.on, nil
	}
	var picks []mirror.Pick
	for _, k := range o.under {
		if err := missing[k.Head]; err != nil {
			return "", err
		}
		picks = append(picks, p.mergeOf(k, ""))
	}
	made, err := p.Mirror.Merges.MergeChain(ctx, o.on, picks)
	if err != nil {
		return "", err
	}
	if last := made[len(made)-1]; last.Clean() {
		return last.Commit, nil
	}
	return o.on, nil
}
