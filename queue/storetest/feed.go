package storetest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
)

// feeds returns the store, and its second client, as feeds.
func (h Harness) feeds(t *testing.T) (own, other queue.Feed) {
	t.Helper()
	own, is := h.Store.(queue.Feed)
	other, too := h.Other.(queue.Feed)
	if !is || !too {
		t.Fatal("the store is no queue.Feed")
	}
	return own, other
}

func (h Harness) mustNote(t *testing.T, token, version int64, what ...string) {
	t.Helper()
	turn := queue.Turn{Queue: main, Token: token, Version: version}
	for _, w := range what {
		turn.Notes = append(turn.Notes, queue.Note{What: w, Reason: queue.Reason{Names: []string{w}}})
	}
	h.mustCommit(t, turn)
}

// mustRead returns the notes after a place, read in pages of max.
func (h Harness) mustRead(t *testing.T, f queue.Feed, place string, max int) (what []string, next string) {
	t.Helper()
	for {
		notes, next, err := f.NotesAfter(t.Context(), main, place, max)
		h.must(t, err)
		if len(notes) > max {
			t.Errorf("%d notes, asked for at most %d", len(notes), max)
		}
		if next == place {
			return what, next
		}
		if notes[len(notes)-1].Place != next {
			t.Errorf("the page ends at %s and its last note at %s", next, notes[len(notes)-1].Place)
		}
		for _, n := range notes {
			what = append(what, n.Note.What)
		}
		place = next
	}
}

// Without these, a first start would send past notes, or a restart would miss the
// notes that were made meanwhile.
func feedFollow(t *testing.T, h Harness) {
	f, other := h.feeds(t)
	token := h.mustAcquire(t, main, "a", long)
	early, err := f.Follow(t.Context(), main, "early")
	h.must(t, err)
	h.mustNote(t, token, 0, "one", "two")
	late, err := f.Follow(t.Context(), main, "late")
	h.must(t, err)
	h.mustNote(t, token, 1, "three")
	again, err := other.Follow(t.Context(), main, "late")
	h.must(t, err)
	if again != late {
		t.Errorf("a reader that has reached nothing is at %s, and was at %s", again, late)
	}
	if got, _ := h.mustRead(t, f, early, 10); !slices.Equal(got, []string{"one", "two", "three"}) {
		t.Errorf("who came first reads %v", got)
	}
	got, end := h.mustRead(t, f, late, 10)
	if !slices.Equal(got, []string{"three"}) {
		t.Errorf("who came late reads %v", got)
	}
	h.must(t, f.Reached(t.Context(), main, "late", end))
	h.mustNote(t, token, 2, "four")
	for reader, want := range map[string]int{"late": 1, "early": 4} {
		place, err := other.Follow(t.Context(), main, reader)
		h.must(t, err)
		if got, _ := h.mustRead(t, other, place, 10); len(got) != want {
			t.Errorf("%s reads %v, want %d notes", reader, got, want)
		}
	}
	if notes, next, err := f.NotesAfter(t.Context(), "other/queue@main", end, 10); err != nil || len(notes) != 0 || next != end {
		t.Errorf("another queue's history: %v, %s, %v", notes, next, err)
	}
	for _, bad := range []string{"", "x", "1-2-3"} {
		if _, _, err := f.NotesAfter(t.Context(), main, bad, 10); err == nil {
			t.Errorf("%q was taken for a place", bad)
		}
		if err := f.Reached(t.Context(), main, "late", bad); err == nil {
			t.Errorf("%q was kept as a place", bad)
		}
	}
}

func feedPages(t *testing.T, h Harness) {
	f, _ := h.feeds(t)
	token := h.mustAcquire(t, main, "a", long)
	place, err := f.Follow(t.Context(), main, "r")
	h.must(t, err)
	var want []string
	for version := range int64(4) {
		var what []string
		for i := range 5 {
			what = append(what, fmt.Sprint(version, ".", i))
		}
		want = append(want, what...)
		h.mustNote(t, token, version, what...)
	}
	for _, max := range []int{1, 3, 5, 20, 100} {
		if got, _ := h.mustRead(t, f, place, max); !slices.Equal(got, want) {
			t.Errorf("in pages of %d: %v", max, got)
		}
	}
	if notes, next, err := f.NotesAfter(t.Context(), main, place, 0); err != nil || len(notes) != 0 || next != place {
		t.Errorf("no page at all: %v, %s, %v", notes, next, err)
	}
}

// A reader that was away while the history was cut goes on with the rest.
func feedTrimmed(t *testing.T, h Harness) {
	f, _ := h.feeds(t)
	token := h.mustAcquire(t, main, "a", long)
	place, err := f.Follow(t.Context(), main, "r")
	h.must(t, err)
	const turns, each, about = 4, 3000, 10_000
	for version := range int64(turns) {
		h.mustNote(t, token, version, slices.Repeat([]string{"note"}, each)...)
	}
	h.mustNote(t, token, turns, "last")
	got, _ := h.mustRead(t, f, place, 1000)
	if n := len(got); n < about || n > about+about/10 || got[n-1] != "last" {
		t.Errorf("%d notes are read, the last is %q", n, got[n-1])
	}
}
