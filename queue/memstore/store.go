// Package memstore keeps queues in memory: for tests, also inside testing/synctest,
// and for the simulator. It passes the same suite as queue/redisstore.
//
// It is deterministic: tokens, versions and cursors are counters, and the only
// clock is the one given to New. Values are kept as the JSON that a real store
// would keep, so that nothing is shared with the caller, and a value that
// cannot be stored fails here, too.
package memstore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

var (
	_ queue.Store   = (*Store)(nil)
	_ queue.Archive = (*Store)(nil)
	_ queue.Feed    = (*Store)(nil)
)

// historyMax is how many notes of a queue are kept.
const historyMax = 10_000

// Store is a queue.Store in memory. It is safe for concurrent use. Create it
// inside the synctest bubble that uses it: waiting readers hold its channels.
type Store struct {
	now    func() time.Time
	bounds queue.PastBounds
	mu     sync.Mutex
	queues map[string]*shelf
}

// shelf is all data that are kept of one queue.
type shelf struct {
	lease   lease
	version int64
	records map[queue.Ref][]byte
	inbox   []arrived
	next    int64 // cursor of the next event
	seen    seen
	wake    chan struct{} // closed and replaced whenever events arrive
	known   map[queue.KeyID]archived
	sweepAt int // size of known at which expired entries are dropped
	notes   []queue.Note
	noted   int64             // how many notes there have been
	places  map[string]string // in the notes, by reader
	past    past
}

type archived struct {
	data  []byte
	until time.Time
}

// New returns an empty store with leases and expiries that follow now. A wait
// in Inbox follows the real clock, which is the bubble's in synctest.
func New(now func() time.Time) *Store { return NewBounded(now, queue.PastBounds{}) }

// NewBounded is New with other bounds of the event archive.
func NewBounded(now func() time.Time, b queue.PastBounds) *Store {
	return &Store{now: now, bounds: b.OrDefault(), queues: map[string]*shelf{}}
}

// shelf returns the shelf of a queue; the caller holds the lock.
func (s *Store) shelf(name string) *shelf {
	q, ok := s.queues[name]
	if !ok {
		q = &shelf{
			records: map[queue.Ref][]byte{},
			seen:    seen{until: map[string]time.Time{}},
			wake:    make(chan struct{}),
			known:   map[queue.KeyID]archived{},
			places:  map[string]string{},
		}
		s.queues[name] = q
	}
	return q
}

// Load implements queue.Store. Records come ordered by kind, then by id.
func (s *Store) Load(ctx context.Context, name string) ([]queue.Record, int64, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.shelf(name)
	records := make([]queue.Record, 0, len(q.records))
	for ref, data := range q.records {
		records = append(records, queue.Record{Ref: ref, Data: bytes.Clone(data)})
	}
	kinds := queue.Kinds()
	slices.SortFunc(records, func(a, b queue.Record) int {
		if a.Kind != b.Kind {
			return slices.Index(kinds, a.Kind) - slices.Index(kinds, b.Kind)
		}
		return compare(a.ID, b.ID)
	})
	return records, q.version, nil
}

func compare(a, b string) int { return bytes.Compare([]byte(a), []byte(b)) }

// History implements queue.Store.
func (s *Store) History(ctx context.Context, name string, max int) ([]queue.Note, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	notes := s.shelf(name).notes
	newest := slices.Clone(notes[len(notes)-min(len(notes), max):])
	slices.Reverse(newest)
	return newest, nil
}

// Known implements queue.Store.
func (s *Store) Known(ctx context.Context, name string, keys []queue.Key) ([]queue.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.shelf(name), s.now()
	var entries []queue.Entry
	for _, k := range keys {
		a, ok := q.known[k.ID()]
		if !ok || !now.Before(a.until) {
			continue
		}
		e, err := decodeEntry(a.data)
		if err != nil {
			return nil, fmt.Errorf("memstore: archive of %s: %w", k.ID(), err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}
