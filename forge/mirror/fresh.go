package mirror

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"sync"
	"time"
)

// fresh are the objects that the mirror has made and not yet written. Writing a
// file for each object is by far the most expensive part of a merge, and most
// merges are speculative: only the mirror ever looks at them. So they stay in
// memory until git must see one of them (Flush), and are then written as one pack.
//
// If the process ends, lost merges are made again from the same parents and heads,
// and are the same: only merges made in memory stay in memory, and these follow
// from their inputs alone. Objects that depend on more, or come from elsewhere, are
// flushed before the caller gets them.
type fresh struct {
	mu      sync.Mutex
	objects map[string]object
	order   []string // in which they came: an object comes after the objects that it names
	bytes   int
	written *lru[string, time.Time] // when it was last written

	flushing chan struct{} // holds a token while a pack is written
}

const (
	freshBytes   = 32 << 20 // the bytes that stay in memory at most
	freshWritten = 24 * time.Hour
	looseMost    = 2 // objects that get a file each
)

func newFresh() *fresh {
	return &fresh{objects: map[string]object{}, written: newLRU[string, time.Time](50_000), flushing: make(chan struct{}, 1)}
}

func idOf(kind string, body []byte) string {
	h := sha1.New()
	fmt.Fprintf(h, "%s %d\x00", kind, len(body))
	h.Write(body)
	return hex.EncodeToString(h.Sum(nil))
}

// add takes a new object and returns its id. An object that was written long ago is
// written again, so that pruning does not take it for old.
func (f *fresh) add(kind string, body []byte) string {
	id := idOf(kind, body)
	f.put(id, object{kind, body})
	return id
}

func (f *fresh) put(id string, o object) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.objects[id]; ok {
		return
	}
	if at, ok := f.written.get(id); ok && time.Since(at) < freshWritten {
		return
	}
	f.objects[id] = o
	f.order = append(f.order, id)
	f.bytes += len(o.data)
}

func (f *fresh) get(id string) (object, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o, ok := f.objects[id]
	return o, ok
}

// clear forgets all objects, written or not.
func (f *fresh) clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.objects)
	f.order, f.bytes = nil, 0
	f.written.clear()
}

// full reports whether it is time to write.
func (f *fresh) full() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.bytes > freshBytes
}

// Flush writes all objects that were made before the call, so that git sees them.
// Callers at the same time share one pack.
func (m *Objects) Flush(ctx context.Context) error {
	f := m.fresh
	f.mu.Lock()
	n := len(f.order)
	var last string
	if n > 0 {
		last = f.order[n-1]
	}
	f.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case f.flushing <- struct{}{}:
		defer func() { <-f.flushing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if _, still := f.get(last); !still {
		return nil // an earlier caller wrote it, and all objects before it
	}
	f.mu.Lock()
	ids := f.order[:len(f.order):len(f.order)]
	objects := make([]object, len(ids))
	for i, id := range ids {
		objects[i] = f.objects[id]
	}
	f.mu.Unlock()
	if err := m.write(ids, objects); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	for i, id := range ids {
		f.written.put(id, now, 1)
		delete(f.objects, id)
		f.bytes -= len(objects[i].data)
	}
	f.order = append([]string(nil), f.order[len(ids):]...)
	return nil
}

// write stores objects in as few files as it takes: a pack is two.
func (m *Objects) write(ids []string, objects []object) error {
	if len(ids) > looseMost {
		m.wrote(1, 0)
		return m.writePack(ids, objects)
	}
	m.wrote(0, len(ids))
	for _, o := range objects {
		if _, err := m.repo.writeObject(o.kind, o.data); err != nil {
			return err
		}
	}
	return nil
}
