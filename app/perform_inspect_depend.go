package app

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// depends returns a requirement, as RequireLanded says, for each pull request that this
// one is to land after by its description, and that has not landed.
func (p *inspection) depends(ctx context.Context) (out []queue.Requirement, err error) {
	refs, more := queue.Depends(p.pr.Body)
	own := p.owner.repository()
	self := queue.PullRef{Repository: own, Number: p.Number}
	var open []queue.PullRef
	for _, ref := range refs {
		full := within(ref, own)
		p.Neighbors.await(full, waiter{p.owner, p.Number}) // before it is looked at, so that nothing comes between
		how, err := p.standsAt(ctx, full)
		if err != nil {
			return nil, err
		}
		if how == "" {
			continue
		}
		if ref = full; full.Repository == own {
			ref.Repository = ""
		}
		open = append(open, full)
		out = append(out, queue.Requirement{Kind: queue.RequireLanded, Names: []string{ref.String(), how}})
	}
	if len(out) > 0 {
		at := slices.Clone(open)
		if low := p.out.Stack.Parent(); low != 0 {
			at = append(at, queue.PullRef{Repository: own, Number: low})
		}
		way := p.Neighbors.circle(self, at)
		if i := slices.Index(open, first(way)); i >= 0 {
			out[i].Names[1] = queue.DependsCircle
			for _, ref := range way[:len(way)-1] {
				if ref.Repository == own {
					ref.Repository = ""
				}
				out[i].Names = append(out[i].Names, ref.String())
			}
		}
	}
	if more {
		out = append(out, queue.Requirement{Kind: queue.RequireLanded, Names: []string{"", queue.DependsMany}})
	}
	return out, nil
}

func first(way []queue.PullRef) queue.PullRef {
	if len(way) == 0 {
		return queue.PullRef{}
	}
	return way[0]
}

// standsAt says how a pull request stands that another is to land after; "": it has
// landed. It says nothing about repositories of another account: readers of this
// repository may not be allowed to read that one.
func (p *inspection) standsAt(ctx context.Context, ref queue.PullRef) (string, error) {
	account := func(repository string) string { a, _, _ := strings.Cut(repository, "/"); return a }
	owners := p.Neighbors.of(ref.Repository)
	if len(owners) == 0 || account(ref.Repository) != account(p.owner.repository()) {
		return queue.DependsElsewhere, nil
	}
	landed, queued, left := false, false, false
	for _, o := range owners {
		o.Read(func(c *speculation.Core) {
			if pull := c.State().Pulls[ref.Number]; pull != nil {
				landed = landed || pull.Landed && pull.Active == ""
				queued = queued || c.State().Changes[pull.Active] != nil
				left = left || pull.Last != ""
			}
		})
	}
	switch {
	case landed:
		return "", nil
	case queued:
		return queue.DependsQueued, nil
	}
	pr, err := owners[0].Forge.PullRequest(ctx, ref.Number)
	switch {
	case errors.Is(err, forge.ErrNotFound):
		return queue.DependsMissing, nil
	case errors.Is(err, forge.ErrForbidden), errors.Is(err, forge.ErrAway):
		return queue.DependsElsewhere, nil
	case err != nil:
		return "", err
	case pr.Merged, !pr.Open && slices.Contains(pr.Labels, texts.LandedLabel):
		return "", nil
	case !pr.Open:
		return queue.DependsClosed, nil
	case left:
		return queue.DependsLeft, nil
	}
	return queue.DependsOpen, nil
}
