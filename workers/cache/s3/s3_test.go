package s3_test

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/workers/cache/s3"
)

// bucket is a store of S3 with one bucket, bucket.
type bucket struct {
	mu      sync.Mutex
	objects map[string]string
	broken  bool
	t       *testing.T
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if auth := r.Header.Get("Authorization"); !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=AKID/") || !strings.Contains(auth, "/eu-1/s3/aws4_request") || !strings.Contains(auth, "Signature=") {
		b.t.Errorf("%s %s is not signed: %q", r.Method, r.URL, auth)
	}
	fail := func(status int, code string) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		if r.Method != http.MethodHead {
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
		}
	}
	name, ok := strings.CutPrefix(r.URL.Path, "/bucket/")
	text, found := b.objects[name]
	switch {
	case b.broken:
		fail(http.StatusForbidden, "AccessDenied")
	case !ok:
		fail(http.StatusNotFound, "NoSuchBucket")
	case r.Method == http.MethodPut:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			b.t.Error(err)
		}
		b.objects[name] = string(body)
		w.Header().Set("ETag", `"x"`)
	case !found:
		fail(http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Unix(1_700_000_000, 0), strings.NewReader(text))
	}
}

func TestStore(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-key-of-the-test")
	b := &bucket{objects: map[string]string{}, t: t}
	server := httptest.NewServer(b)
	defer server.Close()
	s, err := s3.Open("s3://bucket/some/prefix/?endpoint=" + server.URL + "&region=eu-1")
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if _, err := s.Get(ctx, "id"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	if _, err := s.Stat(ctx, "id"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of nothing: %v", err)
	}
	path := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(path, []byte("archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := s.Put(ctx, "id", f); err != nil {
		t.Fatal(err)
	}
	if text := b.objects["some/prefix/id.tar.zst"]; !strings.Contains(text, "archive") {
		t.Errorf("%q", b.objects)
	}
	b.objects["some/prefix/id.tar.zst"] = "archive" // without the signatures of its chunks
	r, err := s.Get(ctx, "id")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); err != nil || string(text) != "archive" || r.Close() != nil {
		t.Errorf("%q, %v", text, err)
	}
	if at, err := s.Stat(ctx, "id"); err != nil || at.Unix() != 1_700_000_000 {
		t.Errorf("%s, %v", at, err)
	}
	b.broken = true
	if _, err := s.Get(ctx, "id"); err == nil || errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "secret-key") {
		t.Errorf("refused: %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	for address, want := range map[string]string{
		"https://b/p": "write s3://", "s3:///p": "write s3://", "s3://key:secret@b/p": "write s3://", "b": "write s3://",
		"s3://b?regoin=x": "regoin", "s3://b?endpoint=ftp://x": "ftp://",
	} {
		if _, err := s3.Open(address); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
