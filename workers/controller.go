package workers

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/queue"
)

// Controller runs builds. It is safe for concurrent use.
type Controller interface {
	// Run takes a build and returns; action is the key of the action that asks
	// for it and comes back in BuildDone. A build that waits, runs or has ended is
	// not started again: its results are reported again, because a caller that asks
	// again may have lost them, and its BuildDone names the newer action. Errors:
	// ErrClosed, ErrNoJobs.
	Run(ctx context.Context, b queue.Build, action string) error
	// Stop cancels a build. It ends by its own BuildDone, with the outcome cancelled, when its
	// slot is free. A build that is unknown or has ended is no error.
	Stop(ctx context.Context, id queue.BuildID) error
	// Events returns the channel on which all results come, in order per build.
	// There is one channel; the controller never waits for its reader, and
	// closes it at the end of Close.
	Events() <-chan queue.Body
	// Log returns the log of a build that runs or has ended.
	// Error: ErrNoLog where nothing is kept of it.
	Log(id queue.BuildID) (Log, error)
	// Close takes no more builds, kills the running ones and waits until they are gone or ctx
	// ends. The builds that it ends report nothing: they are asked for again after a restart.
	// Events that nobody reads within a second are dropped.
	Close(ctx context.Context) error
}

// Standing is implemented by a Controller that says some things only when they change.
type Standing interface {
	// Stands returns the last events about the hosts (Fleet) and about how many builds can run
	// (Capacity), if there were any. A queue has not seen them if its stored state was lost.
	Stands() []queue.Body
}

// Sentinel errors of this package.
var (
	ErrClosed = errors.New("workers: closed")
	ErrNoJobs = errors.New("workers: a build without jobs")
	ErrNoLog  = errors.New("workers: no log of this build")
	ErrLost   = errors.New("workers: the lease is no longer held")
)
