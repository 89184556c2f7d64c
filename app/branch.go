package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/speculation"
)

// branchFacts is all that is known of the uses of a branch of the repository, beside
// the pull request that lands from it.
type branchFacts struct {
	Target  string   // the branch that the queue lands on
	Default string   // the repository's default branch
	Targets []string // branches that other queues of this server land on
	Served  bool     // the store holds a queue of it
	forge.BranchUse
}

// use says what a branch is used for beside one pull request; "": for nothing. A branch
// with another use may be neither moved nor deleted with the pull request. The forge
// may let us past the protection of a branch, and we would then rewrite a branch that
// others build on.
func (b branchFacts) use(branch string, number int) string {
	others := func(numbers []int) string {
		for _, n := range numbers {
			if n != number {
				return fmt.Sprintf("#%d", n)
			}
		}
		return ""
	}
	switch from, into := others(b.From), others(b.Into); {
	case branch == "" || branch == b.Target:
		return "the queue lands on it"
	case b.Gone:
		return "it is not there any more"
	case branch == b.Default:
		return "it is the default branch"
	case b.Served || slices.Contains(b.Targets, branch):
		return "another queue lands on it"
	case b.Protected:
		return "it is protected"
	case from != "":
		return "request " + from + " comes from it, too"
	case into != "" || slices.Contains(b.Into, number):
		return "request " + into + " is to land on it"
	}
	return ""
}

// factsOf asks what a branch is used for by now. An error means that the use is
// unknown: then the branch is to be left as it is.
func (p *site) factsOf(ctx context.Context, f forge.Closer, branch string) (branchFacts, error) {
	all, err := p.factsOfAll(ctx, f, []string{branch})
	if err != nil {
		return branchFacts{}, err
	}
	if all[0].Gone {
		return branchFacts{}, fmt.Errorf("%w: branch %s", forge.ErrNotFound, branch)
	}
	return all[0], nil
}

// factsOfAll asks what some branches are used for. It asks the forge only about branches
// for which nothing else tells a use.
func (p *site) factsOfAll(ctx context.Context, f forge.Closer, branches []string) ([]branchFacts, error) {
	house, err := p.houseOf(ctx, f)
	if err != nil {
		return nil, err
	}
	out := make([]branchFacts, len(branches))
	var open []int // of branches
	var ask []string
	for i, branch := range branches {
		out[i] = branchFacts{Target: p.branch(), Default: house.Default}
		if p.Targets != nil {
			out[i].Targets = p.Targets()
		}
		if out[i].Served, err = p.served(ctx, branch); err != nil {
			return nil, err
		}
		if out[i].use(branch, 0) == "" {
			open, ask = append(open, i), append(ask, branch)
		}
	}
	uses, err := f.Uses(ctx, ask)
	if err != nil {
		return nil, err
	}
	if len(uses) != len(ask) {
		return nil, fmt.Errorf("the forge was asked for %d branches, and told of %d", len(ask), len(uses))
	}
	for n, i := range open {
		out[i].BranchUse = uses[n]
	}
	return out, nil
}

// served reports whether the store holds a queue of a branch of the repository,
// whichever server works on it.
func (p *site) served(ctx context.Context, branch string) (bool, error) {
	_, version, err := p.Store.Load(ctx, repositoryOf(p.Queue)+"@"+branch)
	return version > 0, err
}

// waitOn returns, of some pull requests, those that are in the queue and ask for a
// branch: they have asked to land where it does. A pull request is left out where only
// the forge can change its base: the pull request uses the branch until the forge has
// done that.
func (p *site) waitOn(branch string, numbers []int) (out []int, err error) {
	err = p.facts(func(c *speculation.Core) {
		for _, n := range numbers {
			if pull := c.State().Pulls[n]; pull != nil && pull.Active != "" {
				if ch := c.State().Changes[pull.Active]; ch != nil && ch.Base == branch && !ch.Pinned() {
					out = append(out, n)
				}
			}
		}
	})
	return out, err
}
