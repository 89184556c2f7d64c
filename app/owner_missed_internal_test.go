package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/workers"
)

// deaf is a forge that does not answer at first, for hours.
type deaf struct {
	silent
	hours *atomic.Int64 // by which time has gone on
	asked *[]time.Time
}

func (f deaf) Missed(_ context.Context, since time.Time, _ []int) ([]queue.Event, error) {
	if *f.asked = append(*f.asked, since); len(*f.asked) == 1 {
		f.hours.Store(20)
		return nil, errors.New("the token has expired")
	}
	f.silent.asked <- since
	return nil, nil
}

// However long the forge does not answer, nothing is read that is so old that the store may not
// know any more whether it was heard.
func TestAfterALongDeafness(t *testing.T) {
	m, _ := inspectRepo(t, nil)
	var hours atomic.Int64
	now := func() time.Time { return time.Now().Add(time.Duration(hours.Load()) * time.Hour) }
	f := deaf{silent{asked: make(chan time.Time, 100)}, &hours, &[]time.Time{}}
	o := NewOwner(OwnerOptions{Queue: "q@main", Branch: "main", Name: "a", Store: memstore.New(now), Mirror: m, Forge: f, Workers: workers.NewInstant(2), Now: now, Missed: time.Millisecond, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		o.watchMissed(ctx, queue.At(now().Add(-30*24*time.Hour)), func(context.Context) (forge.Place, error) { return forge.Place{}, nil })
		close(ended)
	}()
	since := <-f.silent.asked
	if ago := now().Sub(since); ago > 96*time.Hour {
		t.Errorf("it is asked for what was said in the last %v", ago)
	}
	cancel()
	<-ended
}
