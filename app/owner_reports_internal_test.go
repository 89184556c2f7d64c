package app

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// fleetOf is workers that say of themselves what they are told to.
type fleetOf struct {
	workers.Controller
	events chan queue.Body
	slots  int
}

func (f *fleetOf) Events() <-chan queue.Body { return f.events }
func (f *fleetOf) Stands() []queue.Body      { return []queue.Body{queue.Capacity{Slots: f.slots}} }

// until waits for something that other goroutines do.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain until ", what)
		}
	}
}

// What workers said of themselves at the end of an ownership, and no turn took in, does not hide
// what they have said since: the next ownership begins with the latest.
func TestAnOldReportDoesNotHideTheLatest(t *testing.T) {
	m, _ := inspectRepo(t, nil)
	w := &fleetOf{Controller: workers.NewInstant(0), events: make(chan queue.Body)}
	o := NewOwner(OwnerOptions{Queue: "q@main", Branch: "main", Name: "a", Store: memstore.New(time.Now), Mirror: m, Forge: silent{}, Workers: w, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	ctx, cancel := context.WithCancel(t.Context())
	pumped := make(chan struct{})
	go func() { o.pumpBuilds(ctx); close(pumped) }()
	o.owning.Store(true) // the last moment of an ownership, whose turns have ended
	w.events <- queue.Capacity{Slots: 0}
	until(t, "the report is there", func() bool { return len(o.events) == 1 })
	o.owning.Store(false)
	w.slots = 4
	w.events <- queue.Capacity{Slots: 4} // nobody owns the queue
	w.events <- queue.BuildStarted{Build: "other"}
	until(t, "the start of the build is there", func() bool { return len(o.events) == 2 })
	token, err := o.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- o.own(ctx, token) }()
	until(t, "the ownership has begun", func() bool { return o.Read(func(*speculation.Core) {}) })
	w.events <- queue.Fleet{Hosts: []queue.FleetHost{{Name: "own", Slots: 1}}} // comes after all that is left
	until(t, "a turn has taken in what is left", func() bool { return len(o.View().Hosts) > 0 })
	if got := o.View().Slots; got != 4 {
		t.Errorf("the queue has %d slots, want 4", got)
	}
	cancel()
	<-ended
	<-pumped
}
