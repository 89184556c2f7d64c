package app_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/workers"
)

// paperPool is workers that do nothing by themselves.
type paperPool struct {
	events chan queue.Body
	mu     sync.Mutex
	stops  []queue.BuildID
}

func (p *paperPool) Run(context.Context, queue.Build, string) error { return nil }
func (p *paperPool) Stop(_ context.Context, id queue.BuildID) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stops = append(p.stops, id)
	return nil
}
func (p *paperPool) Events() <-chan queue.Body              { return p.events }
func (p *paperPool) Log(queue.BuildID) (workers.Log, error) { return nil, nil }
func (p *paperPool) Close(context.Context) error            { return nil }

// noTree is the mirror of a queue whose builds never begin.
type noTree struct{}

func (noTree) Checkout(context.Context, queue.CommitID, string) (func() error, error) {
	return nil, context.Canceled
}

// A queue that comes late knows how many builds can run; one that leaves has
// its builds stopped, and keeps nobody waiting.
func TestShareComesAndGoes(t *testing.T) {
	pool := &paperPool{events: make(chan queue.Body)}
	share := app.NewShare()
	share.Use(pool)
	go share.Run(t.Context())
	first := share.For("q", noTree{})
	pool.events <- queue.Capacity{Slots: 3}
	if got := <-first.Events(); got != queue.Body(queue.Capacity{Slots: 3}) {
		t.Errorf("%+v", got)
	}
	late := share.For("q", noTree{})
	if got := <-late.Events(); got != queue.Body(queue.Capacity{Slots: 3}) {
		t.Errorf("%+v", got)
	}
	for _, m := range []workers.Controller{first, late} {
		id := queue.BuildID("a")
		if m == late {
			id = "b"
		}
		if err := m.Run(t.Context(), queue.Build{ID: id, Commit: "c"}, "run"); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range []workers.Controller{first, late} {
		if got := m.(workers.Standing).Stands(); len(got) != 1 || got[0] != queue.Body(queue.Capacity{Slots: 3}) {
			t.Errorf("it stands by %+v", got)
		}
	}
	if err := first.Run(t.Context(), queue.Build{ID: "forgotten", Commit: "c"}, "run"); err != nil {
		t.Fatal(err)
	}
	first.(workers.Sweeper).Sweep([]queue.BuildID{"a"}) // its state knows no other; b is another queue's
	if len(pool.stops) != 1 || pool.stops[0] != "forgotten" {
		t.Errorf("stopped %v", pool.stops)
	}
	pool.stops = nil
	share.Leave(t.Context(), late)
	if len(pool.stops) != 1 || pool.stops[0] != "b" {
		t.Errorf("stopped %v", pool.stops)
	}
	for range 10_000 { // more than a queue keeps
		pool.events <- queue.BuildDone{Build: "b"}
	}
	pool.events <- queue.BuildDone{Build: "a"}
	if got := <-first.Events(); got.(queue.BuildDone).Build != "a" {
		t.Errorf("%+v", got)
	}
	if len(late.Events()) != 0 {
		t.Error("a queue that has left is told")
	}
}

// noForge is the forge of a queue that nobody works on.
type noForge struct{ forge.Forge }

func (noForge) Capabilities() forge.Capabilities { return forge.Capabilities{} }

// A queue that another server owns makes no turns here, for as long as that server lives. What
// the workers report of themselves meanwhile, however often runners come and go, does not keep
// the queues that this server owns from hearing of their builds.
func TestStandingByHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	pool := &paperPool{events: make(chan queue.Body)}
	share := app.NewShare()
	share.Use(pool)
	go share.Run(t.Context())
	store := memstore.New(time.Now)
	must(store.Acquire(t.Context(), "theirs", "another server", time.Hour))
	standing := app.NewOwner(app.OwnerOptions{Queue: "theirs", Branch: "main", Name: "this server", Store: store, Forge: noForge{},
		Workers: share.For("theirs", noTree{}), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	go func() { _ = standing.Run(t.Context()) }()
	ours := share.For("ours", noTree{})
	if err := ours.Run(t.Context(), queue.Build{ID: "b", Commit: "c"}, "run"); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for b := range ours.Events() {
			if _, is := b.(queue.BuildDone); is {
				return
			}
		}
	}()
	for i := range 10_000 { // more than a queue keeps
		select {
		case pool.events <- queue.Fleet{Hosts: []queue.FleetHost{{Name: "h", Slots: i}}}:
		case <-time.After(patience / 4):
			t.Fatalf("nothing is handed out after %d reports", i)
		}
	}
	pool.events <- queue.BuildDone{Build: "b"}
	select {
	case <-done:
	case <-time.After(patience / 4):
		t.Fatal("a build has ended, and its queue does not hear of it")
	}
}
