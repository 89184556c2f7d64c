package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/cache"
)

func id(t *testing.T, files fstest.MapFS, queue string, c config.Cache) string {
	t.Helper()
	got, err := cache.ID(files, queue, c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// What selects a cache: the queue, its paths, and the names and the content of its key's
// files; nothing else.
func TestID(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	files := fstest.MapFS{"lock": file("1"), "sub/lock": file("2"), "other": file("x"), "link": {Mode: os.ModeSymlink, Data: []byte("lock")}}
	c := config.Cache{Paths: []string{"a", "b"}, Key: []string{"**/lock"}}
	base := id(t, files, "q", c)
	same := map[string]string{"order": id(t, files, "q", config.Cache{Paths: []string{"b", "a"}, Key: []string{"sub/*", "lock", "link", "missing/**"}})}
	files["other"], files["new"] = file("y"), file("z")
	same["files that are not of the key"] = id(t, files, "q", c)
	for what, got := range same {
		if got != base {
			t.Errorf("%s: another cache", what)
		}
	}
	seen := map[string]string{base: "the first"}
	differs := func(what, got string) {
		if before, twice := seen[got]; twice {
			t.Errorf("%s: the cache of %s", what, before)
		}
		seen[got] = what
	}
	differs("queue", id(t, files, "r", c))
	differs("paths", id(t, files, "q", config.Cache{Paths: []string{"a"}, Key: c.Key}))
	differs("no key", id(t, files, "q", config.Cache{Paths: c.Paths}))
	differs("a key without files", id(t, files, "q", config.Cache{Paths: c.Paths, Key: []string{"missing"}}))
	files["sub/lock"] = file("3")
	differs("content", id(t, files, "q", c))
	delete(files, "sub/lock")
	files["dir/lock"] = file("3")
	differs("name", id(t, files, "q", c))
	for i := range 10_001 {
		files[fmt.Sprintf("many/%d", i)] = file("")
	}
	if _, err := cache.ID(files, "q", config.Cache{Key: []string{"many/*"}}); err == nil || !strings.Contains(err.Error(), "more than 10000 files") {
		t.Errorf("a key of 10001 files: %v", err)
	}
}

func open(t interface{ Fatal(...any) }, slot string, o cache.Options) *cache.Kept {
	k, err := cache.Open(slot, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// A kept folder comes back as it was; whatever builds do, of any queue, what is kept stays
// within its bound, and is what was put away last, or nothing.
func TestKeptProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slot, err := os.MkdirTemp("", "slot")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(slot)
		const limit = 64 << 10
		o := cache.Options{Bytes: limit}
		k := open(t, slot, o)
		defer func() { _ = k.Close() }()
		checkout := filepath.Join(slot, "checkout")
		model := map[string]string{} // what was kept last, by cache
		ids := []string{"a", "b", "c"}
		for range rapid.IntRange(1, 12).Draw(t, "builds") {
			if rapid.IntRange(0, 5).Draw(t, "restart") == 0 {
				_ = k.Close()
				k = open(t, slot, o)
			}
			if err := errors.Join(os.RemoveAll(checkout), os.Mkdir(checkout, 0o755)); err != nil {
				t.Fatal(err)
			}
			id := rapid.SampledFrom(ids).Draw(t, "cache")
			held, err := k.Restore("checkout", id, []string{"d/n"})
			if err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join(checkout, "d", "n", "x"))
			if held.Found != (err == nil) || held.Found && string(text) != model[id] {
				t.Fatalf("cache %s: found %v with %d bytes, %v", id, held.Found, len(text), err)
			}
			delete(model, id)
			if rapid.Bool().Draw(t, "torn") {
				continue
			}
			want := strings.Repeat(rapid.StringMatching("[a-z]{8}").Draw(t, "text"), rapid.IntRange(0, 10_000).Draw(t, "size"))
			if err := errors.Join(os.MkdirAll(filepath.Join(checkout, "d", "n"), 0o755), os.WriteFile(filepath.Join(checkout, "d", "n", "x"), []byte(want), 0o644)); err != nil {
				t.Fatal(err)
			}
			bytes, err := k.Keep("checkout", id, held.Free)
			var large *cache.TooLarge
			switch {
			case errors.As(err, &large):
				if len(want) < limit-3*4096 {
					t.Fatalf("%d bytes are too large", len(want))
				}
			case err != nil || bytes < int64(len(want)):
				t.Fatalf("%d bytes take %d: %v", len(want), bytes, err)
			default:
				model[id] = want
			}
			if k.Total() > limit {
				t.Fatalf("%d bytes are kept", k.Total())
			}
			left, err := os.ReadDir(filepath.Join(slot, cache.Dir))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range left { // gone for want of room, but never another content
				if !slices.Contains(slices.Collect(maps.Keys(model)), d.Name()) {
					t.Fatalf("%s is left", d.Name())
				}
			}
		}
	})
}

// What a killed process has left half done is gone, and what belongs to somebody else.
func TestOpenTidies(t *testing.T) {
	slot := t.TempDir()
	put := func(name, about string) {
		dir := filepath.Join(slot, cache.Dir, name)
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "about"), []byte(about), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put("good", `{"bytes": 5000, "owner": 7}`)
	put("other", `{"bytes": 5000, "owner": 8}`)
	put("torn", `{"bytes": 50`)
	if err := os.MkdirAll(filepath.Join(slot, cache.Dir, "new-3", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := open(t, slot, cache.Options{Bytes: 1 << 20, Owner: 7})
	left, err := os.ReadDir(filepath.Join(slot, cache.Dir))
	if err != nil || len(left) != 1 || left[0].Name() != "good" || k.Total() != 5000 {
		t.Errorf("%v, %v, %d bytes", left, err, k.Total())
	}
	if err := k.Empty(); err != nil || k.Total() != 0 {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(filepath.Join(slot, cache.Dir)), os.Symlink(t.TempDir(), filepath.Join(slot, cache.Dir))); err != nil {
		t.Fatal(err)
	}
	if _, err := cache.Open(slot, cache.Options{Bytes: 1 << 20}); err == nil {
		t.Error("a link in the place of the folder")
	}
}

func TestSize(t *testing.T) {
	for bytes, want := range map[int64]string{0: "0 KiB", 1: "1 KiB", 4096: "4 KiB", 214 << 20: "214 MiB", 3 << 30: "3072 MiB", 12 << 30: "12 GiB"} {
		if got := cache.Size(bytes); got != want {
			t.Errorf("%d: %s", bytes, got)
		}
	}
}
