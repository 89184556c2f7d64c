package api

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/queue"
)

// Source is what is shown and where commands are put. The turn loop is
// one. All methods may be called at the same time, and none waits for a turn that is being
// stored; what only the store knows comes in bounded time, or as an error. A queue is meant
// by its name, its key, a name that it had, or its repository's name alone where that has
// no other queue.
type Source interface {
	// Queues returns the names of all queues, sorted.
	Queues() []string
	// Brief returns what is known of a queue at no cost.
	Brief(name string) (Brief, bool)
	// Queue returns a queue as it was published last. It is shared with others: do not
	// change it.
	Queue(name string) (queue.QueueView, bool)
	// Change returns one change, by its id or by its pull request's number (then
	// its change without a verdict, or its last one).
	Change(name, id string) (queue.View, bool)
	// History returns the newest max notes of a queue, newest first.
	History(ctx context.Context, name string, max int) ([]queue.Note, error)
	// Changed returns a channel that is closed when any queue has changed; ask for
	// it again after that.
	Changed() <-chan struct{}
	// BuildLog returns what a build has printed from byte `after` on, where to go
	// on, and whether that is all. A negative `after` asks for the last -after
	// bytes. Not ok: no such build, or its log is gone.
	BuildLog(id string, after int64) (data []byte, next int64, done bool, ok bool)
	// Submit puts an event into a queue's inbox, durably.
	Submit(ctx context.Context, name string, e queue.Event) error
}

// Brief is what is known of a queue at no cost: it is published with each turn.
type Brief struct {
	Name string // by now
	Mark string // what its forge writes before the number of a change; "": "#"
	Main queue.Main
	Away string // why this server does not show the present state, or ""
}

// LedgerMost bounds the keys of one look into the ledger.
const LedgerMost = 500

// LedgerView is what is known of the keys that somebody has asked for: of a key, of
// a target, or of a change as it stands.
type LedgerView struct {
	Kind    string         // key, target or change
	Change  queue.ChangeID // where it is a change
	Keys    []LedgerKey    // those of main first, then the latest
	More    bool           // there are others, which the limit has cut off
	Main    queue.CommitID // the commit that OnMain speaks of
	Unknown string         // why nobody can say what main rests on; ""
}

// LedgerKey is what is known of one key.
type LedgerKey struct {
	Key       queue.Key
	Step      string           // the step's name; "": not known any more
	Entry     queue.Entry      // the pass, and what has failed; zero: nothing is known
	Sets      []queue.Entry    // sets of keys that failed together, this one among them
	Build     queue.BuildID    // that verifies it now; "": none does
	OnMain    bool             // main's tip has it
	Rests     []queue.ChangeID // pending changes whose present merge has it
	Forgotten queue.Forgotten  // by which a pass of it was taken back; zero: none was
}

// ForgetView is what forgetting would do.
type ForgetView struct {
	What    queue.Forgotten
	Passes  int              // of the keys that main or a pending change has
	Main    []queue.Key      // of these, those of main: unproven until they pass again
	Changes []queue.ChangeID // pending changes that have some built again
	Landing []queue.ChangeID // being pushed: they are not affected
}

// ErrNotOwned: another server owns the queue, or none does yet.
var ErrNotOwned = errors.New("this server does not own the queue now")
