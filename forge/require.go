package forge

import (
	"context"

	"github.com/submitqueue/submitqueue/queue"
)

// Requirer is a Forge that asks things of a pull request before it may land: reviews,
// checks, resolved conversations. Without it, a command alone is enough.
type Requirer interface {
	// Unmet returns the requirements of the branch to land on that an open pull request
	// does not meet: all that could be told, in a fixed order. Drafts, labels and merge
	// conflicts are not its business. *Transient besides, where the pull request is at
	// another head by now. Errors as in Forge.
	Unmet(ctx context.Context, r Requirements) (Standing, error)
}

// Stander is a Requirer that can read a pull request and its unmet requirements at once,
// which costs less than one after the other. Without it, PullRequest and Unmet are
// called.
type Stander interface {
	// Stands is PullRequest, and Unmet of the pull request that it returns: Author,
	// Head and Base of the requirements are not read. ErrNotFound as in Forge. It may
	// leave out Stack: a caller that needs it calls PullRequest.
	Stands(ctx context.Context, r Requirements) (PullRequest, Standing, error)
}

// Standing says which of its requirements a pull request does not meet, and how its
// checks stand.
type Standing struct {
	Unmet  []queue.Requirement
	Checks *queue.Checks // on its head, but for those of Requirements.Except; nil: they were not read
}

// Requirements say which pull request is meant, and what it must meet.
type Requirements struct {
	Number int
	Author string
	Head   queue.CommitID
	Base   string // the branch that it asks for
	Branch string // the branch that it is to land on: the rules of this branch count

	Checks   bool     // required checks count, but for those of Except
	Except   []string // names of our own check runs
	Resolved bool     // conversations must be resolved, whatever the branch's rules say
}
