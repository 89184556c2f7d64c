package app

import (
	"context"
	"errors"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// retarget has the forge show the pull requests of a push that ask for another one's
// branch against the branch that they land on. Else the forge would not see that they
// are merged, and a branch that one of them asks for could not move.
func (p *pusher) retarget(ctx context.Context, push *queue.Push) error {
	p.heads.Lock()
	defer p.heads.Unlock()
	if p.shown == push.ID {
		return nil // done before its heads moved
	}
	branch := p.branch() // not in the function below: ask calls it while it holds the state
	err := p.ask(ctx, push.Changes, func(*queue.Change) string { return branch })
	if err == nil {
		p.shown = push.ID
	}
	return err
}

// restore gives pull requests back the bases that retarget changed for a push that did not
// happen.
func (p *pusher) restore(ctx context.Context, changes []queue.ChangeID) error {
	return p.ask(ctx, changes, func(ch *queue.Change) string { return ch.Base })
}

// ask gives a base to those of the changes that ask for another branch than the
// queue's. The new base is for people only, so a refusal stops nothing.
func (p *pusher) ask(ctx context.Context, changes []queue.ChangeID, base func(*queue.Change) string) error {
	f := p.Forge.Capabilities().Stacker
	if f == nil {
		return nil
	}
	type pull struct {
		number int
		base   string
	}
	var pulls []pull
	if err := p.facts(func(c *speculation.Core) {
		for _, id := range changes {
			if ch := c.State().Changes[id]; ch != nil && ch.Base != "" && !ch.Pinned() {
				pulls = append(pulls, pull{ch.Number, base(ch)})
			}
		}
	}); err != nil {
		return err
	}
	for _, x := range pulls {
		if err := p.retargetOne(ctx, f, x.number, x.base); err != nil {
			p.Log.Warn("a "+p.Texts.Words.Noun()+" could not be given another base, so the forge may show it against the wrong branch, and as open when it has landed; change its base by hand",
				"queue", p.Called(), "pull", x.number, "base", x.base, "error", err)
		}
	}
	return nil
}

// Tries and patience of changing a base: the push waits for it.
const (
	retargetTries    = 3
	retargetPatience = 5 * time.Second
)

// retargetOne changes one base, and tries again where the trouble may pass.
func (p *pusher) retargetOne(ctx context.Context, f forge.Stacker, number int, base string) error {
	for try := 1; ; try++ {
		err := f.Retarget(ctx, number, base)
		var t *forge.Transient
		if !errors.As(err, &t) || try == retargetTries || t.After > retargetPatience || !pause(ctx, max(t.After, time.Second)) {
			return err
		}
	}
}
