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

// silent is a forge that has nothing to tell. It hands on since when it was asked.
type silent struct {
	forge.Forge
	asked chan time.Time // nil: nobody wants to know
}

func (silent) Capabilities() forge.Capabilities { return forge.Capabilities{} }

func (f silent) Missed(_ context.Context, since time.Time, _ []int) ([]queue.Event, error) {
	if f.asked != nil {
		f.asked <- since
	}
	return nil, nil
}

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

// However long nobody has worked on a queue, what was said meanwhile is read: GitLab sends no
// failed delivery again. What is so old that the store may not know any more whether it was heard
// is not read, nor what was said long before there was a queue.
func TestAfterALongAbsence(t *testing.T) {
	for name, c := range map[string]struct{ away, least, most time.Duration }{
		"a moment":  {time.Minute, 23 * time.Hour, 25 * time.Hour},
		"a weekend": {60 * time.Hour, 60 * time.Hour, 62 * time.Hour},
		"a month":   {30 * 24 * time.Hour, 80 * time.Hour, 96 * time.Hour},
		"new":       {0, 23 * time.Hour, 25 * time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := inspectRepo(t, nil)
			store, now := memstore.New(time.Now), time.Now()
			forge := silent{asked: make(chan time.Time, 1)}
			o := NewOwner(OwnerOptions{Queue: "q@main", Branch: "main", Name: "a", Store: store, Mirror: m, Forge: forge, Workers: workers.NewInstant(2), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
			token, err := o.acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if c.away > 0 {
				s := queue.NewState("main")
				s.Changes["1.aa"] = &queue.Change{ID: "1.aa", Number: 1, Phase: queue.Landed, Ending: queue.Ending{Decided: queue.At(now.Add(-c.away))}}
				record, _, err := s.Encode(queue.Ref{Kind: queue.KindChange, ID: "1.aa"})
				if err != nil {
					t.Fatal(err)
				}
				if err := store.Commit(t.Context(), queue.Turn{Queue: "q@main", Token: token, Put: []queue.Record{record}}); err != nil {
					t.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- o.own(ctx, token) }()
			if ago := now.Sub(<-forge.asked); ago < c.least || ago > c.most {
				t.Errorf("it is asked for what was said in the last %v, want between %v and %v", ago, c.least, c.most)
			}
			cancel()
			<-ended
		})
	}
}
