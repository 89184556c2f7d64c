package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// provenTrees remembers the trees that were proven of a push's commits, for
// readBack. It is asked before the push: afterwards the state may have let go of
// them.
func (p *performer) provenTrees(push *queue.Push) error {
	proven := map[queue.CommitID]queue.TreeID{}
	if err := p.facts(func(c *speculation.Core) {
		for _, l := range c.State().Links {
			if l.Outcome == queue.Merged && l.Change != "" && slices.Contains(push.Commits, l.Commit) {
				proven[l.Commit] = l.Tree
			}
		}
	}); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for commit, tree := range proven {
		p.proven[commit] = tree
	}
	return nil
}

// readBack compares what was pushed and is on the target branch now, as it has
// been read from there, with what was proven. It returns what differs, or "". Main
// is read after each push.
func (p *performer) readBack(ctx context.Context, tip queue.CommitID) string {
	p.mu.Lock()
	var commits []queue.CommitID
	for c := range p.proven {
		commits = append(commits, c)
	}
	p.mu.Unlock()
	slices.Sort(commits)
	differs := ""
	for _, commit := range commits {
		there, err := p.Mirror.IsAncestor(ctx, commit, tip)
		if err != nil || !there {
			continue // not pushed yet, or never; or main was forced, which is told of
		}
		t, err := p.Mirror.Tree(ctx, commit)
		if err != nil {
			continue
		}
		p.mu.Lock()
		want := p.proven[commit]
		delete(p.proven, commit)
		p.mu.Unlock()
		if want != "" && t.ID() != want && differs == "" {
			differs = fmt.Sprintf("commit %s on %s has the tree %s, and %s was proven", commit, p.branch(), t.ID(), want)
			p.Log.Error("the target branch is not what was proven; the queue is paused", "queue", p.Queue, "reason", differs)
		}
	}
	return differs
}
