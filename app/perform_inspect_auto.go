package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// The calls of one look at a pull request, at GitHub:
//
//	2  the pull request and its reviews
//	1  for each team among the authors of a rule, until one has the author
//	1  for each approval of another person, until enough of them count
//	1  whether the author may write, where no rule names the author and nobody has approved
//	2  its checks and statuses, where a rule asks for some, and 1 for each further hundred
//
// Each is asked once for all rules, after the conditions that cost no call, and only as
// long as the rule may hold. The paths are read from git. An event about a pull request
// leads to a look, unless its labels, author, base and draft state rule out every rule.
// Checks that end on a head lead to looks 2, 4, 8 ... 60 seconds later, however many
// there are.

// mostVouchers bounds the reviewers that the forge is asked about.
const mostVouchers = 20

// ruling holds the facts of a pull request that were read for the rules.
type ruling struct {
	*inspection
	teams   map[string]bool
	writes  map[string]bool // whether a user may write, of users that the forge was asked about
	checks  []forge.CIResult
	checked bool
	paths   []string
	clean   bool
	read    bool // paths
}

// rulings applies the rules of `auto` to the pull request: up to the first rule that
// holds, or, with whole, all rules, each with all that the pull request lacks.
func (p *inspection) rulings(ctx context.Context, whole bool) (out []queue.Ruling, err error) {
	if p.now.config == nil || !p.pr.Open {
		return nil, nil
	}
	r := &ruling{inspection: p, teams: map[string]bool{}, writes: map[string]bool{}}
	for _, a := range p.now.config.Queue.Auto {
		lacks, err := r.lacks(ctx, a, whole)
		if err != nil {
			return nil, fmt.Errorf("rule %s: %w", a.Name, err)
		}
		out = append(out, queue.Ruling{Rule: a.Name, Lacks: lacks})
		if len(lacks) == 0 && !whole {
			break
		}
	}
	return out, nil
}

// lacks returns the conditions of a rule that the pull request does not meet: the first
// one, or, with whole, all.
func (p *ruling) lacks(ctx context.Context, a config.Auto, whole bool) (out []queue.Lack, err error) {
	for _, ask := range []func(context.Context, config.Auto) (*queue.Lack, error){
		p.lacksBase, p.lacksReady, p.lacksLabels, p.lacksAuthor, p.lacksPaths, p.lacksApprovals, p.lacksWriter, p.lacksChecks,
	} {
		lack, err := ask(ctx, a)
		switch {
		case errors.Is(err, forge.ErrForbidden): // this rule does not count as met, and the other rules go on
			lack = &queue.Lack{Kind: queue.LackUnjudged, Names: []string{texts.ClipLine(err.Error(), 300)}}
		case err != nil:
			return nil, err
		}
		if lack != nil {
			if out = append(out, *lack); !whole {
				break
			}
		}
	}
	return out, nil
}

func (p *ruling) lacksBase(context.Context, config.Auto) (*queue.Lack, error) {
	if p.pr.Base == p.branch() {
		return nil, nil
	}
	return &queue.Lack{Kind: queue.LackBase, Names: []string{p.pr.Base}}, nil
}

func (p *ruling) lacksReady(context.Context, config.Auto) (*queue.Lack, error) {
	if !p.pr.Draft {
		return nil, nil
	}
	return &queue.Lack{Kind: queue.LackReady}, nil
}

func (p *ruling) lacksLabels(_ context.Context, a config.Auto) (*queue.Lack, error) {
	if names := a.LacksLabels(p.pr.Labels); len(names) > 0 {
		return &queue.Lack{Kind: queue.LackLabels, Names: names}, nil
	}
	return nil, nil
}

func (p *ruling) lacksAuthor(ctx context.Context, a config.Auto) (*queue.Lack, error) {
	if named, err := p.named(ctx, a); named || err != nil || len(a.Authors) == 0 {
		return nil, err
	}
	return &queue.Lack{Kind: queue.LackAuthor, Names: []string{p.pr.Author}}, nil
}

// named reports whether a rule names the author, or a team of the author.
func (p *ruling) named(ctx context.Context, a config.Auto) (bool, error) {
	if a.Names(p.pr.Author) {
		return true, nil
	}
	f := p.Forge.Capabilities().Teams
	if f == nil || p.pr.Author == "" {
		return false, nil
	}
	for _, team := range a.Teams() {
		in, known := p.teams[team]
		if !known {
			var err error
			if in, err = f.InTeam(ctx, team, p.pr.Author); err != nil {
				return false, err
			}
			p.teams[team] = in
		}
		if in {
			return true, nil
		}
	}
	return false, nil
}

// mayWrite reports whether somebody has write access.
func (p *ruling) mayWrite(ctx context.Context, user string) (bool, error) {
	may, known := p.writes[user]
	if known {
		return may, nil
	}
	level, err := p.Forge.Permission(ctx, user)
	if err == nil {
		p.writes[user] = level >= forge.PermissionWrite
	}
	return level >= forge.PermissionWrite, err
}

// approvals counts the people with write access, other than the author, that have approved
// this head, up to most. Anybody may review a public pull request; such reviews do not
// count.
func (p *ruling) approvals(ctx context.Context, most int) (n int, err error) {
	for i, user := range p.pr.ApprovedBy {
		if n >= most || i == mostVouchers {
			break
		}
		if user == p.pr.Author {
			continue
		}
		may, err := p.mayWrite(ctx, user)
		if err != nil {
			return 0, err
		}
		if may {
			n++
		}
	}
	return n, nil
}

func (p *ruling) lacksApprovals(ctx context.Context, a config.Auto) (*queue.Lack, error) {
	n, err := p.approvals(ctx, a.Approvals)
	if err != nil || n >= a.Approvals {
		return nil, err
	}
	return &queue.Lack{Kind: queue.LackApprovals, Names: []string{strconv.Itoa(n), strconv.Itoa(a.Approvals)}}, nil
}

// lacksWriter asks that somebody with write access vouches for the code that would run.
// Neither setting a label nor getting checks to pass takes write access.
func (p *ruling) lacksWriter(ctx context.Context, a config.Auto) (*queue.Lack, error) {
	if a.Approvals > 0 {
		return nil, nil // the approvals vouch for it
	}
	if named, err := p.named(ctx, a); named || err != nil {
		return nil, err
	}
	if may, err := p.mayWrite(ctx, p.pr.Author); may || err != nil {
		return nil, err
	}
	if n, err := p.approvals(ctx, 1); n > 0 || err != nil {
		return nil, err
	}
	return &queue.Lack{Kind: queue.LackWriter, Names: []string{p.pr.Author}}, nil
}

func (p *ruling) lacksChecks(ctx context.Context, a config.Auto) (*queue.Lack, error) {
	f := p.Forge.Capabilities().CI
	if len(a.Checks) == 0 {
		return nil, nil
	}
	if !p.checked && f != nil {
		results, err := f.CIChecks(ctx, p.pr.Head, true)
		if err != nil && !errors.Is(err, forge.ErrNotFound) {
			return nil, err
		}
		p.checks, p.checked = newest(results.List), true
	}
	var names []string
	for _, pattern := range a.Checks {
		if !green(p.checks, pattern) {
			names = append(names, pattern)
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	return &queue.Lack{Kind: queue.LackChecks, Names: names}, nil
}

// newest keeps the newest result of each name.
func newest(list []forge.CIResult) []forge.CIResult {
	type what struct {
		status    bool
		app, name string
	}
	at := map[what]int{}
	var out []forge.CIResult
	for _, c := range list {
		k := what{c.Status, c.App, c.Name}
		i, twice := at[k]
		switch {
		case c.Name == CheckName:
		case !twice:
			at[k] = len(out)
			out = append(out, c)
		case c.At.After(out[i].At) || c.At.Equal(out[i].At) && c.ID > out[i].ID:
			out[i] = c
		}
	}
	return out
}

// green reports whether, of the checks that a pattern names, one has passed, and none
// has failed or is still running. A check that says nothing of the commit, such as a
// job that was skipped, does not count.
func green(checks []forge.CIResult, pattern string) bool {
	passed := false
	for _, c := range checks {
		if !config.CheckNamed(pattern, c.Name) {
			continue
		}
		switch c.State {
		case forge.CIPassed:
			passed = true
		case forge.CINone:
			if c.Word != "skipped" && c.Word != "neutral" {
				return false
			}
		default:
			return false
		}
	}
	return passed
}

func (p *ruling) lacksPaths(ctx context.Context, a config.Auto) (*queue.Lack, error) {
	if len(a.Paths)+len(a.Touches) == 0 {
		return nil, nil
	}
	if !p.read {
		var err error
		if p.paths, p.clean, err = p.changes(ctx); err != nil {
			return nil, err
		}
		p.read = true
	}
	if p.clean && a.Within(p.paths) {
		return nil, nil
	}
	return &queue.Lack{Kind: queue.LackPaths}, nil
}

// changes returns the paths that the pull request changes on main, and whether it merges
// there. Where it does not merge, the paths are not known.
func (p *inspection) changes(ctx context.Context) (paths []string, clean bool, err error) {
	pr, tip := p.pr, p.now.tip
	if tip == "" {
		return nil, false, nil
	}
	missing, err := p.fetch(ctx, []queue.Pick{{Number: pr.Number, Head: pr.Head, HeadRef: pr.HeadRef}})
	if err = errors.Join(err, missing[pr.Head], p.hold(ctx, tip)); err != nil {
		return nil, false, err
	}
	merged, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{{Parent: tip, Head: pr.Head, Message: "inspect\n"}})
	if err != nil || !merged[0].Clean() {
		return nil, false, err
	}
	deltas, err := p.Mirror.Objects.Changed(ctx, tip, merged[0].Commit)
	for _, d := range deltas {
		paths = append(paths, d.Path)
	}
	return paths, true, err
}

// sweep returns, as events, the open pull requests of which the queue does not know all
// that its rules of `auto` need. It is called at the start, when the rules have changed,
// and with each look for missed events. It costs one request for a hundred pull requests.
func (o *Owner) sweep(ctx context.Context) ([]queue.Event, error) {
	rules := false
	o.Read(func(c *speculation.Core) {
		if m := c.State().Main.Config; m != nil {
			rules = len(m.Queue.Auto) > 0
		}
	})
	f := o.Forge.Capabilities().Lister
	if f == nil || !rules {
		return nil, nil
	}
	list, err := f.OpenOn(ctx, o.branch())
	if err != nil {
		return nil, err
	}
	var out []queue.Event
	at := strconv.FormatInt(o.Now().UnixMilli(), 10)
	o.Read(func(c *speculation.Core) {
		for _, pr := range list {
			offer := queue.Offered{Number: pr.Number, Head: pr.Head, Base: pr.Base, Author: pr.Author, Draft: pr.Draft, Labels: slices.Clone(pr.Labels), At: pr.Changed}
			if c.Offers(offer) {
				out = append(out, queue.Event{ID: "offered/" + strconv.Itoa(pr.Number) + "/" + at, Body: offer})
			}
		}
	})
	return out, nil
}
