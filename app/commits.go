package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
)

// The state speaks of commits that this server's mirror may not have: another
// server made them, or the disk is a new one. None is lost: main is fetched, and
// a merge follows from its parent and its change, byte for byte.

// commits sees to it that the commits that are merged and judged are in the mirror, and makes
// merges.
type commits struct {
	*site

	preparing sync.Mutex
	prepared  bool // merges follow main's attributes
}

// prepare has merges follow main's attributes; a new mirror has none.
func (p *commits) prepare(ctx context.Context) error {
	p.preparing.Lock()
	defer p.preparing.Unlock()
	if p.prepared {
		return nil
	}
	now, err := p.inForce()
	tip := now.tip
	if err != nil || tip == "" {
		return err
	}
	if err := p.hold(ctx, tip); err != nil {
		return err
	}
	tr, err := p.Mirror.Objects.Tree(ctx, tip)
	if err != nil {
		return err
	}
	attributes := (*mirror.AttributeError)(nil) // which Observe tells people of
	if err := p.Mirror.Merges.WriteAttributes(ctx, tr.ID()); err != nil && !errors.As(err, &attributes) {
		return err
	}
	p.prepared = true
	return nil
}

// fetch brings the heads of picks into the mirror, in one exchange.
func (p *commits) fetch(ctx context.Context, picks []queue.Pick) (map[queue.CommitID]error, error) {
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

func (p *commits) mergeOf(k queue.Pick, parent queue.CommitID) mirror.Pick {
	return mirror.Pick{Parent: parent, Head: k.Head, Date: k.Arrival, Message: mergeMessage(p.Texts.Words, k),
		Revert: k.Revert,
		Squash: k.Method == config.MethodSquash, Author: k.Wording.Author, Below: k.Below,
		Rebase: k.Method.Replays(), Joined: k.Method == config.MethodSemiLinear, FastForward: k.Method == config.MethodFastForward}
}

func (p *commits) mergeTogether(ctx context.Context, picks []queue.Pick, parent queue.CommitID) (mirror.Merged, error) {
	var all []mirror.Pick
	for _, k := range picks {
		all = append(all, p.mergeOf(k, ""))
	}
	return p.Mirror.Merges.MergeTogether(ctx, parent, all, rollupMessage(p.Texts.Words, picks))
}

// hold sees to it that commits are in the mirror.
func (p *commits) hold(ctx context.Context, commits ...queue.CommitID) error {
	for _, c := range commits {
		if err := p.holdOne(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// made is how the state says that a commit was made.
type made struct {
	commit, parent queue.CommitID
	picks          []queue.Pick // several: a rollup
}

func (p *commits) holdOne(ctx context.Context, commit queue.CommitID) error {
	var chain []made
	for at := commit; ; at = chain[len(chain)-1].parent {
		_, err := p.Mirror.Objects.Tree(ctx, at)
		if err == nil {
			break
		}
		if !errors.Is(err, forge.ErrNotFound) {
			return err
		}
		m, err := p.howMade(at)
		if err != nil {
			return err
		}
		if m.commit == "" {
			if err := p.fetchMain(ctx, at); err != nil {
				return err
			}
			break
		}
		chain = append(chain, m)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		if err := p.remake(ctx, chain[i]); err != nil {
			return err
		}
	}
	return nil
}

// howMade finds how a commit was merged; none: it is a commit of main.
func (p *commits) howMade(commit queue.CommitID) (m made, err error) {
	err = p.facts(func(c *speculation.Core) {
		s := c.State()
		for _, l := range s.Links {
			if l.Commit != commit && !slices.Contains(l.Between, commit) || l.Outcome != queue.Merged {
				continue
			}
			m = made{commit: l.Commit, parent: l.Parent}
			for _, id := range l.Changes() {
				if ch := s.Changes[id]; ch != nil {
					m.picks = append(m.picks, speculation.PickOf(ch))
				}
			}
			if len(m.picks) > 0 && len(m.picks) == len(l.Changes()) {
				return
			}
			m = made{}
		}
	})
	return m, err
}

func (p *commits) fetchMain(ctx context.Context, want queue.CommitID) error {
	remote, err := p.Forge.Remote(ctx)
	if err != nil {
		return err
	}
	if _, err := p.Mirror.Remotes.FetchBranch(ctx, remote, p.branch()); err != nil {
		return err
	}
	if _, err := p.Mirror.Objects.Tree(ctx, want); err != nil {
		return &forge.Transient{Err: err} // main has left it; reading main tells
	}
	return nil
}

func (p *commits) remake(ctx context.Context, m made) error {
	missing, err := p.fetch(ctx, m.picks)
	for _, k := range m.picks {
		err = errors.Join(err, missing[k.Head])
	}
	if err != nil {
		return err
	}
	var now queue.CommitID
	if len(m.picks) > 1 {
		merged, err := p.mergeTogether(ctx, m.picks, m.parent)
		if err != nil {
			return err
		}
		now = merged.Commit
	} else {
		merged, err := p.Mirror.Merges.MergeWave(ctx, []mirror.Pick{p.mergeOf(m.picks[0], m.parent)})
		if err != nil {
			return err
		}
		now = merged[0].Commit
	}
	if now != m.commit {
		return fmt.Errorf("app: the merge of %s on %s was %s and is now %s", m.picks[0].Change, m.parent, m.commit, now)
	}
	return nil
}
