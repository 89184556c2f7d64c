package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

func inboxOrder(t *testing.T, h Harness) {
	var want []string
	for i := range 450 { // more than a store may add in one step
		want = append(want, fmt.Sprint("e", i))
	}
	var events []queue.Event
	for i, id := range want {
		events = append(events, event(id, i))
	}
	h.mustAppend(t, main, events[:3]...)
	h.mustAppend(t, main, events[3:]...)
	h.mustAppend(t, main)
	got := h.mustInbox(t, main, "", 1000)
	if diff := cmp.Diff(want, ids(got)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(events[0], got[0].Event); diff != "" {
		t.Error(diff)
	}
	if n := len(h.mustInbox(t, main, "", 7)); n != 7 {
		t.Errorf("asked for 7 events, got %d", n)
	}
	if n := len(h.mustInbox(t, main, "", 0)); n != 0 {
		t.Errorf("asked for no event, got %d", n)
	}
}

func inboxDedupe(t *testing.T, h Harness) {
	h.mustAppend(t, main, event("a", 1), event("b", 2), event("a", 3))
	h.mustAppend(t, main, event("b", 4), event("c", 5))
	h.must(t, h.Other.Append(t.Context(), main, event("c", 6)))
	if got := ids(h.mustInbox(t, main, "", 10)); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("inbox %q", got)
	}
	h.mustAppend(t, "other/queue@main", event("a", 1))
	if n := len(h.mustInbox(t, "other/queue@main", "", 10)); n != 1 {
		t.Error("an id of one queue was dropped in another")
	}
	h.mustAppend(t, main, event("", 7), event("", 8))
	if n := len(h.mustInbox(t, main, "", 10)); n != 5 {
		t.Errorf("%d events; those without an id are never dropped", n)
	}

	// An eaten event that is delivered again stays eaten.
	token := h.mustAcquire(t, main, "me", long)
	var cursors []string
	for _, a := range h.mustInbox(t, main, "", 10) {
		cursors = append(cursors, a.Cursor)
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Eaten: cursors})
	h.mustAppend(t, main, event("a", 1))
	if got := h.mustInbox(t, main, "", 10); len(got) != 0 {
		t.Errorf("inbox %q after all was eaten", ids(got))
	}
}

func inboxDedupeExpires(t *testing.T, h Harness) {
	if h.Advance == nil {
		t.Skip("takes days on the real clock")
	}
	h.mustAppend(t, main, event("a", 1))
	h.Advance(95*time.Hour + 59*time.Minute)
	h.mustAppend(t, main, event("a", 2), event("b", 2))
	if got := ids(h.mustInbox(t, main, "", 10)); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("inbox %q before four days have passed", got)
	}
	h.Advance(2 * time.Minute)
	h.mustAppend(t, main, event("a", 3), event("b", 3))
	if got := ids(h.mustInbox(t, main, "", 10)); !slices.Equal(got, []string{"a", "b", "a"}) {
		t.Errorf("inbox %q: a is forgotten after four days, b is not yet", got)
	}
}

func inboxAfter(t *testing.T, h Harness) {
	h.mustAppend(t, main, event("a", 1), event("b", 2), event("c", 3))
	all := h.mustInbox(t, main, "", 10)
	for i, a := range all {
		got := ids(h.mustInbox(t, main, a.Cursor, 10))
		if want := ids(all[i+1:]); !slices.Equal(got, want) {
			t.Errorf("after %s: %q, want %q", a.Event.ID, got, want)
		}
	}
	token := h.mustAcquire(t, main, "me", long)
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Eaten: []string{all[1].Cursor}})
	if got := ids(h.mustInbox(t, main, all[1].Cursor, 10)); !slices.Equal(got, []string{"c"}) {
		t.Errorf("after an eaten event: %q", got)
	}
	// An entry that arrives in an empty inbox is behind all that were there
	// before.
	last := all[2].Cursor
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Eaten: []string{all[0].Cursor, last}})
	h.mustAppend(t, main, event("d", 4))
	if got := ids(h.mustInbox(t, main, last, 10)); !slices.Equal(got, []string{"d"}) {
		t.Errorf("after the last of an emptied inbox: %q", got)
	}
	if _, err := h.Store.Inbox(t.Context(), main, "no cursor", 1, 0); err == nil {
		t.Error("a cursor that cannot be was taken")
	}
}

func inboxEat(t *testing.T, h Harness) {
	h.mustAppend(t, main, event("a", 1), event("b", 2), event("c", 3))
	all := h.mustInbox(t, main, "", 10)
	token := h.mustAcquire(t, main, "me", long)
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Eaten: []string{all[0].Cursor, all[2].Cursor}})
	if got := ids(h.mustInbox(t, main, "", 10)); !slices.Equal(got, []string{"b"}) {
		t.Errorf("inbox %q", got)
	}
	// Eating an event that is gone is no error.
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Eaten: []string{all[0].Cursor}})
}

func inboxWait(t *testing.T, h Harness) {
	got, err := h.Store.Inbox(t.Context(), main, "", 1, 20*time.Millisecond)
	if err != nil || len(got) != 0 {
		t.Errorf("an empty inbox gave %q, %v", ids(got), err)
	}
	got, err = h.Store.Inbox(t.Context(), main, "", 1, time.Microsecond)
	if err != nil || len(got) != 0 {
		t.Errorf("an empty inbox gave %q, %v", ids(got), err)
	}
	h.mustAppend(t, main, event("a", 1))
	got, err = h.Store.Inbox(t.Context(), main, "", 1, long)
	if err != nil || len(got) != 1 {
		t.Errorf("waiting for what is there gave %q, %v", ids(got), err)
	}
}

func inboxWake(t *testing.T, h Harness) {
	h.mustAppend(t, main, event("old", 1))
	after := h.mustInbox(t, main, "", 1)[0].Cursor
	type result struct {
		got []queue.Arrived
		err error
	}
	done := make(chan result)
	const readers = 3
	for range readers {
		go func() {
			got, err := h.Other.Inbox(context.WithoutCancel(t.Context()), main, after, 10, 30*time.Second)
			done <- result{got, err}
		}()
	}
	// Other queues do not wake; neither does a repetition.
	h.mustAppend(t, "other/queue@main", event("x", 1))
	h.mustAppend(t, main, event("old", 1))
	select {
	case r := <-done:
		t.Fatalf("woken by nothing: %q, %v", ids(r.got), r.err)
	case <-time.After(20 * time.Millisecond):
	}
	h.mustAppend(t, main, event("new", 2))
	for range readers {
		r := <-done
		if r.err != nil || !slices.Equal(ids(r.got), []string{"new"}) {
			t.Errorf("woken with %q, %v", ids(r.got), r.err)
		}
	}
}

func inboxCancel(t *testing.T, h Harness) {
	ctx, cancel := expired(20 * time.Millisecond)
	defer cancel()
	begin := time.Now()
	_, err := h.Store.Inbox(ctx, main, "", 1, long)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting past the context's deadline: %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("a cancelled wait took %v", took)
	}
	if _, err := h.Store.Inbox(ctx, main, "", 1, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("waiting under an ended context: %v", err)
	}
	// The store is as good as before.
	h.mustAppend(t, main, event("a", 1))
	if got, err := h.Store.Inbox(t.Context(), main, "", 1, long); err != nil || len(got) != 1 {
		t.Errorf("after a cancelled wait: %q, %v", ids(got), err)
	}
}

func inboxBodies(t *testing.T, h Harness) {
	want := []queue.Event{
		{ID: "1", At: 1, Body: queue.Commented{Number: 7, Comment: "c", Author: "eve", Body: "/land\r\n\x00\u2028<script>"}},
		{ID: "2", At: 2, Body: queue.Tick{}},
		{ID: "3", At: 3, Body: queue.JobDone{Build: "b", Took: time.Minute, PerTarget: map[string]time.Duration{"//a:b": 1}}},
	}
	h.mustAppend(t, main, want...)
	var got []queue.Event
	for _, a := range h.mustInbox(t, main, "", 10) {
		got = append(got, a.Event)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func inboxConcurrent(t *testing.T, h Harness) {
	const writers, each = 8, 50
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				s := []queue.Store{h.Store, h.Other}[i%2]
				// Every writer also repeats what all others write.
				if err := s.Append(t.Context(), main, event(fmt.Sprint("own", w, "/", i), i), event(fmt.Sprint("all", i), i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	got := h.mustInbox(t, main, "", 10_000)
	if len(got) != writers*each+each {
		t.Errorf("%d events, want %d", len(got), writers*each+each)
	}
	last := map[int]int{} // the order of each writer's own events
	cursors := map[string]bool{}
	for _, a := range got {
		cursors[a.Cursor] = true
		var w, i int
		if _, err := fmt.Sscanf(a.Event.ID, "own%d/%d", &w, &i); err == nil {
			if i < last[w] {
				t.Errorf("writer %d: %d after %d", w, i, last[w])
			}
			last[w] = i
		}
	}
	if len(cursors) != len(got) {
		t.Error("two events have one cursor")
	}
}

func inboxUnstorable(t *testing.T, h Harness) {
	if err := h.Store.Append(t.Context(), main, queue.Event{ID: "nil"}); err == nil {
		t.Error("an event without a body was taken")
	}
	if got := h.mustInbox(t, main, "", 1); len(got) != 0 {
		t.Errorf("inbox %q", ids(got))
	}
	h.mustAppend(t, main, queue.Event{ID: "nil", Body: queue.Tick{}})
	if got := h.mustInbox(t, main, "", 1); len(got) != 1 {
		t.Error("an event that was refused is remembered as seen")
	}
}
