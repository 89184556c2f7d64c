package mirror_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
)

// A git process that was killed while it wrote a document leaves the lock of its ref. The
// document has not changed then: a caller that reads it again and tries again, as it does
// after ErrChanged, would do so for ever.
func TestLockOfADocument(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	s := must(mirror.OpenStore(t.Context(), r.dir))(t)
	defer s.Close()
	const ref = "refs/submitqueue/requests/1"
	version := must(s.Put(t.Context(), ref, []byte("one\n"), ""))(t)
	if _, err := s.Put(t.Context(), ref, []byte("two\n"), ""); !errors.Is(err, mirror.ErrChanged) {
		t.Errorf("a version that is none any more: %v", err)
	}
	lock := filepath.Join(r.dir, ref+".lock")
	if err := os.WriteFile(lock, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var transient *forge.Transient
	if _, err := s.Put(t.Context(), ref, []byte("two\n"), version); errors.Is(err, mirror.ErrChanged) || !errors.As(err, &transient) {
		t.Errorf("while it is locked: %v", err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), ref, []byte("two\n"), version); err != nil {
		t.Errorf("with a lock that nobody holds: %v", err)
	}
	if data, _, err := s.Get(t.Context(), ref); err != nil || string(data) != "two\n" {
		t.Errorf("%q %v", data, err)
	}
}
