package app

import (
	"context"
	"errors"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// recheckRequest is the beginning of the ids of requests that the queue itself makes.
const recheckRequest = "recheck/"

// boardingRequest is the beginning of the ids of those that ask once more right before a
// landing.
const boardingRequest = recheckRequest + "boarding/"

// lacks is what was read of a pull request's requirements together with the pull request.
type lacks struct {
	read bool
	forge.Standing
}

// standing reads the pull request. Right before its landing, it also reads all
// requirements that the pull request does not meet.
func (p *inspection) standing(ctx context.Context) (err error) {
	f := p.Forge.Capabilities().Stander
	stacked := false // it may be in a stack of the forge's own, which is not told together with the rest
	if err := p.facts(func(c *speculation.Core) {
		if pull := c.State().Pulls[p.Number]; pull != nil {
			ch := c.State().Changes[pull.Active]
			stacked = ch != nil && (ch.Stack != 0 || ch.Base != "")
		}
	}); err != nil {
		return err
	}
	if f == nil || stacked || p.now.config == nil || !strings.HasPrefix(p.Request, boardingRequest) {
		p.pr, err = p.Forge.PullRequest(ctx, p.Number)
		return err
	}
	p.lacks.read = true
	p.pr, p.lacks.Standing, err = f.Stands(ctx, p.requirements(forge.PullRequest{Number: p.Number}))
	if err == nil && p.pr.Open && p.pr.Base != p.branch() {
		p.lacks.read = false
		p.pr, err = p.Forge.PullRequest(ctx, p.Number)
	}
	return err
}

// requirements are the requirements on a pull request, as the forge is to check them.
func (p *inspection) requirements(pr forge.PullRequest) forge.Requirements {
	rules := &p.now.config.Queue
	return forge.Requirements{Number: pr.Number, Author: pr.Author, Head: pr.Head, Base: pr.Base, Branch: p.branch(),
		Checks: rules.RequireChecks != config.ChecksEnter, Except: []string{CheckName}, Resolved: rules.RequireResolved == config.ResolveAlways}
}

// required adds to the answer about an open pull request the requirements that it does
// not meet, where the forge has requirements.
func (p *inspection) required(ctx context.Context) (queue.Body, error) {
	out, now := &p.out, p.now
	f := p.Forge.Capabilities().Requirer
	if now.config == nil {
		return *out, nil
	}
	if f == nil {
		// A forge without requirements keeps nothing out, but a command that asks what
		// /land would do gets the outcome of the merge all the same.
		return *out, p.outcome(ctx)
	}
	rules := &now.config.Queue
	standing := p.lacks.Standing
	if !p.lacks.read {
		var err error
		standing, err = f.Unmet(ctx, p.requirements(p.pr))
		if errors.Is(err, forge.ErrNotFound) {
			return p.missing(), nil
		}
		if err != nil {
			return nil, err
		}
	}
	out.Requires, out.Unmet, out.Facets.Checks = true, standing.Unmet, standing.Checks
	for i, q := range out.Unmet {
		for j, name := range q.Names {
			out.Unmet[i].Names[j] = texts.ClipLine(name, 200)
		}
	}
	out.Spared = rules.Excepting(p.pr.Labels)
	if labels := rules.Blocking(p.pr.Labels); len(labels) > 0 {
		out.Unmet = append(out.Unmet, queue.Requirement{Kind: queue.RequireNoLabel, Names: labels})
	}
	depends, err := p.depends(ctx)
	if err != nil {
		return nil, err
	}
	out.Unmet = append(out.Unmet, depends...)
	if err := p.outcome(ctx); err != nil {
		return nil, err
	}
	return *out, nil
}

// outcome adds what the merge itself would come to: that it does not merge, or, for an
// explanation, that it changes nothing.
func (p *inspection) outcome(ctx context.Context) error {
	if p.pr.Base != p.branch() {
		return nil
	}
	paths, empty, err := p.clashes(ctx)
	if err != nil {
		return err
	}
	if len(paths) > 0 {
		p.out.Unmet = append(p.out.Unmet, queue.Requirement{Kind: queue.RequireMerge, Names: paths})
	}
	p.out.Already = empty && p.asked.Command.Verb == queue.CommandExplain
	return nil
}

// clashes returns the paths at which a pull request does not merge with main as it is,
// by the method of its landing, or why that method cannot be used; and whether its merge
// changes nothing there. A pull request that waits for something else should show this, and so
// should the answer to the question what would happen. A change that has entered gets its
// verdict from the merge that would land.
func (p *inspection) clashes(ctx context.Context) (paths []string, empty bool, err error) {
	pr, now := p.pr, p.now
	k := queue.Pick{Number: pr.Number, Head: pr.Head, HeadRef: pr.HeadRef, Below: p.out.Below}
	asks := len(p.out.Unmet) > 0 || pr.Draft
	if err := p.facts(func(c *speculation.Core) {
		r := c.State().Requests[p.Request]
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
		return nil, false, err
	}
	missing, err := p.fetch(ctx, []queue.Pick{k})
	if err = errors.Join(err, missing[pr.Head], p.hold(ctx, now.tip)); err != nil {
		return nil, false, err
	}
	merged, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{p.mergeOf(k, now.tip)})
	if err != nil {
		return nil, false, err
	}
	if merged[0].Refused != "" {
		return []string{merged[0].Refused}, false, nil
	}
	return merged[0].Conflicts[:min(len(merged[0].Conflicts), 10)], merged[0].Empty, nil
}
