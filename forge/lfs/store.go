package lfs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Bounds on the contents of one Fetch.
const (
	MaxContents = 50_000
	MaxBytes    = 64 << 30
)

// Bounds of unused content in a store.
const (
	keptFor   = 30 * 24 * time.Hour
	sweptEach = 24 * time.Hour
)

// A Source has contents.
type Source interface {
	// fetch puts wanted contents, in any order, as far as the source has them. An error
	// is about all contents that were not put.
	fetch(ctx context.Context, want []Pointer, put func(Pointer, io.Reader) error) error
}

// A MissingError is about one content. Words come from its source, and may be hostile.
type MissingError struct {
	Pointer Pointer
	Words   string
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("%.12s… of %d bytes: %s", e.Pointer.OID, e.Pointer.Size, e.Words)
}

// Store keeps contents in a folder. Several goroutines may use it; those that fetch wait
// for one another, since a content that one has fetched need not be fetched again.
type Store struct {
	dir  string
	turn chan struct{} // held by the goroutine that fetches; it guards last
	last time.Time     // when the store was swept
}

// NewStore returns the store in a folder, which is made when it is needed.
func NewStore(dir string) *Store {
	return &Store{dir: dir, turn: make(chan struct{}, 1)}
}

func (s *Store) path(p Pointer) string { return filepath.Join(s.dir, p.OID[:2], p.OID) }

// Fetch brings those wanted contents into the store that it does not have. Errors:
// *MissingError where the source says that it does not have a content.
func (s *Store) Fetch(ctx context.Context, from Source, want []Pointer) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	left := s.lacks(want)
	if len(left) == 0 {
		return nil
	}
	var bytes int64
	for _, p := range left {
		bytes += min(p.Size, MaxBytes+1)
		if len(left) > MaxContents || bytes > MaxBytes || bytes < 0 {
			return fmt.Errorf("%d files are to be fetched; at most %d, and %d GiB, are", len(left), MaxContents, MaxBytes>>30)
		}
	}
	s.sweep()
	if err := from.fetch(ctx, left, s.put); err != nil {
		return err
	}
	if left = s.lacks(left); len(left) > 0 {
		return &MissingError{Pointer: left[0], Words: "the server did not send it"}
	}
	return nil
}

// lacks returns the contents that the store does not have, each once, and marks the
// others as used.
func (s *Store) lacks(want []Pointer) []Pointer {
	var left []Pointer
	seen := map[Pointer]bool{}
	now := time.Now()
	for _, p := range want {
		if seen[p] || p.Size == 0 {
			continue
		}
		seen[p] = true
		info, err := os.Stat(s.path(p))
		if err != nil || info.Size() != p.Size {
			left = append(left, p)
			continue
		}
		_ = os.Chtimes(s.path(p), time.Time{}, now) // if this fails, the content is fetched once more some day
	}
	return left
}

// put takes a content that comes from a source.
func (s *Store) put(p Pointer, content io.Reader) (err error) {
	if err := os.MkdirAll(filepath.Dir(s.path(p)), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, "coming-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := verified(p, content, f); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), s.path(p)); err != nil {
		return err
	}
	return f.Close()
}

// Copy writes a content that the store has. If the content is damaged, Copy returns an
// error and removes it from the store.
func (s *Store) Copy(p Pointer, to io.Writer) error {
	if p.Size == 0 {
		return nil
	}
	f, err := os.Open(s.path(p))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := verified(p, f, to); err != nil {
		if errors.As(err, new(*MissingError)) {
			err = errors.Join(err, os.Remove(f.Name()))
		}
		return err
	}
	return nil
}

// verified copies a content, and returns a *MissingError if it differs from its
// pointer.
func verified(p Pointer, from io.Reader, to io.Writer) error {
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(from, p.Size+1))
	if err != nil {
		return err
	}
	if n > p.Size {
		return &MissingError{Pointer: p, Words: "what is kept under that name has more bytes"}
	}
	if n < p.Size {
		return &MissingError{Pointer: p, Words: fmt.Sprintf("what is kept under that name has %d bytes", n)}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != p.OID {
		return &MissingError{Pointer: p, Words: fmt.Sprintf("what is kept under that name has the SHA-256 %.12s…", got)}
	}
	return nil
}

// sweep removes, once a day, content unused for keptFor and the unfinished files of a
// killed owner. Files that cannot be removed stay.
func (s *Store) sweep() {
	if time.Since(s.last) < sweptEach {
		return
	}
	s.last = time.Now()
	_ = filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > keptFor || filepath.Dir(path) == s.dir {
			_ = os.Remove(path)
		}
		return nil
	})
}
