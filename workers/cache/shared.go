package cache

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Store has archives of caches for several runners, by id.
type Store interface {
	// Get returns an archive. Error: fs.ErrNotExist.
	Get(ctx context.Context, id string) (io.ReadCloser, error)
	// Stat returns when an archive was stored. Error: fs.ErrNotExist.
	Stat(ctx context.Context, id string) (time.Time, error)
	// Put stores an archive, in place of an existing one. Readers see all of it or nothing.
	Put(ctx context.Context, id string, archive *os.File) error
}

// Times of a shared store. A build waits for it no longer than fetchTimeout.
const (
	fetchTimeout = 2 * time.Minute
	putTimeout   = 10 * time.Minute
	refreshAfter = 24 * time.Hour // of a cache without a key: its id never changes
)

// Shared has the caches that runners share. It is safe for concurrent use.
type Shared struct {
	store Store
	log   *slog.Logger
	live  context.Context
	stop  context.CancelFunc
	puts  sync.WaitGroup

	mu   sync.Mutex
	busy map[string]bool // ids that are being put
}

// NewShared returns the caches that runners share in a store. Close it; that closes a store
// that is an io.Closer, too.
func NewShared(store Store, log *slog.Logger) *Shared {
	ctx, stop := context.WithCancel(context.Background())
	return &Shared{store: store, log: log, live: ctx, stop: stop, busy: map[string]bool{}}
}

// Fetch copies a cache from the store into a slot, and reports whether the store has it.
func (s *Shared) Fetch(ctx context.Context, k *Kept, id string, paths []string) (found bool, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTimeout, errors.New("it takes too long"))
	defer cancel()
	archive, err := s.store.Get(ctx, id)
	if err == nil {
		err = errors.Join(k.Unpack(id, paths, archive), archive.Close())
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil && ctx.Err() != nil:
		return false, context.Cause(ctx)
	}
	return err == nil, err
}

// Offer stores a cache of a slot, unless the store has it, and does not wait for the upload. A
// cache without a key (unkeyed) is stored again from time to time.
func (s *Shared) Offer(k *Kept, id string, unkeyed bool) error {
	s.mu.Lock()
	busy := s.busy[id] || len(s.busy) >= 2 || s.live.Err() != nil
	if !busy {
		s.busy[id] = true
	}
	s.mu.Unlock()
	if busy {
		return nil
	}
	done := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, id)
	}
	if !s.wants(id, unkeyed) {
		done()
		return nil
	}
	path, err := k.Pack(id)
	if err != nil || path == "" {
		done()
		return err
	}
	s.puts.Go(func() {
		defer done()
		if err := s.put(id, path); err != nil {
			s.log.Warn("put a cache into the shared store", "cache", id, "error", err)
		}
	})
	return nil
}

// wants reports whether a cache is to be stored; not in a store that does not answer.
func (s *Shared) wants(id string, unkeyed bool) bool {
	ctx, cancel := context.WithTimeout(s.live, 10*time.Second)
	defer cancel()
	at, err := s.store.Stat(ctx, id)
	if err == nil {
		return unkeyed && time.Since(at) > refreshAfter
	}
	if !errors.Is(err, fs.ErrNotExist) {
		s.log.Warn("ask the shared store of caches", "cache", id, "error", err)
		return false
	}
	return true
}

func (s *Shared) put(id, path string) (err error) {
	defer func() { err = errors.Join(err, os.Remove(path)) }()
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	ctx, cancel := context.WithTimeout(s.live, putTimeout)
	defer cancel()
	return s.store.Put(ctx, id, f)
}

// Wait waits for all uploads.
func (s *Shared) Wait() { s.puts.Wait() }

// Close ends all uploads.
func (s *Shared) Close() error {
	s.stop()
	s.puts.Wait()
	if c, ok := s.store.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
