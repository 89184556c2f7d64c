package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// watchMissed asks the forge, at the start and every few minutes, for events of webhooks
// that may be lost. It asks for the events since the last time that worked, with an
// overlap. The repository is located first: another one may have its name by now, and
// its events are not for us. reached is how far the stored state has come.
func (o *Owner) watchMissed(ctx context.Context, reached queue.Instant, locate func(context.Context) (forge.Place, error)) {
	since := o.unheardSince(reached)
	lost := o.Now().Add(-lostKept)
	for ctx.Err() == nil {
		started := o.Now()
		asked := o.redeliver(ctx, &lost)
		var events []queue.Event
		_, err := locate(ctx)
		if err == nil {
			since = o.knownSince(since) // it may be long since the forge last answered
			events, err = o.Forge.Missed(ctx, since, o.openPulls())
		}
		if err == nil {
			var open []queue.Event
			open, err = o.sweep(ctx)
			events = append(events, open...)
		}
		if err == nil {
			branch := o.branch()
			events = append(events, queue.Event{ID: fmt.Sprintf("missed/%s/%d", branch, started.UnixMilli()), Body: queue.MainMoved{Branch: branch}})
			for i := range events {
				events[i] = o.stamp(events[i])
			}
			err = o.Store.Append(ctx, o.Queue, events...)
		}
		wait := o.Missed
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			o.Log.Warn("could not ask the forge for missed events; trying again", "queue", o.Called(), "error", err)
			wait = min(missedSoon, o.Missed)
			if t := (*forge.Transient)(nil); errors.As(err, &t) {
				wait = max(wait, t.After)
			}
		} else {
			since = started.Add(-2 * o.Missed)
		}
		// A delivery that was asked for may have failed again: at the start, this server may not
		// have listened yet.
		nudged := false
		for soon := o.Again; err == nil && asked > 0 && soon < wait && !nudged; soon *= 2 {
			if nudged = o.waitMissed(ctx, soon); !nudged {
				wait -= soon
				asked = o.redeliver(ctx, &lost)
			}
		}
		if !nudged {
			o.waitMissed(ctx, wait)
		}
	}
}

// unheardSince returns the moment since which events may have been lost when an ownership begins:
// nobody may have owned the queue since the last moment of its state, and a forge that does not
// send failed deliveries again has nothing else that brings back what was said meanwhile.
func (o *Owner) unheardSince(reached queue.Instant) time.Time {
	now := o.Now()
	since := now.Add(-missedLeast)
	if last := reached.Time().Add(-2 * o.Missed); reached != 0 && last.Before(since) {
		since = last
	}
	return since
}

// knownSince returns a moment, or a later one since which the store still knows all ids of what
// was heard: commands from before might be followed twice.
func (o *Owner) knownSince(since time.Time) time.Time {
	if most := o.Now().Add(-missedMost); since.Before(most) {
		return most
	}
	return since
}

// redeliver asks for the deliveries that have failed since a moment, which it moves on, and
// returns how many there were.
func (o *Owner) redeliver(ctx context.Context, lost *time.Time) int {
	r := o.Forge.Capabilities().Redeliverer
	if r == nil {
		return 0
	}
	started := o.Now()
	n, err := r.Redeliver(ctx, *lost)
	if err != nil {
		o.Log.Warn("failed deliveries could not be asked for again", "queue", o.Called(), "error", err)
		return n
	}
	*lost = started.Add(-2 * o.Missed)
	if n > 0 {
		o.Log.Info("failed deliveries were asked for again", "queue", o.Called(), "count", n)
	}
	return n
}

func (o *Owner) openPulls() []int {
	var open []int
	o.Read(func(c *speculation.Core) {
		for n, p := range c.State().Pulls {
			if p.Active != "" {
				open = append(open, n)
			}
		}
	})
	slices.Sort(open)
	return open
}

// waitMissed waits until the forge is to be asked again for missed events. It reports
// whether that is now, and not only when the time is over.
func (o *Owner) waitMissed(ctx context.Context, wait time.Duration) (now bool) {
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-t.C:
		return false
	case <-o.again:
	case <-ctx.Done():
	}
	return true
}
