package app

import (
	"context"
	"errors"
	"slices"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// same returns the head of the change in the queue, where the pull request's present head
// is the same commits on top of other ones. There must be as many commits, by the same
// authors and with the same messages, in the same order, without merges. Each tree must be
// what git makes of the former commit there. Any other pushed commit changes one of these.
// "": the head is not the same, or the pull request is in no native stack of the forge:
// then only people push to it.
func (p *inspection) same(ctx context.Context) (queue.CommitID, error) {
	var ch queue.Change
	var under []queue.CommitID  // heads below the former one
	var others []queue.CommitID // heads of others in the stack, also those before they were restacked or landed
	// If the one below has landed, it may be closed before the push on top of it is seen.
	var landed queue.CommitID // its head
	var when queue.Instant
	if err := p.facts(func(c *speculation.Core) {
		s := c.State()
		if pull := s.Pulls[p.Number]; pull != nil && s.Changes[pull.Active] != nil {
			ch = *s.Changes[pull.Active]
		}
		if low := s.Pulls[ch.Parent]; ch.Parent != 0 && low != nil {
			for _, id := range []queue.ChangeID{low.Active, low.Last} {
				if x := s.Changes[id]; x != nil {
					under = append(under, x.Head)
				}
			}
		}
		if ch.Below != "" {
			under = append(under, ch.Below)
		}
		for _, x := range s.Changes {
			if ch.Stack != 0 && x.Stack == ch.Stack && x.Number != ch.Number {
				others = append(others, x.Head)
				if x.Phase == queue.Landed && x.Branch == p.pr.Base && x.Decided > when {
					landed, when = x.Head, x.Decided
				}
			}
		}
	}); err != nil {
		return "", err
	}
	if ch.Head == "" || ch.Head == p.pr.Head || p.pr.Fork || ch.Stack == 0 && p.pr.Stack.Number == 0 || p.now.tip == "" {
		return "", nil
	}
	if landed != "" {
		under = append(under, landed)
	}
	if held, err := p.Mirror.Objects.Held(ctx, append(under, ch.Head)); err != nil || !slices.Contains(held, ch.Head) {
		return "", err // nothing can be said of it
	} else {
		under = slices.DeleteFunc(held, func(id queue.CommitID) bool { return id == ch.Head })
	}
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return "", err
	}
	// The forge may have restacked onto a commit that the queue has not heard of yet.
	main, err := p.Mirror.Remotes.FetchBranch(ctx, remote, p.branch())
	if err != nil {
		return "", err
	}
	on, picks := main, []queue.Pick{{Head: p.pr.Head, HeadRef: p.pr.HeadRef}}
	if p.pr.Base != p.branch() {
		switch {
		case p.low.Head != "":
			on = p.low.Head
			picks = append(picks, queue.Pick{Head: on, HeadRef: p.low.HeadRef})
		case slices.Contains(under, landed):
			on = landed
		default:
			return "", nil
		}
	}
	missing, err := p.fetch(ctx, picks)
	if err = errors.Join(err, missing[p.pr.Head], missing[on]); err != nil {
		return "", err
	}
	is, err := p.sameOn(ctx, ch, on, append(under, main), others)
	if err != nil || !is {
		return "", err
	}
	return ch.Head, nil
}

// sameOn compares the former head of a pull request with the present one, which is to
// stand on the line of the commit on. The former head's own commits are those that no
// commit of under has, and that come after the last head of others among them. under is
// not empty.
func (p *inspection) sameOn(ctx context.Context, ch queue.Change, on queue.CommitID, under, others []queue.CommitID) (bool, error) {
	history := p.Mirror.History
	now, err := history.Own(ctx, on, p.pr.Head)
	if errors.Is(err, mirror.ErrTooMany) || err == nil && len(now) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	was, err := history.Own(ctx, under[0], ch.Head, under[1:]...)
	if errors.Is(err, mirror.ErrTooMany) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i, c := range slices.Backward(was) {
		if slices.Contains(others, c.Commit) {
			was = was[i+1:]
			break
		}
	}
	if !slices.EqualFunc(was, now, sameCommit) {
		return false, nil
	}
	picks := make([]mirror.Pick, len(now))
	for i := range now {
		picks[i] = mirror.Pick{Parent: now[i].Parents[0], Head: was[i].Commit, Below: was[i].Parents[0], Squash: true, Message: "restacked\n"}
	}
	made, err := p.Mirror.Merges.MergeWave(ctx, picks)
	if err != nil {
		return false, err
	}
	for i, m := range made {
		if !m.Clean() || m.Tree != now[i].Tree {
			return false, nil
		}
	}
	return true, nil
}

// sameCommit reports whether two commits have the same author and message, and one parent each.
func sameCommit(a, b mirror.OwnCommit) bool {
	return len(a.Parents) == 1 && len(b.Parents) == 1 && a.Message == b.Message && a.Name == b.Name && a.Address == b.Address
}
