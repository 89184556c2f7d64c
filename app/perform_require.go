package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// recheckRequest is how the requests begin that the queue makes by itself.
const recheckRequest = "recheck/"

// boardingRequest is how those begin that ask once more right before a landing.
const boardingRequest = recheckRequest + "boarding/"

// levelFor is how long somebody's permission is taken as it was read, right before
// a landing: many changes of a few people land at one time. What was seen of a
// change is taken to hold for longer than that.
const levelFor = 10 * time.Second

// level is somebody's permission as it was read.
type level struct {
	forge.Permission
	at time.Time
}

// levelOf returns what the requester may do.
func (p *performer) levelOf(ctx context.Context, t queue.Inspect) (forge.Permission, error) {
	if !strings.HasPrefix(t.Request, boardingRequest) {
		return p.Forge.Permission(ctx, t.User)
	}
	p.asking.Lock() // those who ask together are answered together
	defer p.asking.Unlock()
	if known, ok := p.levels[t.User]; ok && p.Now().Sub(known.at) < levelFor {
		return known.Permission, nil
	}
	at := p.Now()
	read, err := p.Forge.Permission(ctx, t.User)
	if err == nil {
		if len(p.levels) > 1000 {
			clear(p.levels)
		}
		p.levels[t.User] = level{read, at}
	}
	return read, err
}

// lacks is what was read of a pull request's requirements together with it.
type lacks struct {
	read  bool
	unmet []queue.Requirement
}

// standing reads a pull request, right before its landing with all that it does
// not meet.
func (p *performer) standing(ctx context.Context, t queue.Inspect, now inForce) (pr forge.PullRequest, read lacks, err error) {
	f := p.Forge.Capabilities().Stander
	if f == nil || now.config == nil || !strings.HasPrefix(t.Request, boardingRequest) {
		pr, err = p.Forge.PullRequest(ctx, t.Number)
		return pr, read, err
	}
	read.read = true
	pr, read.unmet, err = f.Stands(ctx, p.requirements(forge.PullRequest{Number: t.Number}, now))
	return pr, read, err
}

// requirements are what is asked of a pull request.
func (p *performer) requirements(pr forge.PullRequest, now inForce) forge.Requirements {
	rules := &now.config.Queue
	return forge.Requirements{Number: pr.Number, Author: pr.Author, Head: pr.Head, Base: pr.Base, Branch: p.branch(),
		Checks: rules.RequireChecks != config.ChecksEnter, Except: []string{CheckName}, Resolved: rules.RequireResolved == config.ResolveAlways}
}

// required completes what is told of an open pull request by what it does not meet,
// where the forge asks for things.
func (p *performer) required(ctx context.Context, t queue.Inspect, out queue.Inspected, pr forge.PullRequest, known lacks, now inForce) (queue.Body, error) {
	f := p.Forge.Capabilities().Requirer
	if f == nil || now.config == nil {
		return out, nil
	}
	rules := &now.config.Queue
	unmet := known.unmet
	if !known.read {
		var err error
		unmet, err = f.Unmet(ctx, p.requirements(pr, now))
		if errors.Is(err, forge.ErrNotFound) {
			return queue.Inspected{Action: out.Action, Missing: true, ConfigAt: out.ConfigAt}, nil
		}
		if err != nil {
			return nil, err
		}
	}
	out.Requires, out.Unmet = true, unmet
	for i, q := range out.Unmet {
		for j, name := range q.Names {
			out.Unmet[i].Names[j] = texts.ClipLine(name, 200)
		}
	}
	if labels := rules.Blocking(pr.Labels); len(labels) > 0 {
		out.Unmet = append(out.Unmet, queue.Requirement{Kind: queue.RequireNoLabel, Names: labels})
	}
	if pr.Base == p.branch() {
		paths, err := p.clashes(ctx, t, pr, out, now)
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			out.Unmet = append(out.Unmet, queue.Requirement{Kind: queue.RequireMerge, Names: paths})
		}
	}
	return out, nil
}

// clashes returns paths at which a pull request does not merge with main as it is, in
// the way in which it would land, or why that cannot be done. Whoever waits for
// something else, or asks what would become of it, should know; what has entered gets
// its verdict from the merge that would land.
func (p *performer) clashes(ctx context.Context, t queue.Inspect, pr forge.PullRequest, out queue.Inspected, now inForce) ([]string, error) {
	k := queue.Pick{Number: pr.Number, Head: pr.Head, HeadRef: pr.HeadRef, Below: out.Below}
	asks := len(out.Unmet) > 0 || pr.Draft
	if err := p.facts(func(c *speculation.Core) {
		r := c.State().Requests[t.Request]
		if r == nil {
			return
		}
		asks = asks || r.Command.Verb == queue.CommandExplain
		pull := c.State().Pulls[pr.Number]
		if r.Command.Verb != queue.CommandRecheck || pull == nil {
			k.Method, _ = c.MethodOf(r)
		} else if ch := c.State().Changes[pull.Active]; ch != nil && ch.Head == pr.Head {
			k.Method, k.Below = ch.Method, ch.Below
		}
	}); err != nil || now.tip == "" || !asks {
		return nil, err
	}
	missing, err := p.fetch(ctx, []queue.Pick{k})
	if err = errors.Join(err, missing[pr.Head], p.hold(ctx, now.tip)); err != nil {
		return nil, err
	}
	merged, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{mergeOf(k, now.tip)})
	if err != nil {
		return nil, err
	}
	if merged[0].Refused != "" {
		return []string{merged[0].Refused}, nil
	}
	return merged[0].Conflicts[:min(len(merged[0].Conflicts), 10)], nil
}
