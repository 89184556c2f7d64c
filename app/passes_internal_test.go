package app

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/memstore"
	"github.com/submitqueue/submitqueue/speculation"
)

// What is used does not expire; what was forgotten is not known, and expires.
func TestKnownPassesAreRenewed(t *testing.T) {
	now := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	store := memstore.New(func() time.Time { return now })
	step := config.Step{Name: "unit", Run: "make {targets}"}
	set := queue.NewStepSet([]config.Step{step})
	pass := func(target string) queue.Entry {
		k := queue.Key{Step: step.Digest(), Target: target, Hash: "h"}
		return queue.Entry{ID: k.ID(), Keys: []queue.Key{k}, Passed: queue.At(now)}
	}
	used, forgotten, idle := pass("used"), pass("forgotten"), pass("idle")
	token, err := store.Acquire(t.Context(), "q", "a", 1000*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Commit(t.Context(), queue.Turn{Queue: "q", Token: token, Archive: []queue.Entry{used, forgotten, idle}}); err != nil {
		t.Fatal(err)
	}
	o := NewOwner(OwnerOptions{Queue: "q", Store: store, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler)})
	s := queue.NewState("main")
	s.Main.Forgotten = []queue.Forgotten{{Target: "forgotten", Step: "unit", At: queue.At(now)}}
	o.core = speculation.New(s)
	p := newPerformer(o, ownership{}).passes
	for range 3 {
		now = now.Add(20 * 24 * time.Hour)
		got, err := p.known(t.Context(), []queue.Key{used.Keys[0], forgotten.Keys[0]}, set)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].ID != used.ID {
			t.Errorf("%v later: %v", now, got)
		}
	}
	got, err := store.Known(t.Context(), "q", []queue.Key{used.Keys[0], forgotten.Keys[0], idle.Keys[0]})
	if err != nil || len(got) != 1 || got[0].ID != used.ID {
		t.Errorf("the archive knows %v, %v", got, err)
	}
}

// What the state knows has passed, whether or not the archive does.
func TestPassesOfTheState(t *testing.T) {
	key := func(target string) queue.Key { return queue.Key{Step: "s", Target: target, Hash: "h"} }
	s := queue.NewState("main")
	for target, passed := range map[string]queue.Instant{"passed": 5, "failed": 0} {
		k := key(target)
		s.Ledger[k.ID()] = &queue.Entry{ID: k.ID(), Keys: []queue.Key{k}, Passed: passed}
	}
	o := NewOwner(OwnerOptions{Queue: "q", Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	o.core = speculation.New(s)
	p := newPerformer(o, ownership{}).passes
	keys := []queue.Key{key("passed"), key("failed"), key("unknown")}
	keys = slices.DeleteFunc(keys, func(k queue.Key) bool { return !p.inState([]queue.Key{k})[k.ID()] })
	if len(keys) != 1 || keys[0].Target != "passed" {
		t.Errorf("%v", keys)
	}
}
