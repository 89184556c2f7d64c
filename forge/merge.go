package forge

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// Merger is a Forge that merges a pull request itself when it is told to, and shows it as
// merged then, wherever its branch is. Without it, or where it declines, the queue moves
// branches by git.
type Merger interface {
	// SquashPull squashes a pull request onto its base, wherever that is by then: only
	// reading the branch tells the result. *Declined: nothing was merged. *Transient:
	// the result is not known, or another try may succeed. Other errors as in Forge.
	SquashPull(ctx context.Context, m PullMerge) error
}

// PullMerge says which pull request is to be merged, and as what.
type PullMerge struct {
	Number  int
	Head    queue.CommitID // the pull request must be at this head
	Base    string         // the pull request must ask for this branch
	Message string         // of the commit, whole: title, empty line, the rest
}

// Declined is the error that a forge does not merge a pull request: nothing was
// changed.
type Declined struct {
	Reason string // in the forge's words: hostile text
}

// Error implements error.
func (d *Declined) Error() string { return "the forge does not merge it: " + d.Reason }
