package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// pushes remembers pushes of the target branch until they have been read back, or the
// state has dropped them.
type pushes struct {
	*ground

	mu     sync.Mutex
	proven map[queue.CommitID]queue.TreeID // of commits that were pushed and have not been read back
}

// provenTrees remembers the trees that were proven of a push's commits, for readBack.
// It is called before the push: afterwards the state may have dropped them.
func (p *pushes) provenTrees(push *queue.Push) error {
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

// overPushes returns, of the commits with a remembered proven tree, those of pushes that are
// over: a read of main from now on shows them, or they are not on it.
func (p *pushes) overPushes() (over []queue.CommitID, err error) {
	err = p.facts(func(c *speculation.Core) {
		p.mu.Lock()
		defer p.mu.Unlock()
		for commit := range p.proven {
			if push := c.State().Push; push == nil || !slices.Contains(push.Commits, commit) {
				over = append(over, commit)
			}
		}
	})
	return over, err
}

// readBack compares the pushed commits that are now on the target branch, as they were
// read from there, with the trees that were proven. It returns what differs, or "".
// Main is read after each push; over are the commits of pushes that were over before
// main was read.
func (p *pushes) readBack(ctx context.Context, tip queue.CommitID, over []queue.CommitID) string {
	p.mu.Lock()
	commits := slices.Sorted(maps.Keys(p.proven))
	p.mu.Unlock()
	differs := ""
	for _, commit := range commits {
		there, err := p.Mirror.History.IsAncestor(ctx, commit, tip)
		if err != nil || !there && !slices.Contains(over, commit) {
			continue // it is being pushed
		}
		tree := queue.TreeID("") // it has lost the race, or main was forced, which is reported elsewhere
		if there {
			t, err := p.Mirror.Objects.Tree(ctx, commit)
			if err != nil {
				continue
			}
			tree = t.ID()
		}
		p.mu.Lock()
		want := p.proven[commit]
		delete(p.proven, commit)
		p.mu.Unlock()
		if tree != "" && want != "" && tree != want && differs == "" {
			differs = fmt.Sprintf("commit %s on %s has the tree %s, and %s was proven", commit, p.branch(), tree, want)
			p.Log.Error("the target branch is not what was proven; the queue is paused", "queue", p.Called(), "reason", differs)
		}
	}
	return differs
}
