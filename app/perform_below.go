package app

import (
	"context"
	"slices"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// below returns the latest commit among a pull request's own whose content is on
// main in another commit, because it was the head of one that landed by squash or
// rebase; "" where there is none. own are the pull request's commits, the oldest
// first.
func (p *performer) below(ctx context.Context, own []mirror.OwnCommit, tip queue.CommitID) (queue.CommitID, error) {
	if len(own) < 2 {
		return "", nil // whoever stands on another has its commits, too
	}
	line, err := p.Mirror.History.LandedHeads(ctx, tip, own[:len(own)-1])
	if err != nil {
		return "", err
	}
	landed := map[queue.CommitID]mirror.LineCommit{}
	for _, l := range line {
		if _, seen := landed[l.Head]; !seen {
			landed[l.Head] = l
		}
	}
	for _, c := range slices.Backward(own[:len(own)-1]) {
		l, named := landed[c.Commit]
		if !named {
			continue
		}
		known := false
		if err := p.facts(func(core *speculation.Core) {
			ch := core.State().Changes[l.Change]
			known = ch != nil && ch.Head == l.Head && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == l.Commit
		}); err != nil {
			return "", err
		}
		if !known { // trailers prove nothing; the content does
			made, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{{Parent: l.Parent, Head: l.Head, Squash: true, Message: "below\n"}})
			if err != nil {
				return "", err
			}
			known = made[0].Clean() && made[0].Tree == l.Tree
		}
		if known {
			return c.Commit, nil
		}
	}
	return "", nil
}
