package app

import (
	"context"

	"github.com/submitqueue/submitqueue/app/texts"
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

// along returns the branches that move with main, and whose they are: none where that
// would not make the forge show their pull requests as merged.
func (p *pusher) along(ctx context.Context, push *queue.Push) (moves []mirror.Move, whose []queue.ChangeID, err error) {
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
			p.Log.Info("the branch of a pull request that lands stays where it is", "queue", p.Queue, "pull", b.number, "branch", texts.OneLine(b.Branch, 100), "reason", use)
			continue
		}
		moves, whose = append(moves, b.Move), append(whose, b.change)
	}
	return moves, whose, nil
}
