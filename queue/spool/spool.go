// Package spool keeps deliveries in a local file while the store is away, so that they can be
// acknowledged: once Append has returned nil, the delivery is on disk.
//
// The file begins with the place of its oldest entry, followed by the entries;
// each is a record of four parts: a mark, the length, a checksum over length and
// data, and the data. New entries are added at the end, and a drained one is
// dropped by moving the place. The reader finds the whole records in the file that
// a crash has left (record.go); at worst an entry is drained twice, never lost.
package spool

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// ErrFull says that an entry would make the spool larger than its limit.
var ErrFull = errors.New("spool: full")

// DefaultLimit is how many bytes a spool holds unless Limit says otherwise.
const DefaultLimit = 256 << 20

// headerSize is the size of the file's beginning: the place of the oldest entry
// and a checksum of it.
const headerSize = 8 + 4

// Damage counts the bytes that could not be read when a spool was opened: the
// end of an entry that a crash tore, or bytes that the disk has spoilt.
type Damage struct {
	Places int   // stretches of unreadable bytes
	Bytes  int64 // in all of them
}

// Spool is a queue of byte strings in one file. It is safe for concurrent use in
// one process; two processes must not share a file.
type Spool struct {
	// Limit is the largest size of the file in bytes. Set it before the first
	// Append.
	Limit int64

	draining chan struct{} // holds a token while somebody drains

	mu     sync.Mutex
	path   string
	file   *os.File
	head   int64 // place of the oldest entry
	end    int64 // of the last entry
	count  int
	damage Damage
	broken error // why the file takes no more
}

// Open opens the spool in a file, which it creates if need be.
func Open(path string) (*Spool, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("spool: %w", err)
	}
	s := &Spool{Limit: DefaultLimit, draining: make(chan struct{}, 1), path: path, file: f}
	if err := s.recover(); err != nil {
		return nil, errors.Join(fmt.Errorf("spool: %w", err), f.Close())
	}
	return s, nil
}

// recover finds the entries of the file and cuts off a torn end.
func (s *Spool) recover() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	s.head, s.end = headerSize, headerSize
	if info.Size() < headerSize { // new, or torn before its first entry
		if err := s.file.Truncate(0); err != nil {
			return err
		}
		if err := s.writeHead(); err != nil {
			return err
		}
		return errors.Join(s.file.Sync(), syncDir(s.path))
	}
	var header [headerSize]byte
	if _, err := s.file.ReadAt(header[:], 0); err != nil {
		return err
	}
	if head, ok := parseHeader(header[:]); ok && head <= info.Size() {
		s.head = head
	} else if err := errors.Join(s.writeHead(), s.file.Sync()); err != nil {
		// A wrong place would hide the entries that come to lie before it.
		return err
	}
	r := newReader(s.file, s.head, info.Size())
	for {
		rec, err := r.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		s.count++
		s.end = rec.end
	}
	s.end = max(s.end, s.head)
	s.damage = r.damage
	if s.end == info.Size() {
		return nil
	}
	return errors.Join(s.file.Truncate(s.end), s.file.Sync())
}

func parseHeader(b []byte) (head int64, ok bool) {
	n := binary.BigEndian.Uint64(b)
	ok = crc32.Checksum(b[:8], castagnoli) == binary.BigEndian.Uint32(b[8:])
	return int64(n), ok && n >= headerSize && n < 1<<62
}

// writeHead stores the place of the oldest entry; it need not reach the disk at
// once, because a drained entry may be drained again.
func (s *Spool) writeHead() error {
	b := binary.BigEndian.AppendUint64(nil, uint64(s.head))
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	_, err := s.file.WriteAt(b, 0)
	return err
}

// Append adds an entry; it is on disk when Append returns nil. ErrFull: there is
// no room, and nothing was added.
func (s *Spool) Append(data []byte) error {
	if len(data) > maxData {
		return fmt.Errorf("spool: an entry of %d bytes: %w", len(data), ErrFull)
	}
	rec := appendRecord(nil, data)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	size := int64(len(rec))
	if headerSize+s.end-s.head+size > s.Limit {
		return ErrFull
	}
	if s.end+size > s.Limit {
		if err := s.compact(); err != nil {
			return fmt.Errorf("spool: %w", err)
		}
	}
	_, err := s.file.WriteAt(rec, s.end)
	if err == nil {
		err = s.file.Sync()
	}
	if err != nil {
		// Bytes behind the end are no entry; take them off again.
		if undo := s.file.Truncate(s.end); undo != nil {
			s.broken = fmt.Errorf("spool: not usable after a failed write: %w", errors.Join(err, undo))
		}
		return fmt.Errorf("spool: %w", err)
	}
	s.end += size
	s.count++
	return nil
}

// compact moves the entries to the beginning of a new file.
func (s *Spool) compact() error {
	next, err := os.OpenFile(s.path+".new", os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	moved := &Spool{file: next, head: headerSize}
	err = moved.writeHead()
	if err == nil {
		_, err = io.Copy(io.NewOffsetWriter(next, headerSize), io.NewSectionReader(s.file, s.head, s.end-s.head))
	}
	if err == nil {
		err = next.Sync()
	}
	if err == nil {
		err = os.Rename(next.Name(), s.path)
	}
	if err != nil {
		return errors.Join(err, next.Close(), os.Remove(next.Name()))
	}
	old := s.file
	s.file, s.end, s.head = next, headerSize+s.end-s.head, headerSize
	return errors.Join(syncDir(s.path), old.Close())
}

// Drain hands the entries to fn, oldest first, until there is none, and returns
// how many it dropped. An entry is dropped when fn has returned nil for it; on an
// error of fn, or when ctx ends, Drain stops and returns that error, and the next
// Drain begins with the same entry. So fn must give up an entry that can never be
// handled. fn may call Append; it must not keep data, and must not call Drain.
// One Drain runs at a time; others wait.
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
		if err := s.drop(int64(recordHead + len(data))); err != nil {
			return n, err
		}
		n++
	}
}

// oldest returns the oldest entry, after any unreadable bytes before it.
func (s *Spool) oldest() (data []byte, ok bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == 0 {
		return nil, false, nil
	}
	rec, err := newReader(s.file, s.head, s.end).next()
	if errors.Is(err, io.EOF) {
		s.count = 0 // spoilt since the spool was opened
		return nil, false, fmt.Errorf("spool: the entries can no longer be read")
	}
	if err != nil {
		return nil, false, fmt.Errorf("spool: %w", err)
	}
	s.head = rec.end - int64(recordHead+len(rec.data))
	return rec.data, true, nil
}

// drop takes the oldest entry off; an empty spool gives its room back.
func (s *Spool) drop(size int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head += size
	s.count--
	if s.count == 0 {
		s.head = headerSize
	}
	err := s.writeHead()
	if err == nil && s.count == 0 {
		s.end = headerSize
		err = s.file.Truncate(headerSize)
	}
	if err != nil {
		s.broken = fmt.Errorf("spool: not usable after a failed write: %w", err)
		return s.broken
	}
	return nil
}

// Len returns how many entries wait.
func (s *Spool) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Damage returns the damage that was found when the spool was opened.
func (s *Spool) Damage() Damage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damage
}

// Close closes the file; the entries stay in it.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = errors.New("spool: closed")
	}
	return errors.Join(s.file.Sync(), s.file.Close())
}

// syncDir makes a new or renamed file's name durable.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
