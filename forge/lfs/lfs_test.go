package lfs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/lfs"
)

const repository = "acme/shop"

// pointerOf is the pointer of a content.
func pointerOf(t *testing.T, content string) lfs.Pointer {
	t.Helper()
	p, ok := lfs.Parse([]byte(forgetest.LFSPointer([]byte(content))))
	if !ok {
		t.Fatalf("%q has no pointer", content)
	}
	return p
}

func serve(t *testing.T) *forgetest.LFS {
	t.Helper()
	hub := forgetest.NewLFS()
	hub.Token = "Basic ours"
	t.Cleanup(func() {
		hub.Close()
		if s := hub.Strangers(); len(s) > 0 {
			t.Errorf("the host of the contents was shown %q", s)
		}
	})
	return hub
}

func ours(hub *forgetest.LFS) lfs.Server {
	return lfs.Server{URL: hub.URL(repository) + "/info/lfs", Header: http.Header{"Authorization": {"Basic ours"}}, Pause: time.Millisecond}
}

func wantCopy(t *testing.T, s *lfs.Store, content string) {
	t.Helper()
	var got bytes.Buffer
	if err := s.Copy(pointerOf(t, content), &got); err != nil || got.String() != content {
		t.Errorf("%.40q (%v), want %.40q", got.String(), err, content)
	}
}

func TestFetch(t *testing.T) {
	hub := serve(t)
	store := lfs.NewStore(filepath.Join(t.TempDir(), "lfs"))
	var want []lfs.Pointer
	for i := range 250 {
		content := fmt.Sprint("content ", i)
		hub.Keep(repository, []byte(content))
		want = append(want, pointerOf(t, content), pointerOf(t, content))
	}
	empty := lfs.Pointer{OID: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"}
	want = append(want, empty) // of which there is nothing to fetch
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if err := store.Fetch(t.Context(), ours(hub), want); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for i := range 250 {
		content := fmt.Sprint("content ", i)
		wantCopy(t, store, content)
		if n := hub.Sent([]byte(content)); n != 1 {
			t.Errorf("%s was sent %d times", content, n)
		}
	}
	if n := hub.Batches(); n != 3 {
		t.Errorf("%d batches, want 3 of at most 100", n)
	}
	if err := store.Copy(empty, nil); err != nil {
		t.Error(err)
	}
}

// Trouble that goes away by itself is waited for; other trouble is reported at
// once.
func TestTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*forgetest.LFS)
		want string // "": it is fetched
		sent int
	}{
		"busy":          {func(l *forgetest.LFS) { l.Busy(3) }, "", 1},
		"busy for long": {func(l *forgetest.LFS) { l.Busy(99) }, "503 Service Unavailable busy", 0},
		"cut off":       {func(l *forgetest.LFS) { l.Cut(2) }, "", 3},
		"cut for ever":  {func(l *forgetest.LFS) { l.Cut(99) }, "unexpected EOF", 4},
		"shorter":       {func(l *forgetest.LFS) { l.Damage(repository, []byte("content"), []byte("con")) }, "has 3 bytes", 1},
		"longer":        {func(l *forgetest.LFS) { l.Damage(repository, []byte("content"), []byte("content and more")) }, "more bytes", 1},
		"another":       {func(l *forgetest.LFS) { l.Damage(repository, []byte("content"), []byte("CONTENT")) }, "has the SHA-256", 1},
	} {
		hub := serve(t)
		hub.Keep(repository, []byte("content"))
		c.do(hub)
		dir := t.TempDir()
		store, p := lfs.NewStore(dir), pointerOf(t, "content")
		err := store.Fetch(t.Context(), ours(hub), []lfs.Pointer{p})
		if n := hub.Sent([]byte("content")); n != c.sent {
			t.Errorf("%s: it was sent %d times, want %d", name, n, c.sent)
		}
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			wantCopy(t, store, "content")
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "Signature") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				t.Errorf("%s: %s is left", name, path)
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

func TestRefusals(t *testing.T) {
	hub := serve(t)
	hub.Keep(repository, []byte("content"))
	store, p := lfs.NewStore(t.TempDir()), pointerOf(t, "content")
	stranger := ours(hub)
	stranger.Header = nil
	if err := store.Fetch(t.Context(), stranger, []lfs.Pointer{p}); !errors.Is(err, lfs.ErrDenied) || !strings.Contains(err.Error(), "Credentials needed") {
		t.Error(err)
	}
	var missing *lfs.MissingError
	gone := pointerOf(t, "never pushed")
	if err := store.Fetch(t.Context(), ours(hub), []lfs.Pointer{p, gone}); !errors.As(err, &missing) || missing.Pointer != gone ||
		!strings.Contains(err.Error(), "Object does not exist on the server (404): push it") {
		t.Error(err)
	}
	huge := lfs.Pointer{OID: p.OID, Size: lfs.MaxBytes + 1}
	if err := store.Fetch(t.Context(), ours(hub), []lfs.Pointer{huge}); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := lfs.NewStore(t.TempDir()).Fetch(ctx, ours(hub), []lfs.Pointer{p}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	hub.Open(repository)
	if err := store.Fetch(t.Context(), stranger, []lfs.Pointer{p}); err != nil {
		t.Error(err)
	}
	wantCopy(t, store, "content")
}

// A server that is not what it says gets no file of ours and none of our credentials.
func TestHostileServer(t *testing.T) {
	p := pointerOf(t, "content")
	for answer, want := range map[string]string{
		`{"objects":[{"oid":"` + p.OID + `","actions":{"download":{"href":"file:///etc/passwd"}}}]}`: "nothing is fetched",
		`{"objects":[{"oid":"` + p.OID + `","actions":{"download":{"href":"//host/x"}}}]}`:           "nothing is fetched",
		`{"objects":[{"oid":"` + p.OID + `"}]}`:                                                      "does not say where",
		`{"objects":[{"oid":"../../etc/passwd"}]}`:                                                   "does not say where",
		`{"objects":[]}`:                  "does not say where",
		`{"transfer":"ssh","objects":[]}`: "only basic",
		`<html>`:                          "cannot be read",
		`{"objects":[{"oid":"` + p.OID + `","error":{"code":500,"message":"` + strings.Repeat("x", 900) + `"}}]}`: "xxx (500)",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(answer))
		}))
		err := lfs.NewStore(t.TempDir()).Fetch(t.Context(), lfs.Server{URL: server.URL, Pause: time.Millisecond}, []lfs.Pointer{p})
		server.Close()
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%.80s: %v, want %q", answer, err, want)
		}
	}
}

// Damaged content of the store is never copied, and is fetched again.
func TestDamagedStore(t *testing.T) {
	hub := serve(t)
	hub.Keep(repository, []byte("content"))
	dir := t.TempDir()
	store, p := lfs.NewStore(dir), pointerOf(t, "content")
	fetch := func() {
		t.Helper()
		if err := store.Fetch(t.Context(), ours(hub), []lfs.Pointer{p}); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	if err := os.WriteFile(filepath.Join(dir, p.OID[:2], p.OID), []byte("CONTENT"), 0o644); err != nil {
		t.Fatal(err)
	}
	var missing *lfs.MissingError
	if err := store.Copy(p, &bytes.Buffer{}); !errors.As(err, &missing) {
		t.Error(err)
	}
	fetch()
	wantCopy(t, store, "content")
	if err := os.Truncate(filepath.Join(dir, p.OID[:2], p.OID), 3); err != nil {
		t.Fatal(err)
	}
	fetch()
	wantCopy(t, store, "content")
}

// Content unused for a month is removed when something is fetched; so are the
// unfinished files of a killed owner.
func TestSweep(t *testing.T) {
	hub := serve(t)
	dir := t.TempDir()
	store := lfs.NewStore(dir)
	keep := func(contents ...string) {
		t.Helper()
		var want []lfs.Pointer
		for _, c := range contents {
			hub.Keep(repository, []byte(c))
			want = append(want, pointerOf(t, c))
		}
		if err := store.Fetch(t.Context(), ours(hub), want); err != nil {
			t.Fatal(err)
		}
	}
	keep("old", "used")
	long := time.Now().Add(-40 * 24 * time.Hour)
	for _, c := range []string{"old", "used"} {
		p := pointerOf(t, c)
		if err := os.Chtimes(filepath.Join(dir, p.OID[:2], p.OID), long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "coming-1"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	store = lfs.NewStore(dir) // a day later, or a restart
	keep("used", "new")
	wantCopy(t, store, "used")
	wantCopy(t, store, "new")
	if err := store.Copy(pointerOf(t, "old"), &bytes.Buffer{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "coming-1")); err == nil {
		t.Error("a half content stays")
	}
}
