package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/spool"
)

func mustOpen(t testing.TB, path string) *spool.Spool {
	t.Helper()
	s, err := spool.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // some tests have closed it
	return s
}

func mustAppend(t testing.TB, s *spool.Spool, entries ...string) {
	t.Helper()
	for _, e := range entries {
		if err := s.Append([]byte(e)); err != nil {
			t.Fatal(err)
		}
	}
}

// mustDrain returns all entries.
func mustDrain(t testing.TB, s *spool.Spool) []string {
	t.Helper()
	var got []string
	n, err := s.Drain(t.Context(), func(data []byte) error {
		got = append(got, string(data))
		return nil
	})
	if err != nil || n != len(got) {
		t.Fatalf("drained %d, %v", n, err)
	}
	return got
}

func TestOrderAndReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	s := mustOpen(t, path)
	want := []string{"one", "", "three\x00\n", string(bytes.Repeat([]byte("big"), 100_000))}
	mustAppend(t, s, want...)
	if s.Len() != len(want) {
		t.Errorf("Len %d", s.Len())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(nil); err == nil {
		t.Error("a closed spool takes entries")
	}
	s = mustOpen(t, path)
	if s.Len() != len(want) || s.Damage() != (spool.Damage{}) {
		t.Errorf("Len %d, damage %+v", s.Len(), s.Damage())
	}
	if got := mustDrain(t, s); !slices.Equal(got, want) {
		t.Errorf("drained %.100q", got)
	}
	if got := mustDrain(t, s); len(got) != 0 || s.Len() != 0 {
		t.Errorf("drained again: %q", got)
	}
	info, err := os.Stat(path)
	if err != nil || info.Size() > 100 || info.Mode().Perm() != 0o600 {
		t.Errorf("an empty spool: %v, %v", info, err)
	}
}

func TestDrainStopsAndResumes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	s := mustOpen(t, path)
	mustAppend(t, s, "a", "b", "c")
	away := errors.New("still away")
	n, err := s.Drain(t.Context(), func(data []byte) error {
		if string(data) == "b" {
			return away
		}
		return nil
	})
	if n != 1 || !errors.Is(err, away) {
		t.Errorf("drained %d, %v", n, err)
	}
	s = mustOpen(t, path) // as after a crash
	ctx, cancel := context.WithCancel(t.Context())
	n, err = s.Drain(ctx, func(data []byte) error {
		cancel()
		if string(data) != "b" {
			t.Errorf("resumed with %q", data)
		}
		return s.Append([]byte("d")) // fn may append
	})
	if n != 1 || !errors.Is(err, context.Canceled) {
		t.Errorf("drained %d, %v", n, err)
	}
	if n, err := s.Drain(ctx, nil); n != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("drained %d, %v", n, err)
	}
	if got := mustDrain(t, s); !slices.Equal(got, []string{"c", "d"}) {
		t.Errorf("drained %q", got)
	}
}

func TestFull(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "spool"))
	s.Limit = 100 // a header of 12 and four entries of 12+10
	entry := "0123456789"
	mustAppend(t, s, entry+"", entry, entry, entry)
	if err := s.Append([]byte(entry)); !errors.Is(err, spool.ErrFull) {
		t.Errorf("the fifth: %v", err)
	}
	if err := s.Append(make([]byte, 65<<20)); !errors.Is(err, spool.ErrFull) {
		t.Errorf("a giant: %v", err)
	}
	// Room that a drain has given back is used, also when the spool is not empty.
	for range 10 {
		stop := errors.New("stop")
		seen := 0
		_, err := s.Drain(t.Context(), func([]byte) error {
			if seen++; seen == 3 {
				return stop
			}
			return nil
		})
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		mustAppend(t, s, entry, entry)
		if err := s.Append([]byte(entry)); !errors.Is(err, spool.ErrFull) {
			t.Errorf("the fifth: %v", err)
		}
	}
	if got := mustDrain(t, s); len(got) != 4 {
		t.Errorf("drained %q", got)
	}
}

// Wherever a crash cuts the file, all entries before are there, the torn one is
// reported, and new ones follow.
func TestTorn(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "spool")
	s := mustOpen(t, path)
	mustAppend(t, s, "first", "second", "third")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	ends := []int{12, 12 + 12 + 5, 12 + 24 + 11, 12 + 36 + 16}
	for cut := range len(whole) + 1 {
		torn := filepath.Join(dir, fmt.Sprint("cut", cut))
		if err := os.WriteFile(torn, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, torn)
		kept := 0
		for kept < 3 && ends[kept+1] <= cut {
			kept++
		}
		if s.Len() != kept {
			t.Errorf("cut at %d: %d entries, want %d", cut, s.Len(), kept)
		}
		torn0 := cut > 12 && !slices.Contains(ends, cut)
		if d := s.Damage(); (d.Places == 1) != torn0 || torn0 && d.Bytes != int64(cut-ends[kept]) {
			t.Errorf("cut at %d: damage %+v", cut, d)
		}
		mustAppend(t, s, "after")
		if got := mustDrain(t, s); !slices.Equal(got, append([]string{"first", "second", "third"}[:kept], "after")) {
			t.Errorf("cut at %d: drained %q", cut, got)
		}
	}
}

// A spoilt byte costs one entry at most.
func TestSpoilt(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "spool")
	s := mustOpen(t, path)
	all := []string{"first", "second", "third", "fourth"}
	mustAppend(t, s, all...)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		spoilt := bytes.Clone(whole)
		spoilt[i] ^= 0x40
		file := filepath.Join(dir, fmt.Sprint("byte", i))
		if err := os.WriteFile(file, spoilt, 0o600); err != nil {
			t.Fatal(err)
		}
		got := mustDrain(t, mustOpen(t, file))
		lost := 0
		for _, e := range all {
			if !slices.Contains(got, e) {
				lost++
			}
		}
		if len(got)+lost != len(all) || lost > 1 || i < 12 && lost > 0 {
			t.Errorf("byte %d spoilt: drained %q", i, got)
		}
	}
}

// A wrong place of the oldest entry hides nothing, now or later.
func TestWrongPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	s := mustOpen(t, path)
	mustAppend(t, s, "a", "b", "c")
	stop := errors.New("stop")
	seen := 0
	if _, err := s.Drain(t.Context(), func([]byte) error {
		if seen++; seen == 3 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	// The disk got the shorter file, and not the place that goes with it.
	if err := os.Truncate(path, 12); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, path)
	mustAppend(t, s, "d", "e", "f", "g")
	s = mustOpen(t, path)
	if got := mustDrain(t, s); !slices.Equal(got, []string{"d", "e", "f", "g"}) {
		t.Errorf("drained %q", got)
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := spool.Open(filepath.Join(t.TempDir(), "none", "spool")); err == nil {
		t.Error("a spool in no folder")
	}
	if _, err := spool.Open(t.TempDir()); err == nil {
		t.Error("a folder as a spool")
	}
}

func TestConcurrent(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "spool"))
	const writers, each = 4, 25
	var mu sync.Mutex
	got := map[string]int{}
	drain := func() {
		if _, err := s.Drain(t.Context(), func(data []byte) error {
			mu.Lock()
			defer mu.Unlock()
			got[string(data)]++
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := s.Append(fmt.Append(nil, w, "/", i)); err != nil {
					t.Error(err)
				}
				if i%5 == 0 {
					drain()
				}
			}
		})
	}
	wg.Wait()
	drain()
	if len(got) != writers*each {
		t.Errorf("%d entries, want %d", len(got), writers*each)
	}
	for e, n := range got {
		if n != 1 {
			t.Errorf("%s drained %d times", e, n)
		}
	}
}

// Against a slice: appends, drains that fail somewhere, reopening, a full spool.
func TestModel(t *testing.T) {
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(r *rapid.T) {
		run++
		path := filepath.Join(dir, fmt.Sprint(run))
		open := func() *spool.Spool {
			s, err := spool.Open(path)
			if err != nil {
				r.Fatal(err)
			}
			s.Limit = 300
			return s
		}
		s := open()
		defer func() { _ = s.Close() }()
		var model []string
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				data := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(r, "data")
				size := 12
				for _, e := range model {
					size += 12 + len(e)
				}
				err := s.Append(data)
				if full := size+12+len(data) > 300; errors.Is(err, spool.ErrFull) != full || !full && err != nil {
					r.Fatalf("%d bytes beside %d: %v", len(data), size, err)
				}
				if err == nil {
					model = append(model, string(data))
				}
			},
			"drain": func(r *rapid.T) {
				limit := rapid.IntRange(0, 5).Draw(r, "limit")
				want := min(limit, len(model))
				var got []string
				stop := errors.New("stop")
				n, err := s.Drain(t.Context(), func(data []byte) error {
					if len(got) == limit {
						return stop
					}
					got = append(got, string(data))
					return nil
				})
				if n != want || !slices.Equal(got, model[:want]) || errors.Is(err, stop) != (want < len(model)) {
					r.Fatalf("drained %d %q, %v of %q", n, got, err, model)
				}
				model = model[want:]
			},
			"reopen": func(r *rapid.T) {
				if err := s.Close(); err != nil {
					r.Fatal(err)
				}
				s = open()
			},
			"": func(r *rapid.T) {
				if s.Len() != len(model) {
					r.Fatalf("Len %d, want %d", s.Len(), len(model))
				}
			},
		})
	})
}

// A file of any content opens, is read without a panic, and goes on to work.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	s := mustOpen(f, path)
	mustAppend(f, s, "first", "second")
	seed, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	f.Add(seed[:len(seed)-3])
	f.Add(append(seed[:20:20], seed...))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "spool")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, path)
		n := s.Len()
		mustAppend(t, s, "new")
		got := mustDrain(t, s)
		if len(got) != n+1 || got[n] != "new" {
			t.Fatalf("%d entries, then %q", n, got)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "spool"))
	s.Limit = 1 << 40
	data := bytes.Repeat([]byte("x"), 10_000)
	for b.Loop() {
		if err := s.Append(data); err != nil {
			b.Fatal(err)
		}
	}
}
