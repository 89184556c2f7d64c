package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/submitqueue/submitqueue/queue"
)

func stateKinds(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	want := map[queue.Ref]string{}
	var put []queue.Record
	var all []queue.Ref
	for _, kind := range queue.Kinds() {
		for i := range 3 {
			r := record(kind, fmt.Sprint("id", i), fmt.Sprintf(`{"kind":%q,"n":%d}`, kind, i))
			put = append(put, r)
			want[r.Ref] = string(r.Data)
			all = append(all, r.Ref)
		}
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Put: put})
	got, _ := h.mustLoad(t, main)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Delete: all})
	if got, _ := h.mustLoad(t, main); len(got) != 0 {
		t.Errorf("%v are left after all were deleted", got)
	}
}

func stateReplace(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	data := []byte("one")
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Put: []queue.Record{
		{Ref: queue.Ref{Kind: queue.KindChange, ID: "c"}, Data: data},
		record(queue.KindLink, "c", "same id, other kind"),
	}})
	copy(data, "XXX") // the store keeps a copy of the data, not the slice
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1,
		Delete: []queue.Ref{{Kind: queue.KindLink, ID: "c"}, {Kind: queue.KindBuild, ID: "never was"}}})
	want := map[queue.Ref]string{{Kind: queue.KindChange, ID: "c"}: "one"}
	if got, _ := h.mustLoad(t, main); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 2, Put: []queue.Record{record(queue.KindChange, "c", "two")}})
	want[queue.Ref{Kind: queue.KindChange, ID: "c"}] = "two"
	if got, _ := h.mustLoad(t, main); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	records, _, err := h.Other.Load(t.Context(), main)
	h.must(t, err)
	records[0].Data[0] = 'X' // nor does it share what it gives
	if got, _ := h.mustLoad(t, main); !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
}

// hostile are names that would break a store which builds texts from them.
func hostile() []string {
	return []string{"", " ", "\x00", "a\x00b", "a\nb\r\n", "{x}", "}{", "%7B", ":", "sq:{q}:version", "*", "[a-z]?", `"'\`,
		"\xff\xfe", "\u202e\u2028", "$5\r\nhello\r\n", "-1", "0", "9007199254740993", "nil", "version", string(bytes.Repeat([]byte("long"), 5000))}
}

func stateHostile(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "\x00owner\r\n{}", long)
	want := map[queue.Ref]string{}
	var put []queue.Record
	var events []queue.Event
	for _, name := range hostile() {
		r := record(queue.KindChange, name, "data "+name)
		put = append(put, r)
		want[r.Ref] = string(r.Data)
		if name != "" {
			events = append(events, queue.Event{ID: name, At: 1, Body: queue.Tick{}})
		}
	}
	put = append(put, record(queue.KindLink, "empty", ""))
	want[queue.Ref{Kind: queue.KindLink, ID: "empty"}] = ""
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Put: put})
	got, _ := h.mustLoad(t, main)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	h.mustAppend(t, main, events...)
	h.mustAppend(t, main, events...)
	if n := len(h.mustInbox(t, main, "", 1000)); n != len(events) {
		t.Errorf("%d events with hostile ids, want %d", n, len(events))
	}
	var refs []queue.Ref
	for ref := range want {
		refs = append(refs, ref)
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Delete: refs})
	if got, _ := h.mustLoad(t, main); len(got) != 0 {
		t.Errorf("%d records are left", len(got))
	}
}

func stateBig(t *testing.T, h Harness) {
	token := h.mustAcquire(t, main, "a", long)
	want := map[queue.Ref]string{}
	var put []queue.Record
	big := record(queue.KindFootprint, "big", string(bytes.Repeat([]byte("0123456789abcdef"), 1<<16))) // 1 MiB
	put = append(put, big)
	for i := range 9000 { // more than a script can have on its stack
		put = append(put, record(queue.KindEntry, fmt.Sprint("e", i), fmt.Sprint("data", i)))
	}
	var deleted []queue.Ref
	for _, r := range put {
		want[r.Ref] = string(r.Data)
		deleted = append(deleted, r.Ref)
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Put: put})
	if got, _ := h.mustLoad(t, main); !cmp.Equal(got, want) {
		t.Errorf("%d records, want %d", len(got), len(want))
	}
	h.mustCommit(t, queue.Turn{Queue: main, Token: token, Version: 1, Delete: deleted})
	if got, _ := h.mustLoad(t, main); len(got) != 0 {
		t.Errorf("%d records are left", len(got))
	}
}

func stateIsolation(t *testing.T, h Harness) {
	names := slices.DeleteFunc(hostile(), func(n string) bool { return n == "" })
	names = append(names, "", "a/b@main", "a/b@main:", "a/b@main}:version", "{a/b@main}", "A/B@main")
	for _, name := range names {
		token := h.mustAcquire(t, name, "a", long)
		h.mustAppend(t, name, event("e", 1))
		h.mustCommit(t, queue.Turn{Queue: name, Token: token,
			Put:     []queue.Record{record(queue.KindChange, "c", name)},
			Archive: []queue.Entry{pass("of " + name)},
			Notes:   []queue.Note{{What: "of " + fmt.Sprintf("%q", name)}}})
	}
	for _, name := range names {
		want := map[queue.Ref]string{{Kind: queue.KindChange, ID: "c"}: name}
		got, version := h.mustLoad(t, name)
		if diff := cmp.Diff(want, got); diff != "" || version != 1 {
			t.Errorf("queue %.40q: version %d, %s", name, version, diff)
		}
		if n := len(h.mustInbox(t, name, "", 10)); n != 1 {
			t.Errorf("queue %.40q: %d events", name, n)
		}
		notes, err := h.Store.History(t.Context(), name, 10)
		h.must(t, err)
		if len(notes) != 1 || notes[0].What != fmt.Sprintf("of %q", name) {
			t.Errorf("queue %.40q: notes %v", name, notes)
		}
	}
	other, err := h.Store.Known(t.Context(), names[1], []queue.Key{key("of " + names[2])})
	h.must(t, err)
	if len(other) != 0 {
		t.Error("the archive of one queue answers for another")
	}
}
