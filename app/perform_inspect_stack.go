package app

import (
	"context"
	"errors"
	"slices"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// stack follows the bases of a pull request down to the queue's branch, or to a branch
// that no open pull request is from. A protected branch stays when the changes on it
// have landed: a pull request that asks for one is not meant for another branch.
func (p *inspection) stack(ctx context.Context) (queue.Stack, error) {
	pr := p.pr
	out := queue.Stack{Foot: pr.Base, Native: pr.Stack.Number}
	f := p.Forge.Capabilities().Stacker
	for f != nil && pr.Open && out.Foot != p.branch() {
		protection, err := p.Forge.Protection(ctx, out.Foot)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return out, err
		}
		if out.Kept = protection.Protected && (out.Native == 0 || out.Foot == pr.Stack.Base); out.Kept {
			return out, nil
		}
		from, err := f.OpenFrom(ctx, out.Foot)
		if err != nil {
			return out, err
		}
		if len(from) == 0 {
			if out.Native != 0 { // the pull request below has merged or is closed, and the forge has not moved this one yet
				out.Foot = pr.Stack.Base
			}
			return out, nil
		}
		next := from[0]
		if i := slices.IndexFunc(from, func(x forge.PullRequest) bool { return x.Base == p.branch() }); i >= 0 {
			next = from[i]
		}
		if len(out.Below) == 0 {
			p.low = next
		}
		out.Circle = next.Number == pr.Number || slices.Contains(out.Below, next.Number)
		out.Below = append(out.Below, next.Number)
		out.Foot = next.Base
		if out.Deep = len(out.Below) > queue.MaxStack; out.Circle || out.Deep {
			return out, nil
		}
	}
	return out, nil
}

// meant reports whether a pull request may be for this queue.
func (p *inspection) meant() (yes bool, err error) {
	s := p.out.Stack
	if p.pr.Base == p.branch() || s.Foot == p.branch() {
		return true, nil
	}
	err = p.facts(func(c *speculation.Core) { yes = c.LandedBranch(s.Foot) })
	return yes && !s.Kept, err
}
