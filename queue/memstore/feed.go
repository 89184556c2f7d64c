package memstore

import (
	"context"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
)

// Follow implements queue.Feed.
func (s *Store) Follow(ctx context.Context, name, reader string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.shelf(name)
	if _, ok := q.places[reader]; !ok {
		q.places[reader] = strconv.FormatInt(q.noted, 10)
	}
	return q.places[reader], nil
}

// NotesAfter implements queue.Feed. A place is how many notes there were.
func (s *Store) NotesAfter(ctx context.Context, name, place string, max int) ([]queue.Noted, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, "", err
	}
	at, err := parseCursor(place)
	if err != nil {
		return nil, "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.shelf(name)
	first := q.noted - int64(len(q.notes))
	var found []queue.Noted
	for i := min(q.noted, at) - first; i < int64(len(q.notes)) && len(found) < max; i++ {
		if i < 0 {
			i = 0 // it has been dropped
		}
		n := q.notes[i]
		n.Reason.Names = slices.Clone(n.Reason.Names)
		place = strconv.FormatInt(first+i+1, 10)
		found = append(found, queue.Noted{Place: place, Note: n})
	}
	return found, place, nil
}

// Reached implements queue.Feed.
func (s *Store) Reached(ctx context.Context, name, reader, place string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := parseCursor(place); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shelf(name).places[reader] = place
	return nil
}
