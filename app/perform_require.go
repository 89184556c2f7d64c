package app

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// recheckRequest is how the requests begin that the queue makes by itself.
const recheckRequest = "recheck/"

// required completes what is told of an open pull request by what it does not meet,
// where the forge asks for things.
func (p *performer) required(ctx context.Context, out queue.Inspected, pr forge.PullRequest, now inForce) (queue.Body, error) {
	f, ok := p.Forge.(forge.Requirer)
	if !ok || now.config == nil {
		return out, nil
	}
	rules := &now.config.Queue
	unmet, err := f.Unmet(ctx, forge.Requirements{Number: pr.Number, Author: pr.Author, Head: pr.Head, Base: pr.Base, Branch: p.branch(),
		Checks: rules.RequireChecks != queue.ChecksEnter, Except: []string{CheckName}, Resolved: rules.RequireResolved == queue.ResolveAlways})
	if errors.Is(err, forge.ErrNotFound) {
		return queue.Inspected{Action: out.Action, Missing: true, ConfigAt: out.ConfigAt}, nil
	}
	if err != nil {
		return nil, err
	}
	out.Requires, out.Unmet = true, unmet
	for i, q := range out.Unmet {
		for j, name := range q.Names {
			out.Unmet[i].Names[j] = clipLine(name, 200)
		}
	}
	if labels := rules.Blocking(pr.Labels); len(labels) > 0 {
		out.Unmet = append(out.Unmet, queue.Requirement{Kind: queue.RequireNoLabel, Names: labels})
	}
	if waits := len(out.Unmet) > 0 || pr.Draft; waits && pr.Base == p.branch() {
		paths, err := p.clashes(ctx, pr, now)
		if err != nil {
			return nil, err
		}
		if len(paths) > 0 {
			out.Unmet = append(out.Unmet, queue.Requirement{Kind: queue.RequireMerge, Names: paths})
		}
	}
	return out, nil
}

// clashes returns paths at which a pull request does not merge with main as it is.
// Whoever waits for something else should know; what has entered gets its verdict
// from the merge that would land.
func (p *performer) clashes(ctx context.Context, pr forge.PullRequest, now inForce) ([]string, error) {
	if now.tip == "" {
		return nil, nil
	}
	missing, err := p.fetch(ctx, []queue.Pick{{Number: pr.Number, Head: pr.Head, HeadRef: pr.HeadRef}})
	if err = errors.Join(err, missing[pr.Head], p.hold(ctx, now.tip)); err != nil {
		return nil, err
	}
	merged, err := p.Mirror.MergeWave(ctx, []forge.Pick{{Parent: now.tip, Head: pr.Head, Message: "inspect\n"}})
	if err != nil {
		return nil, err
	}
	return merged[0].Conflicts[:min(len(merged[0].Conflicts), 10)], nil
}
