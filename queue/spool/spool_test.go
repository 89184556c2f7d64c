package spool_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// mustFiles returns the paths of a spool's files, oldest entry first.
func mustFiles(t testing.TB, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
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
	if err != nil || info.Mode().Perm() != 0o700 || len(mustFiles(t, path)) > 0 {
		t.Errorf("an empty spool: %v, %v, %q", info, err, mustFiles(t, path))
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
	s.Limit = 45 // four entries of 10
	entry := "0123456789"
	mustAppend(t, s, entry, entry, entry, entry)
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

// Wherever a crash cuts the file of the last entry, all entries before are there,
// the torn one is reported, and new ones follow.
func TestTorn(t *testing.T) {
	for cut := range len("third") {
		path := filepath.Join(t.TempDir(), "spool")
		mustAppend(t, mustOpen(t, path), "first", "second", "third")
		if err := os.Truncate(mustFiles(t, path)[2], int64(cut)); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, path)
		if d := s.Damage(); s.Len() != 2 || d != (spool.Damage{Places: 1, Bytes: int64(cut)}) {
			t.Errorf("cut at %d: %d entries, damage %+v", cut, s.Len(), d)
		}
		mustAppend(t, s, "after")
		if got := mustDrain(t, s); !slices.Equal(got, []string{"first", "second", "after"}) {
			t.Errorf("cut at %d: drained %q", cut, got)
		}
	}
}

// A spoilt byte costs the entry that it is in, whether it was spoilt before the
// spool was opened or after.
func TestSpoilt(t *testing.T) {
	all := []string{"first", "second", "third", "fourth"}
	for which, whole := range all {
		for i := range whole {
			for _, opened := range []bool{false, true} {
				path := filepath.Join(t.TempDir(), "spool")
				s := mustOpen(t, path)
				mustAppend(t, s, all...)
				spoilt := []byte(whole)
				spoilt[i] ^= 0x40
				if err := os.WriteFile(mustFiles(t, path)[which], spoilt, 0o600); err != nil {
					t.Fatal(err)
				}
				if !opened {
					s = mustOpen(t, path)
				}
				got := mustDrain(t, s)
				if want := slices.Concat(all[:which], all[which+1:]); !slices.Equal(got, want) {
					t.Errorf("byte %d of %q spoilt: drained %q", i, whole, got)
				}
				if d := s.Damage(); d != (spool.Damage{Places: 1, Bytes: int64(len(whole))}) {
					t.Errorf("byte %d of %q spoilt: damage %+v", i, whole, d)
				}
				if left := mustFiles(t, path); len(left) > 0 {
					t.Errorf("byte %d of %q spoilt: left %q", i, whole, left)
				}
			}
		}
	}
}

// Entries keep their order past a crash, whatever numbers are free by then.
func TestOrderOverReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	mustAppend(t, mustOpen(t, path), "a", "b", "c")
	stop := errors.New("stop")
	seen := 0
	if _, err := mustOpen(t, path).Drain(t.Context(), func([]byte) error {
		if seen++; seen == 3 {
			return stop
		}
		return nil
	}); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	mustAppend(t, mustOpen(t, path), "d", "e", "f", "g")
	if got := mustDrain(t, mustOpen(t, path)); !slices.Equal(got, []string{"c", "d", "e", "f", "g"}) {
		t.Errorf("drained %q", got)
	}
}

func TestOpenFails(t *testing.T) {
	if _, err := spool.Open(filepath.Join(t.TempDir(), "none", "spool")); err == nil {
		t.Error("a spool in no folder")
	}
}

// A spool used to be a file: an empty one makes room, and one with entries is
// kept and said.
func TestEarlierVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	if err := os.WriteFile(path, make([]byte, 12), 0o600); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, mustOpen(t, path), "new")
	path = filepath.Join(t.TempDir(), "spool")
	if err := os.WriteFile(path, make([]byte, 13), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := spool.Open(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a file with entries: %v", err)
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 13 {
		t.Errorf("a file with entries is now %v, %v", info, err)
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
			s.Limit = 150
			return s
		}
		s := open()
		defer func() { _ = s.Close() }()
		var model []string
		r.Repeat(map[string]func(*rapid.T){
			"append": func(r *rapid.T) {
				data := rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(r, "data")
				size := 0
				for _, e := range model {
					size += len(e)
				}
				err := s.Append(data)
				if full := size+len(data) > 150; errors.Is(err, spool.ErrFull) != full || !full && err != nil {
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

// Whatever is in the folder, it opens, reads without a panic, and goes on to work.
func FuzzOpen(f *testing.F) {
	path := filepath.Join(f.TempDir(), "seed")
	mustAppend(f, mustOpen(f, path), "first")
	seed := filepath.Base(mustFiles(f, path)[0])
	f.Add(seed, []byte("first"))
	f.Add(seed, []byte("firs"))
	f.Add("00000000000000000009-00000000", []byte{})
	f.Add("18446744073709551615-00000000", []byte{})
	f.Add("1-0", []byte{})
	f.Add("lost+found", []byte("x"))
	f.Fuzz(func(t *testing.T, name string, content []byte) {
		path := filepath.Join(t.TempDir(), "spool")
		mustAppend(t, mustOpen(t, path), "old")
		if name == "." || os.WriteFile(filepath.Join(path, filepath.Base(name)), content, 0o600) != nil {
			t.Skip("not a name of a file")
		}
		s := mustOpen(t, path)
		n := s.Len()
		mustAppend(t, s, "new")
		got := mustDrain(t, mustOpen(t, path))
		if len(got) != n+1 || !slices.Contains(got, "new") {
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
