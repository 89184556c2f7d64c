package app

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/workers"
)

// refusing is a store that takes no turn.
type refusing struct{ *memstore.Store }

func (refusing) Commit(context.Context, queue.Turn) error { return errors.New("the shelf is full") }

// silent is a forge that has nothing to tell.
type silent struct{ forge.Forge }

func (silent) Capabilities() forge.Capabilities { return forge.Capabilities{} }

func (silent) Missed(context.Context, time.Time, []int) ([]queue.Event, error) { return nil, nil }

// While turns cannot be stored, the queue begins again and again: it keeps what it was told, and
// nothing that each beginning tells it anyway.
func TestBeginningsAreNotKept(t *testing.T) {
	m, _ := inspectRepo(t, nil)
	w := workers.NewInstant(2)
	store := refusing{memstore.New(time.Now)}
	o := NewOwner(OwnerOptions{Queue: "q@main", Branch: "main", Name: "a", Store: store, Mirror: m, Forge: silent{}, Workers: w, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	o.kept = []queue.Event{o.stamp(queue.Event{ID: "result", Body: queue.Done{Action: "x"}})}
	for range 5 {
		token, err := o.acquire(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := o.own(t.Context(), token); err == nil {
			t.Fatal("a turn was stored")
		}
	}
	if len(o.kept) != 1 || o.kept[0].ID != "result" {
		t.Errorf("kept are %+v", o.kept)
	}
}
