package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// firstRenewal is how long a server owns a queue before it first renews the passes that
// the target branch rests on. After that it renews them every queue.RenewAfter.
const firstRenewal = 5 * time.Minute

// passes says what has passed, of keys that it computes.
type passes struct{ *commits }

// known returns what the archive knows of keys of the given steps, without passes that
// people have had forgotten. It keeps the entries from expiring, because they are used.
func (p *passes) known(ctx context.Context, keys []queue.Key, sets ...queue.StepSet) ([]queue.Entry, error) {
	found, err := p.seen(ctx, keys, sets...)
	if err != nil {
		return nil, err
	}
	if p.Archive != nil {
		if err := p.Archive.Renew(ctx, p.Queue, found); err != nil && ctx.Err() == nil {
			p.Log.Warn("passes that are used could not be renewed in the archive; they expire as if nobody had used them", "queue", p.Called(), "error", err)
		}
	}
	return found, nil
}

// seen is known for entries that are looked at and not used: they expire as if nobody had
// asked.
func (p *passes) seen(ctx context.Context, keys []queue.Key, sets ...queue.StepSet) ([]queue.Entry, error) {
	var forgotten []queue.Forgotten
	if err := p.facts(func(core *speculation.Core) { forgotten = slices.Clone(core.State().Main.Forgotten) }); err != nil {
		return nil, err
	}
	found, err := p.Store.Known(ctx, p.Queue, keys)
	if err != nil {
		return nil, err
	}
	if len(forgotten) > 0 {
		names := stepNames(sets)
		found = slices.DeleteFunc(found, func(e queue.Entry) bool { return queue.Void(forgotten, &e, names[e.Keys[0].Step]) })
	}
	return found, nil
}

// stepNames returns the names of steps by their digests.
func stepNames(sets []queue.StepSet) map[queue.Digest]string {
	names := map[queue.Digest]string{}
	for _, set := range sets {
		for _, st := range set.Steps {
			names[st.Digest()] = st.Name
		}
	}
	return names
}

// inState returns the ids of the keys that have passed as far as the state knows. The
// state may remember a pass for longer than the archive does.
func (p *passes) inState(keys []queue.Key) map[queue.Digest]bool {
	passed := map[queue.Digest]bool{}
	_ = p.facts(func(core *speculation.Core) { // with no core, it knows nothing
		ledger := core.State().Ledger
		for _, k := range keys {
			if e := ledger[k.ID()]; e != nil && e.Passed != 0 {
				passed[e.ID] = true
			}
		}
	})
	return passed
}

// keepPasses renews, once a day, the passes that the target branch rests on. So a
// target stays proven when nobody touches it for longer than the archive keeps a pass.
func (p *passes) keepPasses(ctx context.Context) {
	if p.Archive == nil {
		return
	}
	for wait := firstRenewal; pause(ctx, wait); wait = queue.RenewAfter {
		if err := p.renewMain(ctx); err != nil && ctx.Err() == nil {
			p.Log.Warn("what the target branch rests on could not be renewed in the archive; it is tried again tomorrow", "queue", p.Called(), "error", err)
		}
	}
}

func (p *passes) renewMain(ctx context.Context) error {
	now, err := p.inForce()
	if err != nil || now.tip == "" || now.config == nil {
		return err
	}
	if err := p.hold(ctx, now.tip); err != nil {
		return err
	}
	j, err := p.judge.shared(ctx, now.tip, now, "")
	if err != nil {
		return err
	}
	_, err = p.known(ctx, conflict.Keys(nil, j.snapshot, nil, j.steps.Steps), j.steps)
	return errors.Join(err, ctx.Err())
}

// whole is a commit of main as it is judged by the configuration in force.
type whole struct {
	judged
	tree queue.TreeID
	now  inForce
}

// whole holds a commit and judges all of its tree by a version of the analyzer.
func (p *passes) whole(ctx context.Context, commit queue.CommitID, analyzer string) (w whole, err error) {
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
