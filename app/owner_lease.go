package app

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/queue"
)

// acquire takes the lease. The first lease may belong to an earlier process of this
// server, and a write of that process may still be on its way: its token is made
// worthless.
func (o *Owner) acquire(ctx context.Context) (int64, error) {
	token, err := o.Store.Acquire(ctx, o.Queue, o.Name, leaseTTL)
	if err != nil || o.fenced {
		return token, err
	}
	if err := o.Store.Release(ctx, o.Queue, token); err != nil {
		return 0, err
	}
	o.fenced = true
	return o.Store.Acquire(ctx, o.Queue, o.Name, leaseTTL)
}

// renew extends the lease, and reports when it is not ours any more.
func (o *Owner) renew(ctx context.Context, token int64, lost chan<- error) {
	last := o.Now()
	for pause(ctx, leaseRenew) {
		now, err := o.Store.Acquire(ctx, o.Queue, o.Name, leaseTTL)
		switch {
		case err != nil:
		case now != token: // the lease had run out, or the store has forgotten it
			err = queue.ErrNotOwner
		default:
			last = o.Now()
			continue
		}
		if errors.Is(err, queue.ErrNotOwner) || o.Now().Sub(last) >= leaseTTL {
			report(lost, err)
			return
		}
	}
}
