package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// observer reads the target branch.
type observer struct {
	*commits
	pushes *pushes
	forget func() error // drops what is remembered of things that the state has dropped, now that main is read
}

// observe reads the target branch: its tip, its new commits, and its configuration.
func (p *observer) observe(ctx context.Context, a *queue.Action, t queue.Observe) (queue.Body, error) {
	place, err := p.locate(ctx)
	if err != nil {
		return nil, err
	}
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return nil, err
	}
	over, err := p.pushes.overPushes()
	if err != nil {
		return nil, err
	}
	branch := p.branch()
	tip, err := p.Mirror.Remotes.FetchBranch(ctx, remote, branch)
	if errors.Is(err, forge.ErrNotFound) {
		return p.branchGone(ctx, a.Key, branch)
	}
	if err != nil {
		return nil, p.orAway(ctx, err)
	}
	protection, err := p.Forge.Protection(ctx, branch)
	if err != nil {
		return nil, err
	}
	out := queue.Observed{Action: a.Key, Repository: place.ID, Tip: tip, From: t.From, Protected: protection.Protected}
	if p.Follow && place.Default != branch {
		out.Default = texts.OneLine(place.Default, 100)
	}
	if tip != t.From {
		if err := p.readLine(ctx, remote, branch, &out); err != nil {
			return nil, err
		}
	}
	if differs := p.pushes.readBack(ctx, tip, over); out.Differs == "" {
		out.Differs = differs
	}
	if err := p.forget(); err != nil {
		return nil, err
	}
	if err := p.readConfig(ctx, branch, &out); err != nil {
		return nil, err
	}
	return out, nil
}

// readLine reads the new commits of the branch.
func (p *observer) readLine(ctx context.Context, remote forge.Remote, branch string, out *queue.Observed) error {
	line, forced, err := p.Mirror.History.FirstParents(ctx, out.From, out.Tip)
	if err != nil {
		return err
	}
	if out.Forced = forced && out.From != ""; out.Forced {
		if err := p.surelyAt(ctx, remote, branch, out.Tip); err != nil {
			return err
		}
	}
	for _, l := range line {
		out.Line = append(out.Line, queue.LineCommit{Commit: l.Commit, Change: l.Change, Head: l.Head, Also: l.Also, Merged: l.Merged, Subject: texts.ClipLine(l.Subject, 120)})
	}
	out.Differs, err = p.holding(ctx, line, out.Line)
	return err
}

// readConfig reads the configuration at the tip.
func (p *observer) readConfig(ctx context.Context, branch string, out *queue.Observed) error {
	tr, err := p.Mirror.Objects.Tree(ctx, out.Tip)
	if err != nil {
		return err
	}
	cfg, said, missing, err := p.judge.configSaid(ctx, tr)
	broken := (*brokenConfig)(nil)
	switch {
	case missing:
		out.Broken = fmt.Sprintf("there is no %s on %s", config.Path, branch)
	case asBroken(err, &broken):
		out.Broken = broken.Error()
	case err != nil:
		return err
	}
	if f := p.Forge.Capabilities().Accustomed; f != nil && cfg != nil {
		if cfg, err = following(ctx, f, cfg, said.Landing, branch); err != nil {
			return err
		}
	}
	out.Config = cfg
	if out.Analyzers, err = p.versions(cfg); err != nil {
		return err
	}
	attributes := (*mirror.AttributeError)(nil)
	if err := p.Mirror.Merges.WriteAttributes(ctx, tr.ID()); errors.As(err, &attributes) {
		out.Broken = strings.TrimPrefix(out.Broken+"; "+attributes.Error(), "; ")
	} else if err != nil {
		return err
	}
	return nil
}

// following completes the configuration with the repository's settings at the forge: how
// changes land, where the file does not say it (landing), and what their commits say.
func following(ctx context.Context, f forge.Accustomed, cfg *config.Config, landing bool, branch string) (*config.Config, error) {
	if !landing {
		methods, err := f.Methods(ctx)
		if err != nil {
			return nil, err
		}
		cfg = cfg.Following(methods)
	}
	messages, err := f.Messages(ctx, branch)
	if err != nil {
		return nil, err
	}
	return cfg.Saying(messages), nil
}

// versions names the versions of the analyzer that main's configuration asks for: the
// present one, or the last good one. Settings that fit no analyzer are reported where
// commits are judged.
func (p *observer) versions(cfg *config.Config) ([]string, error) {
	if cfg == nil {
		now, err := p.inForce()
		if cfg = now.config; err != nil || cfg == nil {
			return nil, err
		}
	}
	known, err := p.judge.versions(cfg.Analysis)
	if err != nil {
		return nil, nil
	}
	var tools []string
	err = p.facts(func(c *speculation.Core) {
		s := c.State()
		_, inForce := queue.SplitVersion(s.Main.Analyzer)
		tools = queue.ToolsNamed(s.Hosts, cfg.Steps, inForce)
	})
	var out []string
	for _, t := range tools {
		for _, v := range known {
			out = append(out, v+t)
		}
	}
	return out, err
}

// surelyAt fails where the forge and the mirror disagree on where a branch is: a mirror
// that has lost its newest refs looks like a branch that was pushed to by force.
func (p *observer) surelyAt(ctx context.Context, remote forge.Remote, branch string, tip queue.CommitID) error {
	at, err := p.Mirror.Remotes.TipAt(ctx, remote, branch)
	if err == nil && at != tip {
		err = &forge.Transient{Err: fmt.Errorf("%s was read at %s, and is at %s", branch, tip, at)}
	}
	return err
}

// holding says which commits on main's line, of those that are no merges, are the result of
// landing the change that they name. Where the forge merges pull requests itself, the tree
// is compared, since the forge makes the commit; differs says which of these has another
// tree, or is "".
func (p *observer) holding(ctx context.Context, line []mirror.LineCommit, out []queue.LineCommit) (differs string, err error) {
	for i, l := range line {
		if l.Change == "" || len(l.Merged) > 0 || len(l.Also) > 0 || l.Parent == "" {
			continue
		}
		var pick *queue.Pick
		byForge := false
		if err := p.facts(func(c *speculation.Core) {
			s := c.State()
			if ch := s.Changes[l.Change]; ch != nil && ch.Head == l.Head && !ch.Method.Keeps() {
				k := speculation.PickOf(ch)
				pick = &k
			}
			byForge = s.Push != nil && s.Push.ByForge || s.Main.Config != nil && s.Main.Config.Queue.MergeAPI == config.MergeAPIOn
		}); err != nil {
			return "", err
		}
		if pick == nil {
			continue
		}
		missing, err := p.fetch(ctx, []queue.Pick{*pick})
		switch {
		case err != nil:
			return "", err
		case missing[pick.Head] != nil:
			continue // its branch has moved, or is gone; it is judged like any other commit
		}
		made, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{p.mergeOf(*pick, l.Parent)})
		if errors.Is(err, forge.ErrNotFound) {
			continue
		}
		if err != nil {
			return "", err
		}
		switch out[i].Holds = made[0].Commit == l.Commit; {
		case out[i].Holds || !byForge || pick.Method != config.MethodSquash:
		case made[0].Tree == l.Tree:
			if !made[0].Empty {
				out[i].As = made[0].Commit
			}
		default:
			differs = fmt.Sprintf("commit %s on %s is #%d as the forge has merged it: it has the tree %s, and landing the change there makes %s",
				l.Commit, p.branch(), pick.Number, l.Tree, cmp.Or(string(made[0].Tree), "none, because it does not merge"))
			p.Log.Error("the target branch is not what was proven; the queue is paused", "queue", p.Called(), "reason", differs)
		}
	}
	return differs, nil
}
