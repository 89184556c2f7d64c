package memstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Find implements queue.Archive. It looks at all passes of the queue: a store
// in memory needs no index.
func (s *Store) Find(ctx context.Context, name string, x queue.Search) ([]queue.Entry, bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.shelf(name), s.now()
	var found []queue.Entry
	for id, a := range q.known {
		if !now.Before(a.until) || x.Prefix != "" && !strings.HasPrefix(string(id), x.Prefix) {
			continue
		}
		e, err := decodeEntry(a.data)
		if err != nil {
			return nil, false, fmt.Errorf("memstore: archive of %s: %w", id, err)
		}
		if len(e.Keys) == 1 && (x.Target == "" || e.Keys[0].Target == x.Target) {
			found = append(found, e)
		}
	}
	slices.SortFunc(found, func(a, b queue.Entry) int {
		return cmp.Or(cmp.Compare(b.Passed, a.Passed), cmp.Compare(a.ID, b.ID))
	})
	most := min(max(x.Max, 1), queue.SearchMost)
	return found[:min(most, len(found))], len(found) > most, nil
}

// Renew implements queue.Archive.
func (s *Store) Renew(ctx context.Context, name string, passes []queue.Entry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q, now := s.shelf(name), s.now()
	for _, e := range passes {
		if a, ok := q.known[e.ID]; ok && now.Before(a.until) {
			a.until = later(a.until, now.Add(queue.ArchiveTTL))
			q.known[e.ID] = a
		}
	}
	return nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
