package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// surelyMissing is how many times the forge must not find a pull request with a command
// on it before the pull request counts as missing.
const surelyMissing = 2

// inspections ask the forge about pull requests and the authors of commands.
type inspections struct {
	*commits

	asking sync.Mutex
	levels map[string]level // permissions of the requesters of changes, by user; guarded by asking
}

// inspection is one of them, and what it has learned so far.
type inspection struct {
	*inspections
	queue.Inspect
	now   inForce
	asked queue.Request // empty: it is gone
	ours  bool          // the queue itself asks, so nobody is refused
	pr    forge.PullRequest
	lacks lacks
	level forge.Permission  // of the requester
	low   forge.PullRequest // the pull request with the branch that this one asks for, as a list shows it
	out   queue.Inspected
}

// inspect asks the forge about a pull request and the author of a command.
func (p *inspections) inspect(ctx context.Context, a *queue.Action, t queue.Inspect) (queue.Body, error) {
	i := &inspection{inspections: p, Inspect: t, out: queue.Inspected{Action: a.Key}}
	if err := p.facts(func(c *speculation.Core) {
		i.now, i.out.ConfigAt = inForce{config: c.State().Main.Config, tip: c.State().Main.Tip}, c.State().Main.ConfigAt
		if r := c.State().Requests[t.Request]; r != nil {
			i.asked = *r
		}
		i.ours = i.asked.Command.Verb == queue.CommandRecheck
	}); err != nil {
		return nil, err
	}
	body, err := i.answer(ctx)
	if in, ok := body.(queue.Inspected); ok && in.Missing && a.Attempt <= surelyMissing {
		// For a moment, a forge may not find a pull request that it has just told us of.
		return nil, &forge.Transient{Err: fmt.Errorf("%s %d: %w", p.Texts.Words.Noun(), t.Number, forge.ErrNotFound)}
	}
	return body, err
}

// missing is the answer where there is no such pull request.
func (p *inspection) missing() queue.Body {
	return queue.Inspected{Action: p.out.Action, Missing: true, ConfigAt: p.out.ConfigAt}
}

// answer asks the forge, in such an order that the answer to each call can matter.
func (p *inspection) answer(ctx context.Context) (queue.Body, error) {
	if p.Number == 0 {
		return p.aboutUser(ctx)
	}
	err := p.orAway(ctx, p.standing(ctx))
	if errors.Is(err, forge.ErrNotFound) {
		return p.missing(), nil
	}
	if err != nil {
		return nil, err
	}
	if moved, err := p.movedSince(); moved != nil || err != nil {
		return moved, err
	}
	if p.level, err = p.levelOf(ctx, p.Inspect); err != nil {
		return nil, err
	}
	p.tellPull()
	if p.out.Teams, err = p.teams(ctx); err != nil {
		return nil, err
	}
	if p.asked.Command.Verb == queue.CommandAuto {
		p.out.Auto, err = p.rulings(ctx, false)
		return p.out, err
	}
	if p.level < forge.PermissionWrite && !p.vouched() && !p.ours {
		return p.out, nil // the answer does not depend on the rest, which takes calls to the forge
	}
	if p.out.Stack, err = p.stack(ctx); err != nil {
		return nil, err
	}
	meant, err := p.meant()
	if err != nil {
		return nil, err
	}
	if p.pr.Open && !meant {
		if renamed, err := p.elsewhere(ctx, p.out.Action, p.out.Stack.Foot); renamed != nil || err != nil {
			return renamed, err
		}
	}
	requires := p.Forge.Capabilities().Requirer != nil
	if !p.pr.Open || !meant || p.level < forge.PermissionWrite && !p.vouched() && !(p.again() && requires) {
		return p.out, nil
	}
	return p.landing(ctx)
}

// aboutUser says what the author of a command about no pull request may do.
func (p *inspection) aboutUser(ctx context.Context) (_ queue.Body, err error) {
	if p.level, err = p.Forge.Permission(ctx, p.User); err != nil {
		return nil, err
	}
	p.out.Permission = p.level.String()
	p.out.Teams, err = p.teams(ctx)
	return p.out, err
}

// again reports whether the queue itself repeats what somebody asked for before.
func (p *inspection) again() bool { return strings.HasPrefix(p.Request, recheckRequest) }

// tellPull puts the forge's facts about the pull request into the answer.
func (p *inspection) tellPull() {
	pr, out := p.pr, &p.out
	out.Head, out.HeadRef, out.Branch, out.Base, out.Fork = pr.Head, pr.HeadRef, texts.ClipLine(pr.Source, 200), pr.Base, pr.Fork
	out.Title, out.Author, out.URL = texts.ClipLine(pr.Title, 200), pr.Author, pr.URL
	out.Changed = pr.Changed
	out.Open, out.Draft, out.Merged, out.Permission = pr.Open, pr.Draft, pr.Merged, p.level.String()
	facets, others := pr.Facets, 0
	for _, user := range pr.ApprovedBy {
		if user != pr.Author {
			others++
		}
	}
	facets.Approvals = &others
	out.Facets = &facets
}

// landing says what matters of a pull request that may land: how it would land, what it
// touches, whether an administrator vouches for it, and which requirements it does not meet.
func (p *inspection) landing(ctx context.Context) (_ queue.Body, err error) {
	if f := p.Forge.Capabilities().Recaller; f != nil && p.asked.Doubtful(p.pr.Changed) {
		if p.out.Unmoved, err = f.WasHead(ctx, p.Number, p.pr.Head, p.asked.Made); err != nil {
			return nil, err
		}
	}
	if p.out.Same, err = p.same(ctx); err != nil {
		return nil, err
	}
	if p.out.Protected, err = p.protected(ctx); err != nil {
		return nil, err
	}
	if err = p.prospect(ctx); err != nil {
		return nil, err
	}
	if strings.HasPrefix(p.Request, api.EventPrefix) || p.again() || queue.IsOwn(p.Request) {
		p.level = forge.PermissionNone // a caller with the server's token may give any name; and nobody stands behind what the queue itself asks
	}
	p.out.Vouched = p.level >= forge.PermissionAdmin
	if err = p.facts(func(c *speculation.Core) { p.out.Guarded = c.Protected(p.Number) }); err != nil {
		return nil, err
	}
	if len(p.out.Protected)+len(p.out.Guarded) > 0 {
		if p.out.Approved, err = p.approved(ctx); err != nil {
			return nil, err
		}
	}
	if p.asked.Command.Verb == queue.CommandExplain {
		if p.out.Auto, err = p.rulings(ctx, true); err != nil {
			return nil, err
		}
	}
	return p.required(ctx)
}

// approved reports whether an administrator vouches for exactly this head: by
// having asked for it, or by an approving review of it.
func (p *inspection) approved(ctx context.Context) (bool, error) {
	if p.level >= forge.PermissionAdmin {
		return true, nil
	}
	for _, user := range p.pr.ApprovedBy {
		level, err := p.Forge.Permission(ctx, user)
		if err != nil {
			return false, err
		}
		if level >= forge.PermissionAdmin {
			return true, nil
		}
	}
	return false, nil
}

// movedSince returns the event that ends a command that was given at another head than
// the present one, where the forge knows that head. The author of the command has not seen
// the code that the command would run. On forges that tell of each push, the queue
// finds that without the forge's help.
func (p *inspection) movedSince() (queue.Body, error) {
	pr := p.pr
	if pr.Asked == "" || pr.Asked == pr.Head || queue.IsOwn(p.Request) {
		return nil, nil
	}
	runs, heard := false, false
	if err := p.facts(func(c *speculation.Core) {
		if r := c.State().Requests[p.Request]; r != nil {
			switch r.Command.Verb {
			case queue.CommandLand, queue.CommandRetry, queue.CommandTry, queue.CommandNow:
				runs = true
			}
		}
		known := c.State().Pulls[p.Number]
		heard = known != nil && known.Head == pr.Head
	}); err != nil || !runs {
		return nil, err
	}
	if heard { // the queue knows the new head already, so the event would end no command
		return nil, fmt.Errorf("it was asked to land at %s and is at %s now; ask again: %w", pr.Asked, pr.Head, forge.ErrForbidden)
	}
	return queue.HeadMoved{Number: p.Number, Head: pr.Head}, nil
}
