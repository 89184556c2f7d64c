package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

// rowOf returns the n-th row of a test, at a moment.
func rowOf(n int, at queue.Instant) queue.Row {
	return queue.Row{At: at, Verdict: &queue.VerdictRow{Change: queue.ChangeID(fmt.Sprint(n, ".c")), Number: n, Author: "hostile \u2028\x00", Arrival: 3,
		Outcome: queue.Rejected, Features: queue.Features{"files": 1.5}, Failures: []queue.FailureRow{{Step: "unit", Targets: []string{"a"}}}}}
}

// recent is a moment that no bound of age drops.
func recent() queue.Instant { return queue.At(time.Now()) }

// allRows reads an archive in pages.
func (h Harness) allRows(t *testing.T, s queue.Store, page int) (all []queue.Row) {
	t.Helper()
	place := ""
	for {
		rows, next, err := s.(queue.Past).Rows(t.Context(), main, place, page)
		h.must(t, err)
		if len(rows) > page {
			t.Fatalf("%d rows in a page of %d", len(rows), page)
		}
		if all = append(all, rows...); next == place {
			return all
		}
		place = next
	}
}

func pastPages(t *testing.T, h Harness) {
	if got := h.allRows(t, h.Store, 10); len(got) != 0 {
		t.Errorf("rows of nothing: %v", got)
	}
	if _, _, err := h.Store.(queue.Past).Rows(t.Context(), main, "zzz", 1); !errors.Is(err, queue.ErrPlace) {
		t.Errorf("a place that no store has said: %v", err)
	}
	token, now := h.mustAcquire(t, main, "a", long), recent()
	var want []queue.Row
	for version := range int64(4) {
		rows := []queue.Row{rowOf(int(2*version), now), {At: now, Main: &queue.MainRow{Commit: "m", Outside: true}}}
		want = append(want, rows...)
		h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: version, Rows: rows,
			Notes: []queue.Note{{What: "beside"}}, Archive: []queue.Entry{pass(fmt.Sprint("t", version))}})
	}
	var kept []queue.Row
	for i := range 1200 { // more than a store may add in one step
		kept = append(kept, rowOf(1000+i, now-queue.Instant(i)))
	}
	h.must(t, h.Other.(queue.Past).Keep(t.Context(), main, kept))
	want = append(want, kept...)
	for _, page := range []int{1, 7, 5000} {
		if page == 1 && testing.Short() {
			continue
		}
		if diff := cmp.Diff(want, h.allRows(t, h.Other, page)); diff != "" {
			t.Errorf("in pages of %d: %s", page, diff)
		}
	}
	known, err := h.Store.Known(t.Context(), main, []queue.Key{key("t3")})
	h.must(t, err)
	if len(known) != 1 {
		t.Errorf("the pass beside the rows: %v", known)
	}
	if _, _, err := h.Store.(queue.Past).Rows(t.Context(), main, "no place", 1); err == nil {
		t.Error("a place that is none was taken")
	}
}

func pastWhole(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	if err := h.Store.Commit(t.Context(), queue.Turn{Queue: main, Token: token, Version: 3, Rows: []queue.Row{rowOf(1, recent())}}); err == nil {
		t.Error("a turn on a version that is not there was taken")
	}
	if got := h.allRows(t, h.Store, 10); len(got) != 0 {
		t.Errorf("the rows of a turn that was refused: %v", got)
	}
}

// Rows that are too old, too many or too long are dropped, the oldest first.
func pastBounds(t *testing.T, h Harness) {
	if h.Bounded == nil {
		t.Skip("the store has no bounds that can be chosen")
	}
	now := recent()
	one := rowOf(1, now)
	for name, c := range map[string]struct {
		bounds queue.PastBounds
		at     func(i int) queue.Instant
		want   int
	}{
		"age":         {queue.PastBounds{Age: time.Hour}, func(i int) queue.Instant { return now.Add(time.Duration(i-70) * time.Hour / 4) }, 33},
		"rows":        {queue.PastBounds{Rows: 40}, func(int) queue.Instant { return now }, 40},
		"bytes":       {queue.PastBounds{Bytes: 50 * sizeOf(t, one)}, func(int) queue.Instant { return now }, 50},
		"all of them": {queue.PastBounds{Age: time.Hour}, func(int) queue.Instant { return now.Add(-2 * time.Hour) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := h
			h.Store = h.Bounded(t, c.bounds)
			token := h.mustAcquire(t, main, "a", long)
			for i := range 100 {
				row := rowOf(1, c.at(i))
				row.Verdict.Builds = 100 + i // of one length
				h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: int64(i), Rows: []queue.Row{row}})
			}
			got := h.allRows(t, h.Store, 1000)
			if n := len(got); n < c.want-4 || n > c.want+2 {
				t.Errorf("%d rows are kept, want about %d", n, c.want)
			}
			if c.want == 0 {
				return
			}
			if last := got[len(got)-1]; last.Verdict.Builds != 199 {
				t.Errorf("the last row is %d", last.Verdict.Builds)
			}
		})
	}
}

func sizeOf(t *testing.T, r queue.Row) int64 {
	t.Helper()
	r.Verdict.Builds = 100
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return int64(len(data))
}
