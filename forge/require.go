package forge

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// Requirer is a Forge that asks things of a pull request before it may land: reviews,
// checks, resolved conversations. Without it, a command alone is enough.
type Requirer interface {
	// Unmet returns what an open pull request does not meet of what the branch that
	// it is to land on asks for; all that could be told, in a fixed order. A draft,
	// labels and merge conflicts are not its business. *Transient besides, where the
	// pull request is at another head by now. Errors as in Forge.
	Unmet(ctx context.Context, r Requirements) (Standing, error)
}

// Stander is a Requirer that can read a pull request and what it does not meet at once,
// for less than one after the other costs. Without it, PullRequest and Unmet are called.
type Stander interface {
	// Stands is PullRequest, and Unmet of what that returns: of the requirements,
	// author, head and base are not read. ErrNotFound as in Forge. It may leave out
	// Stack: whoever needs that calls PullRequest.
	Stands(ctx context.Context, r Requirements) (PullRequest, Standing, error)
}

// Standing is how a pull request stands to what is asked of it.
type Standing struct {
	Unmet  []queue.Requirement
	Checks *queue.Checks // on its head, but for those of Requirements.Except; nil: they were not read
}

// Requirements say of which pull request what is to be met.
type Requirements struct {
	Number int
	Author string
	Head   queue.CommitID
	Base   string // the branch that it asks for
	Branch string // the branch that it is to land on: that one's rules count

	Checks   bool     // required checks count, but for those of Except
	Except   []string // names of check runs of our own
	Resolved bool     // conversations must be resolved, whatever the branch's rules say
}
