package queue

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// Past is the part of a store that has the event archive of each queue. Turn.Rows are
// added to it with the turn, all or none. queue/memstore and queue/redisstore pass one
// conformance suite (queue/storetest).
type Past interface {
	// Rows returns up to max rows behind a place, oldest first as they were stored, and
	// the place behind all that it has looked at: the given one where there is nothing
	// more. The place "" is before all rows; what no store has said is ErrPlace. Rows that this version cannot read, or that
	// have been dropped meanwhile, are left out.
	Rows(ctx context.Context, queue, place string, max int) (rows []Row, next string, err error)
	// Keep adds rows that no turn made, such as those of another server. They come after all
	// others, whatever their At.
	Keep(ctx context.Context, queue string, rows []Row) error
}

// ErrPlace is the error of a store that is asked for what is behind a place, and the place is none
// that it has said.
var ErrPlace = errors.New("no store has said this place")

// PastBounds say how much of the event archive of one queue a store keeps. Once a
// bound is passed, the rows that were stored first are dropped when the next rows
// come.
type PastBounds struct {
	Age   time.Duration // by Row.At; 0: HistoryAge
	Rows  int           // 0: ten million
	Bytes int64         // of rows as JSON; 0: 256 MiB
}

// OrDefault returns the bounds with their defaults.
func (b PastBounds) OrDefault() PastBounds {
	return PastBounds{Age: cmp.Or(b.Age, HistoryAge), Rows: cmp.Or(b.Rows, 10_000_000), Bytes: cmp.Or(b.Bytes, 256<<20)}
}
