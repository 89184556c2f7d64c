package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// A target branch that is renamed at the forge is the same branch: its pull requests
// ask for the new name at once, and its protection goes with it. The queue keeps its
// key, and with that its place in the store and all evidence. Where nobody has chosen
// the branch, the queue goes along. Where somebody has (--branch), the queue stands
// still and says so, because other things may depend on that name. Either way, the
// store notes under the key of the new name where the queue is kept, so that a server
// that is started with the new name finds it (Under).

// branch is the target branch's name by now. Not to be called from a function that
// Read or facts calls: they hold the same lock.
func (o *Owner) branch() string {
	name := o.Branch
	o.Read(func(c *speculation.Core) { name = c.State().Main.Branch })
	return name
}

// branchIn sets the branch that is served in a stored state: the branch of the options,
// unless it was renamed and the queue went along.
func (o *Owner) branchIn(m *queue.Main) {
	m.Under = ""
	if m.Branch == o.Branch || o.Follow && m.Formerly == o.Branch {
		return
	}
	m.Branch, m.Formerly, m.Renamed = o.Branch, "", ""
}

// defaultText says that a branch that nobody has chosen is not the default one any
// more, and has not been renamed; or "".
func defaultText(m queue.Main) string {
	if m.Default == "" || m.Renamed != "" {
		return ""
	}
	ours, other := texts.OneLine(m.Branch, 100), texts.OneLine(m.Default, 100)
	return fmt.Sprintf("the default branch is %s; this queue stays with %s, as that was not renamed. For a queue of %s start a server with --branch %s; --branch %s ends this message", other, ours, other, other, ours)
}

// branchGone says what became of a target branch that is missing, and what to do.
func (p *site) branchGone(ctx context.Context, key, branch string) (queue.Body, error) {
	f := p.Forge.Capabilities().Locator
	if f == nil {
		return nil, fmt.Errorf("%w: there is no branch %s any more; restore it, or serve the queue of another branch (--branch)", forge.ErrAway, branch)
	}
	place, err := p.askPlace(ctx, f)
	if err != nil {
		return nil, err
	}
	to, err := f.BranchNow(ctx, branch)
	switch {
	case errors.Is(err, forge.ErrNotFound):
	case err != nil:
		return nil, err
	case to == branch:
		return nil, &forge.Transient{Err: fmt.Errorf("branch %s was not there, and is by now", branch)}
	default:
		return p.renamed(ctx, key, branch, to)
	}
	why := fmt.Sprintf("there is no branch %s any more; restore it, or serve the queue of another branch (--branch)", branch)
	if place.Default != "" && place.Default != branch {
		why += "; the default branch is " + texts.OneLine(place.Default, 100)
	}
	return nil, fmt.Errorf("%w: %s", forge.ErrAway, why)
}

// elsewhere finds out whether a pull request asks for another branch because the target
// branch was renamed, and we have not heard of that yet, or because somebody gave it
// another base. foot is the branch that it asks for. Without a renaming, the result is
// nil.
func (p *site) elsewhere(ctx context.Context, key, foot string) (queue.Body, error) {
	f := p.Forge.Capabilities().Locator
	branch := p.branch()
	if f == nil || foot == branch {
		return nil, nil
	}
	to, err := f.BranchNow(ctx, branch)
	switch {
	case errors.Is(err, forge.ErrNotFound), err == nil && to != foot:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return p.renamed(ctx, key, branch, to)
}

func (p *site) renamed(ctx context.Context, key, from, to string) (queue.Body, error) {
	out := queue.Renamed{Action: key, From: from, To: to}
	free, err := p.claim(ctx, repositoryOf(p.Queue)+"@"+to)
	if err != nil {
		return nil, err
	}
	now := texts.OneLine(to, 100)
	switch {
	case !free:
		out.Why = fmt.Sprintf("the branch %s was renamed to %s, which has a queue of its own; let that one end, or give the branch its old name", texts.OneLine(from, 100), now)
	case !p.Follow:
		out.Why = fmt.Sprintf("the branch %s was renamed to %s; everything keeps its place: serve the new name (--branch %s), or give the branch its old name", texts.OneLine(from, 100), now, now)
	}
	return out, nil
}

// claim notes in the store that another key means this queue, too. It reports false
// where changes wait in a queue with that key, or a server serves such a queue.
func (p *site) claim(ctx context.Context, name string) (free bool, err error) {
	if name == p.Queue {
		return true, nil
	}
	before, _, err := loadState(ctx, p.Store, name)
	if err != nil || before.Main.Under == p.Queue {
		return err == nil, err
	}
	token, err := p.Store.Acquire(ctx, name, p.Name+"/renaming", leaseTTL)
	if errors.Is(err, queue.ErrNotOwner) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer func() {
		if e := p.Store.Release(context.WithoutCancel(ctx), name, token); e != nil && err == nil {
			p.Log.Warn("the lease could not be released; it ends by itself", "queue", name, "error", e)
		}
	}()
	s, version, err := loadState(ctx, p.Store, name) // as it is now that nobody else writes to it
	if err != nil {
		return false, err
	}
	for _, pull := range s.Pulls {
		if pull.Active != "" {
			return false, nil
		}
	}
	s.Main.Under = p.Queue
	record, _, err := s.Encode(queue.Ref{Kind: queue.KindMeta, ID: queue.MetaMain})
	if err != nil {
		return false, err
	}
	err = p.Store.Commit(ctx, queue.Turn{Queue: name, Token: token, Version: version, Put: []queue.Record{record}})
	return err == nil, err
}

// Under returns the key under which the queue of a branch is kept: key, unless the
// branch was renamed. It stays among the queues of one repository.
func Under(ctx context.Context, store queue.Store, key, branch string) (string, error) {
	s, _, err := loadState(ctx, store, key)
	if err != nil || s.Main.Under == "" || repositoryOf(s.Main.Under) != repositoryOf(key) {
		return key, err
	}
	of, _, err := loadState(ctx, store, s.Main.Under)
	if err != nil || of.Main.Branch != branch && of.Main.Renamed != branch {
		return key, err // it has gone elsewhere since
	}
	return s.Main.Under, nil
}

func loadState(ctx context.Context, store queue.Store, name string) (*queue.State, int64, error) {
	s := queue.NewState("")
	records, version, err := store.Load(ctx, name)
	if err != nil {
		return nil, 0, fmt.Errorf("loading the queue: %w", err)
	}
	for _, r := range records {
		if err := s.Load(r); err != nil {
			return nil, 0, err
		}
	}
	return s, version, nil
}
