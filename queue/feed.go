package queue

import "context"

// Feed is the part of a store for readers of a history that must miss nothing of
// it, even when they stop and start again. queue/memstore and queue/redisstore pass
// one conformance suite (queue/storetest).
//
// A place stands between two notes. Its form is the store's.
type Feed interface {
	// Follow returns the place that a reader has reached. A reader that has no
	// place is given the place behind all notes so far, and keeps it.
	Follow(ctx context.Context, queue, reader string) (place string, err error)
	// NotesAfter returns up to max notes behind a place, oldest first, and the place
	// behind all that it has looked at: the given place if nothing has been noted
	// since. Notes that the history has dropped by age, or cannot read, are left out.
	NotesAfter(ctx context.Context, queue, place string, max int) (notes []Noted, next string, err error)
	// Reached keeps the place of a reader in place of the former one.
	Reached(ctx context.Context, queue, reader, place string) error
}

// Noted is a note with the place behind it.
type Noted struct {
	Place string
	Note  Note
}
