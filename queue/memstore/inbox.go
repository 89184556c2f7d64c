package memstore

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

type arrived struct {
	cursor int64
	data   []byte
}

// seen remembers ids of events. They expire in the order in which they came.
type seen struct {
	until map[string]time.Time
	order []string
}

// add reports whether the id is new.
func (s *seen) add(id string, now time.Time) bool {
	for len(s.order) > 0 && !now.Before(s.until[s.order[0]]) {
		delete(s.until, s.order[0])
		s.order = s.order[1:]
	}
	if _, known := s.until[id]; known {
		return false
	}
	s.until[id] = now.Add(queue.SeenFor)
	s.order = append(s.order, id)
	return true
}

// Append implements queue.Store. Events without an id are never dropped.
func (s *Store) Append(ctx context.Context, name string, events ...queue.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	datas := make([][]byte, len(events))
	for i, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			return fmt.Errorf("memstore: event %q: %w", e.ID, err)
		}
		datas[i] = data
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.shelf(name), s.now()
	before := q.next
	for i, e := range events {
		if e.ID != "" && !q.seen.add(e.ID, now) {
			continue
		}
		q.next++
		q.inbox = append(q.inbox, arrived{cursor: q.next, data: datas[i]})
	}
	if q.next > before {
		close(q.wake)
		q.wake = make(chan struct{})
	}
	return nil
}

// Inbox implements queue.Store. An `after` that cannot be a cursor of this
// store is an error.
func (s *Store) Inbox(ctx context.Context, name, after string, max int, wait time.Duration) ([]queue.Arrived, error) {
	var from int64
	if after != "" {
		var err error
		if from, err = parseCursor(after); err != nil {
			return nil, err
		}
	}
	if max <= 0 {
		return nil, ctx.Err()
	}
	var timeout <-chan time.Time
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, wake, err := s.take(name, from, max)
		if err != nil || len(found) > 0 || wait <= 0 {
			return found, err
		}
		if timeout == nil {
			timer := time.NewTimer(wait)
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-wake:
		case <-timeout:
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// take returns the events that are there now, and a channel that is closed when there are
// more.
func (s *Store) take(name string, from int64, max int) ([]queue.Arrived, <-chan struct{}, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.shelf(name)
	at, _ := slices.BinarySearchFunc(q.inbox, from+1, func(a arrived, c int64) int { return int(a.cursor - c) })
	var found []queue.Arrived
	for _, a := range q.inbox[at:min(len(q.inbox), at+max)] {
		var e queue.Event
		if err := json.Unmarshal(a.data, &e); err != nil {
			return nil, nil, fmt.Errorf("memstore: inbox of %s: %w", name, err)
		}
		found = append(found, queue.Arrived{Cursor: formatCursor(a.cursor), Event: e})
	}
	return found, q.wake, nil
}

func formatCursor(c int64) string { return strconv.FormatInt(c, 10) }

func parseCursor(s string) (int64, error) {
	c, err := strconv.ParseInt(s, 10, 64)
	if err != nil || c < 0 {
		return 0, fmt.Errorf("memstore: cursor %q: %w", s, queue.ErrPlace)
	}
	return c, nil
}
