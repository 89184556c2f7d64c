package app

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// The branches of pull requests that land as another commit than their head move right
// before main does (queue/head.go says why). A branch stays where it has another use, or
// its uses are not known (branchFacts), or the move is refused. Its pull request is then
// closed with a comment and a label (finish).

// usesTries is how often the forge is asked for the uses of branches before all branches
// stay.
const usesTries = 3

// live returns the push of an action as the state has it; nil: the push is over, or at
// another stage.
func (p *pusher) live(id string, stage queue.PushStage) (push *queue.Push, err error) {
	err = p.facts(func(c *speculation.Core) {
		if now := c.State().Push; now != nil && now.ID == id && now.Stage == stage {
			copied := *now
			push = &copied
		}
	})
	return push, err
}

// moveHeads moves the branches of a push, as far as they may be.
func (p *pusher) moveHeads(ctx context.Context, a *queue.Action, t queue.MoveHeads) (queue.Body, error) {
	push, err := p.live(t.Push, queue.PushingHeads)
	if err != nil || push == nil {
		return queue.Done{Action: a.Key}, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(0, a.Deadline.Sub(queue.At(p.Now()))))
	defer cancel()
	if err := p.retarget(ctx, push); err != nil { // a branch that another one asks for stays
		return nil, err
	}
	heads, err := p.movable(ctx, push.Heads, a.Attempt < usesTries)
	if err != nil {
		return nil, err
	}
	out := queue.HeadsMoved{Action: a.Key, Push: t.Push}
	if len(heads) == 0 {
		return out, nil
	}
	outcomes, err := p.pushHeads(ctx, heads, false, func() bool {
		now, err := p.live(t.Push, queue.PushingHeads)
		return err == nil && now != nil
	})
	if err != nil {
		return nil, err
	}
	for i, o := range outcomes {
		if o.Moved {
			out.Moved = append(out.Moved, heads[i].Change)
			p.nowUnseen(heads[i].To)
			continue
		}
		p.Log.Info("the branch of a "+p.Texts.Words.Noun()+" could not be moved to what lands", "queue", p.Called(), "pull", heads[i].Number,
			"branch", texts.OneLine(heads[i].Branch, 100), "moved_by_somebody", o.Lost, "reason", o.Refused)
	}
	return out, nil
}

// pushHeads moves branches to their new commits, or back to where they were, while the
// queue is ours and the move is still wanted. Two calls never overlap: a late one must
// not undo what the other has put back.
func (p *pusher) pushHeads(ctx context.Context, heads []queue.HeadMove, back bool, wanted func() bool) ([]mirror.PushOutcome, error) {
	p.heads.Lock()
	defer p.heads.Unlock()
	if !wanted() {
		return nil, nil
	}
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return nil, err
	}
	moves, gone := make([]mirror.Move, len(heads)), map[int]error{}
	for i, h := range heads {
		if moves[i] = (mirror.Move{Branch: h.Branch, From: h.From, To: h.To}); back {
			moves[i].From, moves[i].To = h.To, h.From
			err = p.Mirror.Remotes.FetchCommit(ctx, remote, h.From) // a new mirror can get it only this way: its ref has moved
		} else {
			err = p.hold(ctx, h.To)
		}
		if back && errors.Is(err, forge.ErrNotFound) && !isTransient(err) {
			gone[i], moves[i].Branch = err, ""
		} else if err != nil {
			return nil, err
		}
	}
	ctx, stop, err := p.owning(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	out, err := p.Mirror.Remotes.PushHeads(ctx, remote, p.branch(), moves)
	for i, why := range gone {
		if err == nil {
			out[i].Refused = why.Error()
		}
	}
	return out, err
}

// movable returns the heads of branches that may be moved, so that the forge shows their
// pull requests as merged. There are none on a forge that needs no move for that, or
// where the queue's branch is not the default one. With again, trouble of the forge is an
// error, so that the forge is asked once more.
func (p *pusher) movable(ctx context.Context, heads []queue.HeadMove, again bool) ([]queue.HeadMove, error) {
	f := p.Forge.Capabilities().Closer
	if f == nil {
		return nil, nil
	}
	house, err := p.houseOf(ctx, f)
	if err != nil && (isTransient(err) || ctx.Err() != nil) {
		return nil, err
	}
	if err != nil || p.branch() != house.Default {
		return nil, nil
	}
	branches := make([]string, len(heads))
	for i, h := range heads {
		branches[i] = h.Branch
	}
	facts, unknown := p.factsOfAll(ctx, f, branches)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if again && isTransient(unknown) {
		return nil, unknown
	}
	var out []queue.HeadMove
	for i, h := range heads {
		use, err := "", unknown
		if err == nil {
			if use = facts[i].use(h.Branch, h.Number); use != "" && len(facts[i].Into) > 0 {
				if facts[i].Into, err = p.notRestacked(ctx, h.Number, facts[i].Into); isTransient(err) || ctx.Err() != nil {
					return nil, errors.Join(err, ctx.Err())
				}
				use = facts[i].use(h.Branch, h.Number)
			}
		}
		if err != nil {
			use = "it is not known what else it is used for: " + err.Error()
		}
		if use != "" {
			p.Log.Info("the branch of a "+p.Texts.Words.Noun()+" that lands stays where it is", "queue", p.Called(), "pull", h.Number, "branch", texts.OneLine(h.Branch, 100), "reason", use)
			continue
		}
		out = append(out, h)
	}
	return out, nil
}

// notRestacked leaves out the pull requests that are in one native stack of the forge with
// a given one. The forge moves these off that one's branch on its own, but only once it
// shows that one as merged.
func (p *pusher) notRestacked(ctx context.Context, number int, numbers []int) ([]int, error) {
	low, err := p.Forge.PullRequest(ctx, number)
	if err != nil || low.Stack.Number == 0 {
		return numbers, err
	}
	var out []int
	for _, n := range numbers {
		high, err := p.Forge.PullRequest(ctx, n)
		if err != nil {
			return numbers, err
		}
		if high.Stack.Number != low.Stack.Number {
			out = append(out, n)
		}
	}
	return out, nil
}
