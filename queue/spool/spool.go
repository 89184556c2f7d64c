// Package spool keeps deliveries in a local folder while the store is away, so
// that they can be acknowledged: what Append returned nil for is on disk.
//
// An entry is a file of its own: what it holds is the entry, and its name says
// its place in the order and the checksum of what it holds. So a crash tears at
// most the entry that was being appended, spoilt bytes cost the entry that they
// are in, and a drained entry is a file that is removed. At worst an entry is
// drained twice, never lost.
package spool

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"sync"
)

// ErrFull says that an entry would make the spool larger than its limit.
var ErrFull = errors.New("spool: full")

// DefaultLimit is how many bytes a spool holds unless Limit says otherwise.
const DefaultLimit = 256 << 20

// errClosed is why a closed spool takes no entry.
var errClosed = errors.New("spool: closed")

// Damage says what could not be read: an entry that a crash tore, or one that
// the disk has spoilt.
type Damage struct {
	Places int   // entries
	Bytes  int64 // what is left of them
}

// Spool is a queue of byte strings in one folder. It is safe for concurrent use
// in one process; two processes must not share a folder.
type Spool struct {
	// Limit is how many bytes the entries hold at most. Set it before the first
	// Append.
	Limit int64

	draining chan struct{} // holds a token while somebody drains

	mu      sync.Mutex
	dir     string
	entries []entry // oldest first
	last    uint64  // number that was given last
	size    int64   // of all entries
	damage  Damage
	closed  bool
}

// entry is a file of the spool.
type entry struct {
	number uint64
	sum    uint32
	size   int64
}

const nameFormat = "%020d-%08x"

func (s *Spool) path(e entry) string {
	return filepath.Join(s.dir, fmt.Sprintf(nameFormat, e.number, e.sum))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Open opens the spool in a folder, which it creates if need be. Entries that
// cannot be read are removed and counted as damage; other files stay.
func Open(dir string) (*Spool, error) {
	// Before, a spool was a file, whose beginning has 12 bytes. One with entries is
	// refused by Mkdir: whoever wrote it must drain it first.
	if info, err := os.Stat(dir); err == nil && info.Mode().IsRegular() && info.Size() <= 12 {
		_ = os.Remove(dir) // or Mkdir says why not
	}
	if err := os.Mkdir(dir, 0o700); err == nil {
		if err := syncDir(filepath.Dir(dir)); err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
	} else if info, statErr := os.Stat(dir); statErr != nil || !info.IsDir() {
		return nil, fmt.Errorf("spool: %w", err)
	}
	files, err := os.ReadDir(dir) // in the order of names, which is that of numbers
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s := &Spool{Limit: DefaultLimit, draining: make(chan struct{}, 1), dir: dir}
	for _, file := range files {
		var e entry
		if _, err := fmt.Sscanf(file.Name(), nameFormat, &e.number, &e.sum); err != nil || filepath.Base(s.path(e)) != file.Name() {
			continue
		}
		info, err := file.Info()
		if err != nil {
			return nil, fmt.Errorf("spool: %w", err)
		}
		e.size, s.last = info.Size(), e.number
		if _, ok, err := s.read(e); err != nil {
			return nil, err
		} else if ok {
			s.entries, s.size = append(s.entries, e), s.size+e.size
		}
	}
	return s, nil
}

// read returns what an entry holds. One that is spoilt is counted and removed.
func (s *Spool) read(e entry) (data []byte, ok bool, err error) {
	data, err = os.ReadFile(s.path(e))
	if err == nil && crc32.Checksum(data, castagnoli) != e.sum {
		s.damage.Places++
		s.damage.Bytes += int64(len(data))
		return nil, false, s.remove(e)
	}
	if err != nil {
		return nil, false, fmt.Errorf("spool: %w", err)
	}
	return data, true, nil
}

// remove removes an entry's file. After a crash it may be back, and so the entry
// is.
func (s *Spool) remove(e entry) error {
	if err := os.Remove(s.path(e)); err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	return nil
}

// Append adds an entry and returns once it is on disk. On an error it is not
// added; it may have been added nevertheless when the process dies before the
// next Open.
func (s *Spool) Append(data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosed
	}
	e := entry{number: s.last + 1, sum: crc32.Checksum(data, castagnoli), size: int64(len(data))}
	if s.size+e.size > s.Limit {
		return ErrFull
	}
	f, err := os.OpenFile(s.path(e), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("spool: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = syncDir(s.dir) // the file's name is durable with its folder
	}
	s.last++ // what cannot be removed is in the way of nothing
	if err != nil {
		return errors.Join(fmt.Errorf("spool: %w", err), os.Remove(f.Name()))
	}
	s.entries, s.size = append(s.entries, e), s.size+e.size
	return nil
}

// Drain hands the entries to fn, oldest first, until there is none, and returns
// how many it dropped. An entry is dropped when fn has returned nil for it; on an
// error of fn, or when ctx ends, Drain stops and returns that, and the next Drain
// begins with the same entry. So an entry that can never be handled must be
// given up by fn. One that is spoilt since Open is not handed out. fn may Append,
// and must not keep data or Drain. One Drain runs at a time; others wait.
func (s *Spool) Drain(ctx context.Context, fn func(data []byte) error) (n int, err error) {
	select {
	case s.draining <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-s.draining }()
	for {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		data, ok, err := s.oldest()
		if err != nil || !ok {
			return n, err
		}
		if err := fn(data); err != nil {
			return n, err
		}
		if err := s.drop(); err != nil {
			return n, err
		}
		n++
	}
}

// oldest returns the oldest entry that can be read, if there is one.
func (s *Spool) oldest() (data []byte, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.entries) > 0 {
		if data, ok, err = s.read(s.entries[0]); ok || err != nil {
			return data, ok, err
		}
		s.shift()
	}
	return nil, false, nil
}

// drop takes the oldest entry off.
func (s *Spool) drop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.remove(s.entries[0]); err != nil {
		return err
	}
	s.shift()
	return nil
}

func (s *Spool) shift() {
	s.size -= s.entries[0].size
	s.entries = s.entries[1:]
}

// Len returns how many entries wait.
func (s *Spool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.entries)
}

// Damage returns what could not be read so far.
func (s *Spool) Damage() Damage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damage
}

// Close ends the spool; the entries stay in its folder.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// syncDir makes the names in a folder durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
