package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

// fullTurn returns a turn that changes something of each kind.
func fullTurn(token, version int64, eaten ...string) queue.Turn {
	n := fmt.Sprint(version + 1)
	return queue.Turn{
		Queue: main, Token: token, Version: version,
		Put: []queue.Record{
			record(queue.KindChange, "c", "turn "+n),
			record(queue.KindAction, "a"+n, "turn "+n),
		},
		Delete:  []queue.Ref{{Kind: queue.KindAction, ID: fmt.Sprint("a", version)}},
		Eaten:   eaten,
		Archive: []queue.Entry{pass("target" + n)},
		Notes:   []queue.Note{{At: queue.Instant(version + 1), What: "turn " + n}},
	}
}

func pass(target string) queue.Entry {
	k := key(target)
	return queue.Entry{ID: k.ID(), Keys: []queue.Key{k}, Passed: 7, By: "build", Tries: 2}
}

func key(target string) queue.Key { return queue.Key{Step: "step", Target: target, Hash: "hash"} }

// mustHold fails unless the store holds exactly the data that n full turns wrote.
func (h Harness) mustHold(t *testing.T, n int64, inbox int) {
	t.Helper()
	want := map[queue.Ref]string{}
	if n > 0 {
		name := fmt.Sprint(n)
		want[queue.Ref{Kind: queue.KindChange, ID: "c"}] = "turn " + name
		want[queue.Ref{Kind: queue.KindAction, ID: "a" + name}] = "turn " + name
	}
	got, version := h.mustLoad(t, main)
	if diff := cmp.Diff(want, got); diff != "" || version != n {
		t.Errorf("version %d, want %d; records:\n%s", version, n, diff)
	}
	notes, err := h.Store.History(t.Context(), main, 100)
	h.must(t, err)
	if len(notes) != int(n) {
		t.Errorf("%d notes, want %d", len(notes), n)
	}
	var keys []queue.Key
	for i := range n + 2 {
		keys = append(keys, key(fmt.Sprint("target", i)))
	}
	known, err := h.Store.Known(t.Context(), main, keys)
	h.must(t, err)
	if len(known) != int(n) {
		t.Errorf("%d archived passes, want %d", len(known), n)
	}
	if left := h.mustInbox(t, main, "", 100); len(left) != inbox {
		t.Errorf("%d events in the inbox, want %d", len(left), inbox)
	}
}

func turnFencing(t *testing.T, h Harness) {
	if err := h.Store.Commit(t.Context(), fullTurn(0, 0)); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a commit without a token: %v", err)
	}
	if err := h.Store.Commit(t.Context(), fullTurn(1, 0)); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a commit with a token that nobody gave: %v", err)
	}
	first := h.mustAcquire(t, main, "a", short)
	h.mustCommit(t, fullTurn(first, 0))
	h.elapse(t, short)
	second := h.mustAcquire(t, main, "b", long)
	if err := h.Store.Commit(t.Context(), fullTurn(first, 1)); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a late commit of the owner before: %v", err)
	}
	if err := h.Store.Commit(t.Context(), fullTurn(second+1, 1)); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a commit with a token from the future: %v", err)
	}
	h.mustHold(t, 1, 0)
	h.mustCommit(t, fullTurn(second, 1))
	h.mustHold(t, 2, 0)
}

func turnVersion(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	h.mustCommit(t, fullTurn(token, 0))
	h.mustCommit(t, fullTurn(token, 1))
	for _, version := range []int64{-1, 0, 1, 3, 1 << 40} {
		if err := h.Other.Commit(t.Context(), fullTurn(token, version)); !errors.Is(err, queue.ErrStale) {
			t.Errorf("a commit on version %d of 2: %v", version, err)
		}
	}
	h.mustHold(t, 2, 0)
	// A process that is not the owner is told that first.
	if err := h.Store.Commit(t.Context(), fullTurn(token-1, 0)); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a stale commit of somebody else: %v", err)
	}
	// An empty turn is a turn.
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 2})
	if _, version := h.mustLoad(t, main); version != 3 {
		t.Errorf("version %d after an empty turn on 2", version)
	}
}

func turnRace(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	const turns, rivals = 20, 4
	for version := range int64(turns) {
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range rivals {
			wg.Go(func() {
				s := []queue.Store{h.Store, h.Other}[i%2]
				err := s.Commit(t.Context(), fullTurn(token, version))
				switch {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, queue.ErrStale):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("%d of %d commits on version %d worked", n, rivals, version)
		}
	}
	h.mustHold(t, turns, 0)
}

func turnWhole(t *testing.T, h Harness) {
	h.mustHold(t, 0, 0)
	h.mustAppend(t, main, event("e1", 1), event("e2", 2))
	token := h.mustAcquire(t, main, "a", long)
	inbox := h.mustInbox(t, main, "", 10)
	h.mustCommit(t, fullTurn(token, 0, inbox[0].Cursor))
	h.mustHold(t, 1, 1)
	h.mustCommit(t, fullTurn(token, 1, inbox[1].Cursor))
	h.mustHold(t, 2, 0)
}

func turnRefused(t *testing.T, h Harness) {
	h.mustAppend(t, main, event("e1", 1))
	cursor := h.mustInbox(t, main, "", 1)[0].Cursor
	token := h.mustAcquire(t, main, "a", long)
	if err := h.Store.Commit(t.Context(), fullTurn(token, 5, cursor)); !errors.Is(err, queue.ErrStale) {
		t.Errorf("a commit on version 5 of nothing: %v", err)
	}
	if err := h.Store.Commit(t.Context(), fullTurn(token+1, 0, cursor)); !errors.Is(err, queue.ErrNotOwner) {
		t.Errorf("a commit of nobody: %v", err)
	}
	h.mustHold(t, 0, 1)
}

func turnInvalid(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	for name, spoil := range map[string]func(*queue.Turn){
		"kind put":     func(u *queue.Turn) { u.Put = append(u.Put, record("inbox", "x", "y")) },
		"kind deleted": func(u *queue.Turn) { u.Delete = append(u.Delete, queue.Ref{Kind: "lease", ID: "owner"}) },
		"cursor":       func(u *queue.Turn) { u.Eaten = append(u.Eaten, "99999999999999999999-x") },
		"empty cursor": func(u *queue.Turn) { u.Eaten = append(u.Eaten, "") },
	} {
		turn := fullTurn(token, 0)
		spoil(&turn)
		if err := h.Store.Commit(t.Context(), turn); err == nil {
			t.Errorf("%s: an invalid turn was taken", name)
		}
	}
	h.mustHold(t, 0, 0)
}
