package queue

import (
	"context"
	"errors"
	"time"
)

// SeenFor is how long a store remembers an event's id at least. It is longer than forges repeat
// failed deliveries, and than receivers accept them (80 h).
const SeenFor = 96 * time.Hour

// Store keeps queues, each under its key: a name for it that never changes, and that no
// store takes apart. queue/memstore and queue/redisstore pass one conformance
// suite (queue/storetest).
//
// Errors: ErrNotOwner when the fencing token is not the newest, ErrStale when
// the version is not the stored one (drop the cache and load again). Any other
// error may mean that the write happened or not: load again.
type Store interface {
	// Append adds events to a queue's inbox, durably, before it returns. An event
	// with an ID that the inbox has seen before (within SeenFor) is dropped.
	Append(ctx context.Context, queue string, events ...Event) error
	// Acquire makes owner the owner of a queue for ttl, or extends that. The
	// token is larger than every one given before for the queue to another owner.
	// ErrNotOwner: somebody else owns it.
	Acquire(ctx context.Context, queue, owner string, ttl time.Duration) (token int64, err error)
	// Release ends an ownership at once. Not owning is no error.
	Release(ctx context.Context, queue string, token int64) error
	// Load reads the whole state and its version (0: nothing stored).
	Load(ctx context.Context, queue string) (records []Record, version int64, err error)
	// Inbox returns up to max events that no commit has eaten, oldest first. It
	// waits for the first one until ctx ends or wait has passed.
	Inbox(ctx context.Context, queue string, after string, max int, wait time.Duration) ([]Arrived, error)
	// Commit writes one turn, all of it or nothing.
	Commit(ctx context.Context, t Turn) error
	// Known returns what the archive knows of keys: the entries that passed and
	// have not expired. Keys without one are left out.
	Known(ctx context.Context, queue string, keys []Key) ([]Entry, error)
	// History returns the newest max notes, newest first.
	History(ctx context.Context, queue string, max int) ([]Note, error)
}

// Arrived is an event in an inbox with its place there.
type Arrived struct {
	Cursor string
	Event  Event
}

// Turn is what one turn changes.
type Turn struct {
	Queue   string
	Token   int64    // fencing token of the owner
	Version int64    // the version the turn was computed on; the write makes it Version+1
	Put     []Record // actions among them
	Delete  []Ref
	Eaten   []string // cursors of the inbox
	Archive []Entry  // passes to keep beyond the state, under queue and key id, for ArchiveTTL; one that is Lost is taken out
	Notes   []Note   // history
	Rows    []Row    // for the event archive (Past)
}

// Note is one line of a queue's history.
type Note struct {
	At     Instant  `json:"at"`
	Change ChangeID `json:"change,omitempty"`
	Number int      `json:"number,omitempty"`
	Build  BuildID  `json:"build,omitempty"`
	What   string   `json:"what"` // entered, analyzed, building, passed, failed, landed, rejected, ...
	Reason Reason   `json:"reason,omitzero"`
	Commit CommitID `json:"commit,omitempty"`
	Worth  Worth    `json:"worth,omitzero"` // build-asked: why
}

// Sentinel errors of a Store.
var (
	ErrNotOwner = errors.New("queue: another server owns this queue")
	ErrStale    = errors.New("queue: the stored state is newer")
)
