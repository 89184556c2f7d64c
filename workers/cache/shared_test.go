package cache_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/submitqueue/submitqueue/workers/cache"
)

func quiet() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// slotWith returns a slot whose checkout has what a step has made, and what it keeps.
func slotWith(t *testing.T, files map[string]string) (string, *cache.Kept) {
	t.Helper()
	slot := t.TempDir()
	for name, text := range files {
		path := filepath.Join(slot, "checkout", name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o640)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(slot, "checkout"), 0o755); err != nil {
		t.Fatal(err)
	}
	k := open(t, slot, cache.Options{Bytes: 1 << 20})
	t.Cleanup(func() { _ = k.Close() })
	return slot, k
}

var ctx = context.Background()

// What one runner shares another one has, with rights, times and links; it is put there once.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	store, err := cache.OpenFolder(dir, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	s := cache.NewShared(store, quiet())
	defer s.Close()
	paths := []string{"d/n", "one"}
	slot, k := slotWith(t, map[string]string{"d/n/a": "x", "d/n/sub/b": "y", "one": "z"})
	n := filepath.Join(slot, "checkout", "d", "n")
	old := time.Unix(1_600_000_000, 0)
	if err := errors.Join(os.Symlink("../../../../etc/passwd", filepath.Join(n, "out")), os.Symlink("a", filepath.Join(n, "in")), os.Chmod(filepath.Join(n, "a"), 0o4755),
		os.Chtimes(filepath.Join(n, "a"), old, old), os.Chmod(filepath.Join(n, "sub"), 0o555)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Keep("checkout", "id", paths); err != nil {
		t.Fatal(err)
	}
	_, other := slotWith(t, nil)
	if found, err := s.Fetch(ctx, other, "id", paths); found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	if err := s.Offer(k, "id", false); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	first, err := os.Stat(filepath.Join(dir, "id.tar.zst"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Offer(k, "id", true); err != nil {
		t.Fatal(err)
	}
	s.Wait()
	if again, err := os.Stat(filepath.Join(dir, "id.tar.zst")); err != nil || !os.SameFile(first, again) {
		t.Errorf("it was put there twice: %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(slot, cache.Dir, "new-*")); err != nil || len(left) > 0 {
		t.Errorf("%v", left)
	}

	to, other := slotWith(t, nil)
	if found, err := s.Fetch(ctx, other, "id", paths); !found || err != nil {
		t.Fatalf("found %v, %v", found, err)
	}
	if held, err := other.Restore("checkout", "id", paths); err != nil || !held.Found {
		t.Fatalf("%+v, %v", held, err)
	}
	got := filepath.Join(to, "checkout", "d", "n")
	info, err := os.Stat(filepath.Join(got, "a"))
	if err != nil || info.Mode() != 0o755 || !info.ModTime().Equal(old) {
		t.Errorf("%v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(got, "sub")); err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("%v, %v", info, err)
	}
	if link, err := os.Readlink(filepath.Join(got, "out")); err != nil || link != "../../../../etc/passwd" {
		t.Errorf("%s, %v", link, err)
	}
	if text, err := os.ReadFile(filepath.Join(to, "checkout", "one")); err != nil || string(text) != "z" {
		t.Errorf("%s, %v", text, err)
	}
	_ = os.Chmod(filepath.Join(got, "sub"), 0o755) // so that it can be removed
}

// archive makes an archive of entries.
func archive(t testing.TB, heads ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, h := range heads {
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		text := h.Size
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.CopyN(w, zeros{}, text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// topOf returns what the archive of a cache with one path calls it.
func topOf(t testing.TB, path string) string {
	t.Helper()
	slot := t.TempDir()
	if err := os.MkdirAll(filepath.Join(slot, "checkout", path), 0o755); err != nil {
		t.Fatal(err)
	}
	k := open(t, slot, cache.Options{Bytes: 1 << 20})
	defer func() { _ = k.Close() }()
	if _, err := k.Keep("checkout", "id", []string{path}); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(slot, cache.Dir, "id", "p*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return filepath.Base(found[0])
}

// Archives come from elsewhere: whatever they hold, nothing is written outside of the cache,
// no more than it may take, and after an error nothing is kept.
func TestHostileArchives(t *testing.T) {
	p := topOf(t, "n")
	dir := func(name string) tar.Header { return tar.Header{Typeflag: tar.TypeDir, Name: name} }
	link := func(name, to string) tar.Header {
		return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}
	}
	file := func(name string, size int64) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size}
	}
	good := archive(t, dir(p), file(p+"/x", 10))
	out := t.TempDir()
	for what, a := range map[string][]byte{
		"nothing":               nil,
		"no zstd":               []byte("hello"),
		"no tar":                compressed(t, strings.Repeat("hello", 1000)),
		"empty":                 archive(t),
		"cut":                   good[:len(good)-20],
		"another path":          archive(t, dir("other")),
		"about":                 archive(t, dir(p), file("about", 10)),
		"above":                 archive(t, dir(p), file(p+"/../../x", 10)),
		"absolute":              archive(t, dir(p), file(out+"/x", 10)),
		"not clean":             archive(t, dir(p), file(p+"//x", 10)),
		"a link to elsewhere":   archive(t, link(p, out), file(p+"/x", 10)),
		"a link inside":         archive(t, dir(p), link(p+"/l", out), file(p+"/l/x", 10)),
		"a file twice":          archive(t, dir(p), file(p+"/x", 1), file(p+"/x", 1)),
		"a link, then its file": archive(t, dir(p), link(p+"/x", out+"/new"), file(p+"/x", 1)),
		"a folder, then a link": archive(t, dir(p), dir(p+"/d"), link(p+"/d", out)),
		"a hard link":           archive(t, dir(p), tar.Header{Typeflag: tar.TypeLink, Name: p + "/x", Linkname: "/etc/passwd"}),
		"a device":              archive(t, dir(p), tar.Header{Typeflag: tar.TypeChar, Name: p + "/x", Devmajor: 1}),
		"a pipe":                archive(t, dir(p), tar.Header{Typeflag: tar.TypeFifo, Name: p + "/x"}),
		"too much":              archive(t, dir(p), file(p+"/x", 64<<20)),
		"too many":              many(t, p),
	} {
		slot, k := slotWith(t, nil)
		if err := k.Unpack("id", []string{"n"}, bytes.NewReader(a)); err == nil {
			t.Errorf("%s was unpacked", what)
		}
		if left, err := os.ReadDir(filepath.Join(slot, cache.Dir)); err != nil || len(left) > 0 || k.Has("id") {
			t.Errorf("%s: %v is left, %v", what, left, err)
		}
	}
	if left, err := os.ReadDir(out); err != nil || len(left) > 0 {
		t.Errorf("%v was written", left)
	}
	_, k := slotWith(t, nil)
	if err := k.Unpack("id", []string{"n"}, bytes.NewReader(good)); err != nil || !k.Has("id") {
		t.Errorf("a good one: %v", err)
	}
}

func many(t *testing.T, p string) []byte {
	heads := []tar.Header{{Typeflag: tar.TypeDir, Name: p}}
	for i := range 300 {
		heads = append(heads, tar.Header{Typeflag: tar.TypeReg, Name: p + "/" + strings.Repeat("x", i+1)[:min(i+1, 200)] + string(rune('a'+i%26))})
	}
	return archive(t, heads...)
}

func compressed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err == nil {
		_, err = io.WriteString(z, text)
		err = errors.Join(err, z.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzUnpack holds that no archive panics, nor leaves anything when it is refused.
func FuzzUnpack(f *testing.F) {
	p := topOf(f, "n")
	f.Add(archive(f, tar.Header{Typeflag: tar.TypeDir, Name: p}, tar.Header{Typeflag: tar.TypeReg, Name: p + "/x", Size: 10}))
	f.Fuzz(func(t *testing.T, data []byte) {
		slot, k := slotWith(t, nil)
		if err := k.Unpack("id", []string{"n"}, bytes.NewReader(data)); err == nil {
			return
		}
		if left, err := os.ReadDir(filepath.Join(slot, cache.Dir)); err != nil || len(left) > 0 {
			t.Errorf("%v is left, %v", left, err)
		}
	})
}

// broken is a store that does not work.
type broken struct{}

func (broken) Get(context.Context, string) (io.ReadCloser, error) { return nil, errors.New("refused") }
func (broken) Stat(context.Context, string) (time.Time, error) {
	return time.Time{}, errors.New("refused")
}
func (broken) Put(context.Context, string, *os.File) error { return errors.New("refused") }

func TestBrokenStore(t *testing.T) {
	s := cache.NewShared(broken{}, quiet())
	_, k := slotWith(t, map[string]string{"n/x": "1"})
	if _, err := k.Keep("checkout", "id", []string{"n"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Offer(k, "id", false); err != nil {
		t.Error(err)
	}
	if found, err := s.Fetch(ctx, k, "other", []string{"n"}); found || err == nil {
		t.Errorf("%v, %v", found, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestFolderIsBounded(t *testing.T) {
	dir := t.TempDir()
	f, err := cache.OpenFolder(dir, 25)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	for i, id := range []string{"a", "b", "c"} {
		from, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Put(ctx, id, from), from.Close()); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(1_700_000_000+int64(i), 0)
		if err := os.Chtimes(filepath.Join(dir, id+".tar.zst"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Get(ctx, "a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the oldest is there: %v", err)
	}
	for _, id := range []string{"b", "c"} {
		r, err := f.Get(ctx, id)
		if err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		_ = r.Close()
	}
}
