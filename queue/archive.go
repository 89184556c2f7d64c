package queue

import (
	"context"
	"time"
)

// ArchiveTTL is how long the archive keeps a pass after it was written or renewed.
const ArchiveTTL = 30 * 24 * time.Hour

// RenewAfter is how much of its time in the archive a pass must have used up
// before Renew does anything: a pass that is used all day is renewed once a
// day.
const RenewAfter = 24 * time.Hour

// Archive is a store's index of passes, for people and upkeep: it finds passes by their
// target, or by the beginning of their key's id. queue/memstore and queue/redisstore pass one
// conformance suite (queue/storetest).
type Archive interface {
	// Find returns the passes that a search asks for, the latest first. more says
	// that there are others, which the search's limit has cut off. The cost of a
	// look-up grows with its result, not with the archive.
	Find(ctx context.Context, queue string, s Search) (found []Entry, more bool, err error)
	// Renew keeps passes that Known or Find has returned for ArchiveTTL from now on. A pass
	// that has used less than RenewAfter of its time may keep its remaining time; a pass that
	// has expired meanwhile does not come back.
	Renew(ctx context.Context, queue string, passes []Entry) error
}

// Search asks an archive for the passes of one target, or for those of keys
// with ids that begin with some hexadecimal digits.
type Search struct {
	Target string // this or Prefix
	Prefix string
	Max    int // at most so many passes; from 1 to SearchMost
}

// SearchMost bounds the entries of one answer.
const SearchMost = 1000
