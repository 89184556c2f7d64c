package forge

import (
	"context"
	"errors"
)

// Place is where a repository is at its host.
type Place struct {
	ID      int64  // stays the same when the name changes
	Name    string // "owner/name" by now
	Default string // branch
}

// Locator is a Forge where repositories can be renamed or given to another owner. Without
// it, the repository has the name it was configured with, and a branch that is not there
// is gone.
type Locator interface {
	// Locate finds the repository by its id, and has the Forge go on with that one.
	// 0: it is the one of the configured name. Errors as in Forge.
	Locate(ctx context.Context, id int64) (Place, error)
	// BranchNow returns the present name of a branch: another one where it was renamed.
	// ErrNotFound: there is no such branch, under this name or a new one.
	BranchNow(ctx context.Context, branch string) (string, error)
}

// ErrAway means that no request to a repository is possible: our access to it is
// suspended, or was taken away. Nothing is wrong with the request, and it can be
// made again when access is given back.
var ErrAway = errors.New("forge: we have no access to the repository")
