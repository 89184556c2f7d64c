package app

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// CheckName is the name of the check run on each pull request's head.
const CheckName = "submitqueue"

// TryCheckName is the name of the check run of a try.
const TryCheckName = CheckName + "/try"

// inspect asks the forge about a pull request and who gave a command.
func (p *performer) inspect(ctx context.Context, key string, t queue.Inspect) (queue.Body, error) {
	var now inForce
	var at queue.CommitID
	ours := false // nobody has asked, so nobody is refused
	if err := p.facts(func(c *speculation.Core) {
		now, at = inForce{config: c.State().Main.Config, tip: c.State().Main.Tip}, c.State().Main.ConfigAt
		r := c.State().Requests[t.Request]
		ours = r != nil && r.Command.Verb == queue.CommandRecheck
	}); err != nil {
		return nil, err
	}
	if t.Number == 0 {
		level, err := p.Forge.Permission(ctx, t.User)
		if err != nil {
			return nil, err
		}
		teams, err := p.teams(ctx, t, level)
		return queue.Inspected{Action: key, Permission: level.String(), Teams: teams, ConfigAt: at}, err
	}
	pr, unmet, err := p.standing(ctx, t, now)
	err = p.orAway(ctx, err)
	if errors.Is(err, forge.ErrNotFound) {
		return queue.Inspected{Action: key, Missing: true, ConfigAt: at}, nil
	}
	if err != nil {
		return nil, err
	}
	if moved, err := p.movedSince(t, pr); moved != nil || err != nil {
		return moved, err
	}
	level, err := p.levelOf(ctx, t)
	if err != nil {
		return nil, err
	}
	out := queue.Inspected{Action: key, Head: pr.Head, HeadRef: pr.HeadRef, Branch: texts.ClipLine(pr.Source, 200), Base: pr.Base, Fork: pr.Fork, Merged: pr.Merged, Title: texts.ClipLine(pr.Title, 200),
		Author: pr.Author, URL: pr.URL, Open: pr.Open, Draft: pr.Draft, Permission: level.String(), ConfigAt: at}
	if out.Teams, err = p.teams(ctx, t, level); err != nil {
		return nil, err
	}
	requires := p.Forge.Capabilities().Requirer != nil
	again := strings.HasPrefix(t.Request, recheckRequest)
	if level < forge.PermissionWrite && !p.vouched(t) && !ours {
		return out, nil // the answer does not depend on the rest, which takes calls to the forge
	}
	if out.Stack, err = p.stack(ctx, pr); err != nil {
		return nil, err
	}
	meant, err := p.meant(pr, out.Stack)
	if err != nil {
		return nil, err
	}
	if pr.Open && !meant {
		if renamed, err := p.elsewhere(ctx, key, out.Stack.Foot); renamed != nil || err != nil {
			return renamed, err
		}
	}
	if !pr.Open || !meant || level < forge.PermissionWrite && !p.vouched(t) && !(again && requires) {
		return out, nil
	}
	if out.Protected, err = p.protected(ctx, pr, t, now); err != nil {
		return nil, err
	}
	if err = p.prospect(ctx, pr, t, now, &out); err != nil {
		return nil, err
	}
	if strings.HasPrefix(t.Request, api.EventPrefix) || again || queue.IsOwn(t.Request) {
		level = forge.PermissionNone // who holds the server's token may say any name; and nobody says what the queue asks by itself
	}
	out.Vouched = level >= forge.PermissionAdmin
	if err = p.facts(func(c *speculation.Core) { out.Guarded = c.Protected(t.Number) }); err != nil {
		return nil, err
	}
	if len(out.Protected)+len(out.Guarded) > 0 {
		if out.Approved, err = p.approved(ctx, pr, level); err != nil {
			return nil, err
		}
	}
	return p.required(ctx, t, out, pr, unmet, now)
}

// byCommit reports whether what a request is about may land commit by commit.
func (p *performer) byCommit(t queue.Inspect) (yes bool, err error) {
	err = p.facts(func(c *speculation.Core) {
		r := c.State().Requests[t.Request]
		yes = r != nil && c.ByCommit(r)
	})
	return yes, err
}

// approved reports whether an administrator vouches for exactly this head: by
// having asked for it, or by an approving review of it.
func (p *performer) approved(ctx context.Context, pr forge.PullRequest, requester forge.Permission) (bool, error) {
	if requester >= forge.PermissionAdmin {
		return true, nil
	}
	for _, user := range pr.ApprovedBy {
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

// publish makes the comment and the check of a pull request say what the state
// says at this moment.
func (p *performer) publish(ctx context.Context, key string, t queue.Publish) (queue.Body, error) {
	var v queue.View
	var ok bool
	var gist string
	o := p.Texts
	o.Now = queue.At(p.Now())
	if err := p.facts(func(c *speculation.Core) {
		v, ok = c.PullView(t.Number)
		gist, _ = gistOf(c, t.Number)
		o.Broken = c.State().Main.Broken
		if m := c.State().Main.Config; m != nil {
			o.Method, _ = m.Queue.MethodFor("")
		}
	}); err != nil {
		return nil, err
	}
	err := p.seeMoved(ctx, &v.Change)
	if err != nil {
		return nil, err
	}
	if o.Default, err = p.elseDefault(ctx, v.Change); err != nil {
		return nil, err
	}
	done := queue.Done{Action: key, Shown: t.Want}
	if !ok {
		return done, nil
	}
	say := forge.Publication{Number: t.Number, Marker: texts.Marker(p.Queue), Comment: texts.Comment(v, o)}
	if v.Change.ID != "" && v.Change.Would == nil {
		state, title, summary := texts.Check(v, o)
		name := CheckName
		if v.Change.On != "" {
			name = TryCheckName // that a try has passed is no leave to merge
		}
		say.Check = forge.Check{Name: name, Head: v.Change.Head, ExternalID: string(v.Change.ID),
			State: forge.CheckState(state), Title: title, Summary: summary, DetailsURL: p.detailsURL(v.Change.ID),
			Annotations: annotations(v.Change), Buttons: buttons(v.Change), New: p.isFresh(v.Change.ID)}
		say.Ended, say.Merged = v.Change.Phase.Final(), v.Change.Phase == queue.Landed
	}
	if v.Change.ID == "" && v.Notice.Code != "" {
		say.Refused = v.Answered
	}
	err = p.say(p.urgently(ctx, say, gist), say, gist)
	if err == nil {
		err = p.finish(ctx, v.Change)
	}
	return gone(done, p.orAway(ctx, err))
}

// say publishes what has not been said yet; gist is of what it says.
func (p *performer) say(ctx context.Context, now forge.Publication, gist string) error {
	p.mu.Lock()
	last := p.said[now.Number]
	p.mu.Unlock()
	isNew := now.Check.New
	now.Check.New = false
	if reflect.DeepEqual(last, now) {
		return nil
	}
	if f := p.Forge.Capabilities().Publisher; f != nil {
		if err := f.Publish(ctx, now); err != nil {
			return err
		}
	} else {
		if last.Comment != now.Comment && p.worthTelling(now.Number, gist) {
			if err := p.Forge.Comment(ctx, now.Number, now.Marker, now.Comment); err != nil {
				return err
			}
			last.Comment = now.Comment
			p.note(now.Number, last)
			p.retell(now.Number, gist, true)
		}
		if !reflect.DeepEqual(last.Check, now.Check) && now.Check.Name != "" {
			check := now.Check
			check.New = isNew
			p.notFresh(queue.ChangeID(check.ExternalID)) // once tried, it may be there
			if err := p.Forge.Check(ctx, check); err != nil {
				return err
			}
		}
		now.Comment = last.Comment
	}
	p.note(now.Number, now)
	p.retell(now.Number, gist, false)
	return nil
}

func (p *performer) note(number int, said forge.Publication) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.said[number] = said
}

// gone treats a pull request that has been deleted as shown: nobody can read it.
func gone(done queue.Done, err error) (queue.Body, error) {
	if err != nil && !errors.Is(err, forge.ErrNotFound) {
		return nil, err
	}
	return done, nil
}

func (p *performer) detailsURL(id queue.ChangeID) string {
	if p.Texts.BaseURL == "" {
		return ""
	}
	return fmt.Sprintf("%s/change?queue=%s&id=%s", strings.TrimSuffix(p.Texts.BaseURL, "/"), url.QueryEscape(p.Queue), id)
}

func (p *performer) react(ctx context.Context, key string, t queue.React) (queue.Body, error) {
	f := p.Forge.Capabilities().Reactor
	if f == nil {
		return queue.Done{Action: key}, nil
	}
	r := forge.ReactionRefused
	switch {
	case t.Seen:
		r = forge.ReactionSeen
	case t.Accepted:
		r = forge.ReactionAccepted
	}
	return gone(queue.Done{Action: key}, p.orAway(ctx, f.React(ctx, t.Number, t.Comment, r)))
}

// probe hands a benched host what another one has passed; the workers report by events
// of their own.
func (p *performer) probe(ctx context.Context, key string, t queue.ProbeHost) (queue.Body, error) {
	b, err := p.buildOf(ctx, func(s *queue.State) *queue.Build {
		if h := s.Hosts[t.Host]; h != nil && h.Bench != nil && h.Bench.Probe != nil && h.Bench.Probe.ID == t.Build {
			return h.Bench.Probe
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if b == nil {
		return queue.Done{Action: key}, nil
	}
	return nil, p.Workers.Run(ctx, *b, key)
}

// buildOf returns a copy of a build of the state, whose commit is held; nil: there is
// no such build any more.
func (p *performer) buildOf(ctx context.Context, find func(*queue.State) *queue.Build) (b *queue.Build, err error) {
	if err := p.facts(func(c *speculation.Core) {
		if live := find(c.State()); live != nil {
			copied := *live
			copied.Jobs = slices.Clone(live.Jobs)
			b = &copied
		}
	}); err != nil || b == nil {
		return nil, err
	}
	return b, p.hold(ctx, b.Commit)
}

// run hands a build to the workers; they report by events of their own.
func (p *performer) run(ctx context.Context, key string, t queue.Run) (queue.Body, error) {
	b, err := p.buildOf(ctx, func(s *queue.State) *queue.Build { return s.Builds[t.Build] })
	if err != nil {
		return nil, err
	}
	if b == nil {
		return queue.Done{Action: key}, nil
	}
	if err := p.sameTree(ctx, b); err != nil {
		return nil, err
	}
	return nil, p.Workers.Run(ctx, *b, key)
}
