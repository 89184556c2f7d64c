package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// A change that lands as another commit than its head is nothing that a forge sees
// on its branch. So the branch of its pull request is moved to that commit in the
// very push that moves main, where it is a branch of the same repository: then the
// head is on main, and the forge shows the pull request as merged. Where others use
// that branch, or nobody can tell (branchFacts), or the move is refused, main moves
// alone, and the pull request is closed with a word and a label (finish).

// holding says of the commits on main's line that are no merges which of them are
// what landing the change that they name makes.
func (p *performer) holding(ctx context.Context, line []mirror.LineCommit, out []queue.LineCommit) error {
	for i, l := range line {
		if l.Change == "" || len(l.Merged) > 0 || len(l.Also) > 0 || l.Parent == "" {
			continue
		}
		var pick *queue.Pick
		if err := p.facts(func(c *speculation.Core) {
			if ch := c.State().Changes[l.Change]; ch != nil && ch.Head == l.Head && !ch.Method.Keeps() {
				k := speculation.PickOf(ch)
				pick = &k
			}
		}); err != nil {
			return err
		}
		if pick == nil {
			continue
		}
		missing, err := p.fetch(ctx, []queue.Pick{*pick})
		switch {
		case err != nil:
			return err
		case missing[pick.Head] != nil:
			continue // its branch has moved, or is gone; it is judged as anybody's commit
		}
		made, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{mergeOf(*pick, l.Parent)})
		if errors.Is(err, forge.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		out[i].Holds = made[0].Commit == l.Commit
	}
	return nil
}

// along returns the branches that move with main, and whose they are: none where that
// would not make the forge show their pull requests as merged.
func (p *performer) along(ctx context.Context, push *queue.Push) (moves []mirror.Move, whose []queue.ChangeID, err error) {
	f := p.Forge.Capabilities().Closer
	if f == nil {
		return nil, nil, nil // it shows what we tell it
	}
	type branch struct {
		mirror.Move
		change queue.ChangeID
		number int
	}
	var all []branch
	err = p.facts(func(c *speculation.Core) {
		for i, commit := range push.Commits {
			for _, id := range push.Of(i) {
				ch := c.State().Changes[id]
				if ch == nil || ch.Method.Keeps() {
					continue
				}
				if pull := c.State().Pulls[ch.Number]; pull != nil && pull.Branch != "" && pull.Head == ch.Head {
					all = append(all, branch{mirror.Move{Branch: pull.Branch, From: ch.Head, To: commit}, id, ch.Number})
				}
			}
		}
	})
	if err != nil || len(all) == 0 {
		return nil, nil, err
	}
	house, err := p.houseOf(ctx, f)
	if err != nil && (isTransient(err) || ctx.Err() != nil) {
		return nil, nil, err
	}
	if err != nil || p.branch() != house.Default {
		return nil, nil, nil
	}
	for _, b := range all {
		facts, err := p.factsOf(ctx, f, b.Branch)
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		use := facts.use(b.Branch, b.number)
		if err != nil {
			use = "it is not known what else it is used for: " + err.Error()
		}
		if use != "" {
			p.Log.Info("the branch of a pull request that lands stays where it is", "queue", p.Called(), "pull", b.number, "branch", texts.OneLine(b.Branch, 100), "reason", use)
			continue
		}
		moves, whose = append(moves, b.Move), append(whose, b.change)
	}
	return moves, whose, nil
}

// owning asks the store, right before a push, if the queue is still ours, and gives
// the push a context that ends when it is not: an owner that has stood still finds
// another one, which knows of landings that it does not.
func (p *performer) owning(ctx context.Context) (_ context.Context, stop func(), err error) {
	token, err := p.Store.Acquire(ctx, p.Queue, p.Name, leaseTTL)
	switch {
	case errors.Is(err, queue.ErrNotOwner), err == nil && token != p.token:
		return nil, nil, fmt.Errorf("%w: another server owns it by now", errNotOwning)
	case err != nil:
		return nil, nil, fmt.Errorf("asking if the queue is still ours: %w", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	forget := context.AfterFunc(p.ctx, func() { cancel(errNotOwning) })
	return ctx, func() { forget(); cancel(nil) }, nil
}

// pushMain moves main, and the branches along with it where the forge lets us. It
// returns whose these are.
func (p *performer) pushMain(ctx context.Context, remote forge.Remote, push *queue.Push) (mirror.PushOutcome, []queue.ChangeID, error) {
	moves, whose, err := p.along(ctx, push)
	if err != nil {
		return mirror.PushOutcome{}, nil, err
	}
	ctx, stop, err := p.owning(ctx)
	if err != nil {
		return mirror.PushOutcome{}, nil, err
	}
	defer stop()
	if len(moves) > 0 {
		outcome, err := p.Mirror.Remotes.PushAlong(ctx, remote, mirror.Move{Branch: p.branch(), From: push.Expected, To: push.Tip()}, moves)
		if err == nil && outcome.Moved {
			p.mu.Lock()
			for _, id := range whose {
				p.moved[id] = true
			}
			p.mu.Unlock()
		}
		if err != nil || outcome.Moved || outcome.Lost {
			return outcome, whose, err
		}
		p.Log.Info("the branches of pull requests could not be moved with the target branch, so that it is moved alone",
			"queue", p.Called(), "branches", len(moves), "reason", outcome.Refused)
	}
	outcome, err := p.Mirror.Remotes.Push(ctx, remote, p.branch(), push.Expected, push.Tip())
	return outcome, nil, err
}
