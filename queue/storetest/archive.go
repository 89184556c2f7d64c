package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

func archiveKnown(t *testing.T, h Harness) {
	if got, err := h.Store.Known(t.Context(), main, nil); err != nil || len(got) != 0 {
		t.Errorf("known of nothing: %v, %v", got, err)
	}
	token := h.mustAcquire(t, main, "a", long)
	var want []queue.Entry
	var keys []queue.Key
	for i := range 1200 { // more than a store may ask for in one step
		name := fmt.Sprint("t", i)
		want = append(want, pass(name))
		keys = append(keys, key("unknown "+name), key(name))
	}
	want[0].Failures = []queue.Failure{{At: 3, Build: "b", Tail: "\x00hostile\xe2\x80\xa8"}}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Archive: want})
	got, err := h.Other.Known(t.Context(), main, keys)
	h.must(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the order of the keys: %s", diff)
	}
	// A later pass replaces the one before.
	later := pass("t0")
	later.By = "later"
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Archive: []queue.Entry{later}})
	got, err = h.Store.Known(t.Context(), main, keys[1:2])
	h.must(t, err)
	if len(got) != 1 || got[0].By != "later" {
		t.Errorf("after a later pass: %v", got)
	}
	// A pass that is revoked is known no more, and one that comes after that is.
	lost := pass("t0")
	lost.Passed, lost.Lost = 0, 7
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 2, Archive: []queue.Entry{lost, pass("t1")}})
	got, err = h.Store.Known(t.Context(), main, []queue.Key{key("t0"), key("t1")})
	h.must(t, err)
	if diff := cmp.Diff([]queue.Entry{pass("t1")}, got); diff != "" {
		t.Errorf("after t0 was revoked: %s", diff)
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 3, Archive: []queue.Entry{later}})
	got, err = h.Store.Known(t.Context(), main, keys[1:2])
	h.must(t, err)
	if len(got) != 1 {
		t.Errorf("passed again after it was revoked: %v", got)
	}
}

func archivePassesOnly(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	failed, set, misnamed := pass("failed"), pass("one of two"), pass("misnamed")
	failed.Passed = 0
	set.Keys = append(set.Keys, key("two of two"))
	misnamed.ID = key("victim").ID()
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Archive: []queue.Entry{failed, set, misnamed}})
	got, err := h.Store.Known(t.Context(), main, []queue.Key{key("failed"), key("one of two"), key("two of two"), key("victim")})
	h.must(t, err)
	if len(got) != 0 {
		t.Errorf("what passed no key alone is known: %v", got)
	}
}

func archiveExpiry(t *testing.T, h Harness) {
	if h.Advance == nil {
		t.Skip("takes a month on the real clock")
	}
	token := h.mustAcquire(t, main, "a", 2*queue.ArchiveTTL)
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Archive: []queue.Entry{pass("old")}})
	h.Advance(queue.ArchiveTTL - time.Hour)
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Archive: []queue.Entry{pass("new")}})
	keys := []queue.Key{key("old"), key("new")}
	for _, step := range []struct {
		pass time.Duration
		want int
	}{{0, 2}, {time.Hour, 1}, {queue.ArchiveTTL, 0}} {
		h.Advance(step.pass)
		got, err := h.Store.Known(t.Context(), main, keys)
		h.must(t, err)
		if len(got) != step.want {
			t.Errorf("%d passes are known %v later, want %d", len(got), step.pass, step.want)
		}
	}
}

func historyOrder(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	var want []queue.Note
	for version := range int64(5) {
		var notes []queue.Note
		for i := range 3 {
			notes = append(notes, queue.Note{
				At: queue.Instant(version), Change: "7.c", Number: i, Build: "b", What: fmt.Sprint(version, ".", i),
				Reason: queue.Reason{Code: "code", Names: []string{"a", "\x00"}, Detail: "hostile \u2028"}, Commit: "abc",
			})
		}
		want = append(want, notes...)
		h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: version, Notes: notes})
	}
	slices.Reverse(want) // newest first
	for _, limit := range []int{0, 1, 4, 15, 100} {
		got, err := h.Other.History(t.Context(), main, limit)
		h.must(t, err)
		if diff := cmp.Diff(want[:min(limit, len(want))], got[:len(got):len(got)]); diff != "" && len(got)+limit > 0 {
			t.Errorf("newest %d: %s", limit, diff)
		}
	}
	none, err := h.Store.History(t.Context(), "other/queue@main", 10)
	h.must(t, err)
	if len(none) != 0 {
		t.Errorf("another queue's history: %v", none)
	}
}

func historyTrimmed(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	const written, about = 12_000, 10_000
	notes := make([]queue.Note, written/4)
	for version := range int64(4) {
		for i := range notes {
			notes[i] = queue.Note{At: queue.Instant(int(version)*len(notes) + i), What: "note"}
		}
		h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: version, Notes: notes})
	}
	got, err := h.Store.History(t.Context(), main, 1<<20)
	h.must(t, err)
	if n := len(got); n < about || n > about+about/10 {
		t.Errorf("%d notes are kept, want about %d", n, about)
	}
	if got[0].At != written-1 {
		t.Errorf("the newest note is %d, want %d", got[0].At, written-1)
	}
}
