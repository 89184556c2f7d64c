package api

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/queue"
)

// Source is where the API reads queues and puts commands. app.Queues is one. All methods
// may be called at the same time, and none waits for a turn that is being stored. Facts
// that only the store knows come in bounded time, or as an error. A queue is named by its
// name, its key, a name that it had, or its repository's name alone where that has no other
// queue.
type Source interface {
	// Queues returns the names of all queues, sorted.
	Queues() []string
	// Brief returns what is known of a queue at no cost.
	Brief(name string) (Brief, bool)
	// Queue returns a queue as it was published last. Other callers share it: do not
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
	// BuildLog returns the output of a build from byte `after` on, the byte at which to
	// go on, and whether that is all. A negative `after` asks for the last -after
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
	More    bool           // there are more keys, which the limit has cut off
	Main    queue.CommitID // the commit that OnMain is about
	Unknown string         // why it is not known which keys main rests on, or ""
}

// LedgerKey is what is known of one key.
type LedgerKey struct {
	Key       queue.Key
	Step      string           // the step's name; "": not known any more
	Entry     queue.Entry      // the pass and the failures; zero: nothing is known
	Sets      []queue.Entry    // sets of keys that failed together and have this key
	Build     queue.BuildID    // the build that verifies it now; "": none does
	OnMain    bool             // main's tip has it
	Rests     []queue.ChangeID // pending changes with it in their present merge
	Forgotten queue.Forgotten  // the command that took a pass of it back; zero: none did
}

// ForgetView is what forgetting would do.
type ForgetView struct {
	What    queue.Forgotten
	Unknown bool             // no key of main or of a pending change is meant
	Passes  int              // of the keys that main or a pending change has
	Main    []queue.Key      // those of them that main has: unproven until they pass again
	Changes []queue.ChangeID // pending changes with keys that would be built again
	Landing []queue.ChangeID // changes that are being pushed: they are not affected
}

// ErrNotOwned: another server owns the queue, or none does yet.
var ErrNotOwned = errors.New("this server does not own the queue now")
