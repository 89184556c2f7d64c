package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

// archive returns a store's archive, as another replica reads it.
func (h Harness) archive(t *testing.T) queue.Archive {
	t.Helper()
	a, ok := h.Other.(queue.Archive)
	if !ok {
		t.Fatalf("%T is no queue.Archive", h.Other)
	}
	return a
}

func (h Harness) mustFind(t *testing.T, name string, x queue.Search) (ids []string, more bool) {
	t.Helper()
	found, more, err := h.archive(t).Find(t.Context(), name, x)
	h.must(t, err)
	for _, e := range found {
		ids = append(ids, fmt.Sprint(e.Keys[0].Target, "@", e.Keys[0].Hash))
	}
	return ids, more
}

// passAt is a pass of a target at a hash, at a moment.
func passAt(target string, n int) queue.Entry {
	k := queue.Key{Step: "step", Target: target, Hash: queue.Digest(fmt.Sprint(n))}
	return queue.Entry{ID: k.ID(), Keys: []queue.Key{k}, Passed: queue.Instant(1000 + n), By: "build"}
}

func archiveFind(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	const hostile = "//a:b {x}\n*"
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Archive: []queue.Entry{
		passAt("a", 1), passAt("b", 2), passAt("a", 3), passAt("a", 2), passAt(hostile, 1)}})
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Archive: []queue.Entry{passAt("a", 3)}}) // once more
	for _, c := range []struct {
		ask  queue.Search
		want []string
		more bool
	}{
		{queue.Search{Target: "a", Max: 10}, []string{"a@3", "a@2", "a@1"}, false},
		{queue.Search{Target: "a", Max: 2}, []string{"a@3", "a@2"}, true},
		{queue.Search{Target: "a", Max: 3}, []string{"a@3", "a@2", "a@1"}, false},
		{queue.Search{Target: hostile, Max: 10}, []string{hostile + "@1"}, false},
		{queue.Search{Target: "none", Max: 10}, nil, false},
		{queue.Search{Prefix: string(passAt("b", 2).ID), Max: 10}, []string{"b@2"}, false},
		{queue.Search{Prefix: string(passAt("b", 2).ID)[:12], Max: 10}, []string{"b@2"}, false},
		{queue.Search{Prefix: "0123456789abcdef", Max: 10}, nil, false},
	} {
		got, more := h.mustFind(t, main, c.ask)
		if diff := cmp.Diff(c.want, got); diff != "" || more != c.more {
			t.Errorf("%+v: more is %t: %s", c.ask, more, diff)
		}
	}
	if got, _ := h.mustFind(t, "other/queue@main", queue.Search{Target: "a", Max: 10}); len(got) != 0 {
		t.Errorf("another queue knows %v", got)
	}
}

func archiveFindMany(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	var all []queue.Entry
	byDigit := map[byte]int{}
	for i := range 700 {
		e := passAt("many", i)
		all = append(all, e)
		byDigit[e.ID[0]]++
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Archive: all})
	got, more := h.mustFind(t, main, queue.Search{Target: "many", Max: queue.SearchMost})
	if len(got) != len(all) || more || got[0] != "many@699" {
		t.Errorf("%d found, more is %t", len(got), more)
	}
	for digit, n := range byDigit {
		if got, more := h.mustFind(t, main, queue.Search{Prefix: string(digit), Max: queue.SearchMost}); len(got) != n || more {
			t.Errorf("%d ids begin with %c, want %d", len(got), digit, n)
		}
	}
	if got, more := h.mustFind(t, main, queue.Search{Prefix: "", Max: 5}); len(got) != 5 || !more {
		t.Errorf("of all: %d, more is %t", len(got), more)
	}
}

func archiveRenew(t *testing.T, h Harness) {
	if h.Advance == nil {
		t.Skip("takes a month on the real clock")
	}
	token := h.mustAcquire(t, main, "a", 4*queue.ArchiveTTL)
	used, idle, never := passAt("used", 1), passAt("idle", 1), passAt("never", 1)
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Archive: []queue.Entry{used, idle}})
	keys := []queue.Key{used.Keys[0], idle.Keys[0], never.Keys[0]}
	var known, found []string
	for range 4 { // a fortnight each
		h.Advance(queue.ArchiveTTL/2 - time.Minute)
		h.must(t, h.archive(t).Renew(t.Context(), main, []queue.Entry{used, never}))
	}
	got, err := h.Store.Known(t.Context(), main, keys)
	h.must(t, err)
	for _, e := range got {
		known = append(known, e.Keys[0].Target)
	}
	for _, target := range []string{"used", "idle", "never"} {
		ids, _ := h.mustFind(t, main, queue.Search{Target: target, Max: 10})
		found = append(found, ids...)
	}
	if !slices.Equal(known, []string{"used"}) || !slices.Equal(found, []string{"used@1"}) {
		t.Errorf("two months later, with one renewed each fortnight: %v are known, %v found", known, found)
	}
	h.Advance(queue.ArchiveTTL + time.Minute)
	h.must(t, h.archive(t).Renew(t.Context(), main, []queue.Entry{used, idle, never}))
	if got, err := h.Store.Known(t.Context(), main, keys); err != nil || len(got) != 0 {
		t.Errorf("renewed too late: %v, %v", got, err)
	}
}
