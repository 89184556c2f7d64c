package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// observe reads the target branch: its tip, what is new on it, and its
// configuration.
func (p *performer) observe(ctx context.Context, key string, t queue.Observe) (queue.Body, error) {
	place, err := p.locate(ctx)
	if err != nil {
		return nil, err
	}
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return nil, err
	}
	over, err := p.overPushes()
	if err != nil {
		return nil, err
	}
	branch := p.branch()
	tip, err := p.Mirror.Remotes.FetchBranch(ctx, remote, branch)
	if errors.Is(err, forge.ErrNotFound) {
		return p.branchGone(ctx, key, branch)
	}
	if err != nil {
		return nil, p.orAway(ctx, err)
	}
	protection, err := p.Forge.Protection(ctx, branch)
	if err != nil {
		return nil, err
	}
	out := queue.Observed{Action: key, Repository: place.ID, Tip: tip, From: t.From, Protected: protection.Protected}
	if p.Follow && place.Default != branch {
		out.Default = texts.OneLine(place.Default, 100)
	}
	if tip != t.From {
		line, forced, err := p.Mirror.History.FirstParents(ctx, t.From, tip)
		if err != nil {
			return nil, err
		}
		if out.Forced = forced && t.From != ""; out.Forced {
			if err := p.surelyAt(ctx, remote, branch, tip); err != nil {
				return nil, err
			}
		}
		for _, l := range line {
			out.Line = append(out.Line, queue.LineCommit{Commit: l.Commit, Change: l.Change, Head: l.Head, Also: l.Also, Merged: l.Merged, Subject: texts.ClipLine(l.Subject, 120)})
		}
		if err := p.holding(ctx, line, out.Line); err != nil {
			return nil, err
		}
	}
	out.Differs = p.readBack(ctx, tip, over)
	if err := p.forget(); err != nil {
		return nil, err
	}
	tr, err := p.Mirror.Objects.Tree(ctx, tip)
	if err != nil {
		return nil, err
	}
	cfg, missing, err := p.judge.config(ctx, tr)
	broken := (*brokenConfig)(nil)
	switch {
	case missing:
		out.Broken = fmt.Sprintf("there is no %s on %s", config.Path, branch)
	case asBroken(err, &broken):
		out.Broken = broken.Error()
	case err != nil:
		return nil, err
	}
	out.Config = cfg
	if out.Analyzers, err = p.versions(cfg); err != nil {
		return nil, err
	}
	attributes := (*mirror.AttributeError)(nil)
	if err := p.Mirror.Merges.WriteAttributes(ctx, tr.ID()); errors.As(err, &attributes) {
		out.Broken = strings.TrimPrefix(out.Broken+"; "+attributes.Error(), "; ")
	} else if err != nil {
		return nil, err
	}
	return out, nil
}

// versions names the versions of the analyzer that main's configuration asks
// for: the present one, or the last good one. Settings that no analyzer takes
// are told of where commits are judged.
func (p *performer) versions(cfg *config.Config) ([]string, error) {
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

// whole is a commit of main as it is judged by the configuration in force.
type whole struct {
	judged
	tree queue.TreeID
	now  inForce
}

// whole holds a commit and judges all of its tree by a version of the analyzer.
func (p *performer) whole(ctx context.Context, commit queue.CommitID, analyzer string) (w whole, err error) {
	w.now, err = p.inForce()
	if err = errors.Join(err, p.hold(ctx, commit)); err != nil {
		return whole{}, err
	}
	w.now.by = analyzer
	if w.judged, err = p.judge.shared(ctx, commit, w.now, ""); err != nil {
		return whole{}, err
	}
	tr, err := p.Mirror.Objects.Tree(ctx, commit)
	if err != nil {
		return whole{}, err
	}
	w.tree = tr.ID()
	return w, nil
}

// survey compares the keys of main's whole tree with the ledger.
func (p *performer) survey(ctx context.Context, key string, t queue.Survey) (queue.Body, error) {
	j, err := p.whole(ctx, t.Commit, t.Analyzer)
	if err != nil {
		return nil, err
	}
	keys := conflict.Keys(nil, j.snapshot, nil, j.steps.Steps)
	known, err := p.known(ctx, keys, j.steps)
	if err != nil {
		return nil, err
	}
	passed := p.inState(keys)
	for _, e := range known {
		passed[e.ID] = true
	}
	out := queue.Surveyed{Action: key, Commit: t.Commit, Tree: j.tree, Steps: j.steps,
		Analyzer: j.version(), Total: len(keys), Unknown: j.snapshot.Unknown}
	for _, k := range keys {
		if !passed[k.ID()] {
			out.Unproven = append(out.Unproven, k)
		}
	}
	if out.Passed, err = p.translate(ctx, crossing{t.Commit, j.now, t.Former, time.Now().Add(surveyCrosses)}, out.Unproven); err != nil {
		return nil, err
	}
	for _, e := range out.Passed {
		passed[e.ID] = true
	}
	out.Unproven = slices.DeleteFunc(out.Unproven, func(k queue.Key) bool { return passed[k.ID()] })
	return out, nil
}

// fetch brings the heads of picks into the mirror, in one exchange.
func (p *performer) fetch(ctx context.Context, picks []queue.Pick) (map[queue.CommitID]error, error) {
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return nil, err
	}
	var refs []mirror.HeadRef
	seen := map[queue.CommitID]bool{}
	for _, k := range picks {
		if k.Revert != "" { // it is on main
			if err := p.hold(ctx, k.Revert); err != nil {
				return nil, err
			}
			continue
		}
		if !seen[k.Head] {
			seen[k.Head] = true
			refs = append(refs, mirror.HeadRef{Ref: k.HeadRef, Want: k.Head})
		}
	}
	errs, err := p.Mirror.Remotes.FetchHeads(ctx, remote, refs)
	if err != nil {
		return nil, err
	}
	out := map[queue.CommitID]error{}
	for i, r := range refs {
		if errs[i] != nil {
			out[r.Want] = errs[i]
		}
	}
	return out, nil
}

func mergeOf(k queue.Pick, parent queue.CommitID) mirror.Pick {
	return mirror.Pick{Parent: parent, Head: k.Head, Date: k.Arrival, Message: mergeMessage(k),
		Revert: k.Revert,
		Squash: k.Method == config.MethodSquash, Author: k.Wording.Author, Below: k.Below,
		Rebase: k.Method == config.MethodRebase, FastForward: k.Method == config.MethodFastForward}
}

// resolveChain makes the commits of a path and computes their keys.
func (p *performer) resolveChain(ctx context.Context, a *queue.Action, first mirror.Merged, now inForce) (queue.Body, error) {
	t := a.Task.(queue.Resolve)
	single := t.Picks[:len(t.Picks)-t.Together]
	var merged []mirror.Merged
	if len(single) > 0 {
		merged = []mirror.Merged{first}
	}
	if len(single) > 1 && (first.Clean() || first.Empty) {
		var rest []mirror.Pick
		for _, k := range single[1:] {
			rest = append(rest, mergeOf(k, ""))
		}
		more, err := p.Mirror.Merges.MergeChain(ctx, first.Commit, rest)
		if err != nil {
			return nil, err
		}
		merged = append(merged, more...)
	}
	now.by = t.Analyzer
	out := resolving{queue.Resolved{Action: a.Key, Guard: t.Guard()}, now, t.Protected}
	parent := t.Base
	var keys []queue.Key
	for i, m := range merged {
		l, err := p.link(ctx, &out, t.Picks[i], parent, m)
		if err != nil {
			return nil, err
		}
		keys = append(keys, l.Keys...)
		out.Links = append(out.Links, l)
		if l.Outcome == queue.MergeFailed {
			break
		}
		parent = m.Commit
	}
	if n := len(out.Links); t.Together > 0 && n == len(single) && (n == 0 || out.Links[n-1].Outcome != queue.MergeFailed) {
		l, err := p.rollup(ctx, &out, t.Picks[n:], parent)
		if err != nil {
			return nil, err
		}
		keys, out.Links = append(keys, l.Keys...), append(out.Links, l)
	}
	known, err := p.known(ctx, keys, out.Steps...)
	if err != nil {
		return nil, err
	}
	out.Passed = known
	if t.Former != "" {
		passed := map[queue.Digest]bool{}
		for _, e := range known {
			passed[e.ID] = true
		}
		until := time.Now().Add(pathCrosses)
		for _, l := range out.Links {
			open := slices.DeleteFunc(slices.Clone(l.OwnKeys()), func(k queue.Key) bool { return passed[k.ID()] })
			now.by = l.Analyzer
			proven, err := p.translate(ctx, crossing{l.Commit, now, t.Former, until}, open)
			if err != nil {
				return nil, err
			}
			out.Proven = append(out.Proven, proven...)
		}
	}
	return out.Resolved, nil
}

// resolving is a path whose links are being judged.
type resolving struct {
	queue.Resolved
	now   inForce
	globs []string // of protected paths
}

func (p *performer) link(ctx context.Context, r *resolving, k queue.Pick, parent queue.CommitID, m mirror.Merged) (queue.Link, error) {
	l := queue.Link{ID: queue.LinkOf(parent, k.Change), Parent: parent, Change: k.Change, Before: r.now.by}
	switch {
	case m.Empty:
		l.Outcome = queue.MergeNothing
		return l, nil
	case !m.Clean():
		l.Outcome, l.Conflicts, l.Refused = queue.MergeFailed, m.Conflicts, m.Refused
		return l, nil
	}
	l, err := p.merged(ctx, r, l, m)
	if err == nil && len(m.Between) > 0 {
		l.Between = m.Between
		if !k.Skip {
			err = p.halfway(ctx, r, &l)
		}
	}
	if err == nil {
		l.Taken, err = p.taken(ctx, r.globs, &l, k)
	}
	return l, err
}

// merged fills in what a link's commit asks for that its parent does not.
func (p *performer) merged(ctx context.Context, r *resolving, l queue.Link, m mirror.Merged) (queue.Link, error) {
	before, err := p.judge.shared(ctx, l.Parent, r.now, "")
	if err != nil {
		return l, err
	}
	if l.Before != "" && before.version() != l.Before {
		return l, fmt.Errorf("commit %s was judged by analyzer %s, which this server does not know for it; it is judged anew once %s has been read", l.Parent, l.Before, p.branch())
	}
	after, err := p.judge.shared(ctx, m.Commit, r.now, l.Parent)
	if err != nil {
		return l, err
	}
	if l.Before != "" {
		l.Analyzer, r.now.by = after.version(), after.version()
	}
	l.Outcome, l.Commit, l.Tree, l.Steps = queue.Merged, m.Commit, m.Tree, after.steps.ID
	l.Keys = conflict.Keys(before.snapshot, after.snapshot, before.steps.Steps, after.steps.Steps)
	l.Gone = conflict.Gone(before.snapshot, after.snapshot)
	r.Steps = append(r.Steps, after.steps)
	l.Protected, err = p.protects(ctx, r.globs, append(append([]queue.CommitID{l.Parent}, m.Between...), m.Commit)...)
	return l, err
}

// land pushes the chain of the state's push, with a lease on where main was.
func (p *performer) land(ctx context.Context, a *queue.Action, t queue.Land) (queue.Body, error) {
	var push *queue.Push
	if err := p.facts(func(c *speculation.Core) {
		if live := c.State().Push; live != nil {
			copied := *live
			push = &copied
		}
	}); err != nil {
		return nil, err
	}
	if push == nil || push.ID != t.Push {
		return queue.Done{Action: a.Key}, nil
	}
	left := a.Deadline.Sub(queue.At(p.Now()))
	if left <= 0 {
		return nil, fmt.Errorf("the deadline of push %s has passed", push.ID)
	}
	ctx, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	remote, err := p.Forge.Remote(ctx)
	if err = errors.Join(err, p.hold(ctx, push.Expected), p.hold(ctx, push.Commits...)); err != nil {
		return nil, err
	}
	if err := p.retarget(ctx, push); err != nil {
		return nil, err
	}
	if err := p.provenTrees(push); err != nil {
		return nil, err
	}
	defer p.pushes(push.Changes)()
	outcome, along, err := p.pushMain(ctx, remote, push)
	if err == nil && wantsCheck(outcome.Refused) {
		outcome, along, err = p.landChecked(ctx, remote, push, outcome)
	}
	if err != nil {
		return nil, err
	}
	if !outcome.Moved {
		if err := p.restore(ctx, push); err != nil {
			return nil, err
		}
	}
	return queue.Pushed{Action: a.Key, Push: push.ID, Moved: outcome.Moved, Lost: outcome.Lost, Refused: outcome.Refused, Along: along}, nil
}

// surelyAt fails where the forge says that a branch is somewhere else than the mirror: a
// mirror that has lost its newest refs reads like a branch that was pushed to by force.
func (p *performer) surelyAt(ctx context.Context, remote forge.Remote, branch string, tip queue.CommitID) error {
	at, err := p.Mirror.Remotes.TipAt(ctx, remote, branch)
	if err == nil && at != tip {
		err = &forge.Transient{Err: fmt.Errorf("%s was read at %s, and is at %s", branch, tip, at)}
	}
	return err
}

// wantsCheck reports whether a refusal says that a check is missing on the
// pushed commit: where required checks apply to pushes, a merge that nobody
// has seen yet can have none.
func wantsCheck(refused string) bool {
	return strings.Contains(strings.ToLower(refused), "required status check")
}

// landChecked shows the commit to the forge on a branch of our own first, sets
// our check on it, which is true because the gate has let it pass, and pushes
// once more. If other checks are required too, the refusal stands.
func (p *performer) landChecked(ctx context.Context, remote forge.Remote, push *queue.Push, refused mirror.PushOutcome) (mirror.PushOutcome, []queue.ChangeID, error) {
	branch := "submitqueue-land/" + p.branch() // no workflow on submitqueue/** is to start for it
	if err := p.Mirror.Remotes.Stage(ctx, remote, branch, push.Tip()); err != nil {
		if errors.Is(err, forge.ErrForbidden) { // what it says may be about what the commits hold
			refused.Refused += "\n" + err.Error()
			return refused, nil, nil
		}
		return refused, nil, err
	}
	defer func() {
		// The second is the name that it had before, and may be left from a crash.
		if err := p.Mirror.Remotes.Unstage(context.WithoutCancel(ctx), remote, branch, "submitqueue/land/"+p.branch()); err != nil {
			p.Log.Warn("a branch of ours could not be deleted", "queue", p.Called(), "branch", branch, "error", err)
		}
	}()
	check := forge.Check{Name: CheckName, Head: push.Tip(), ExternalID: push.ID, State: forge.CheckPassed,
		Title: "Proven by the queue", Summary: "Every check that this commit adds to " + p.branch() + " has passed."}
	if err := p.Forge.Check(ctx, check); err != nil {
		return refused, nil, err
	}
	return p.pushMain(ctx, remote, push)
}
