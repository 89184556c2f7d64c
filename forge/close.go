package forge

import "context"

// Closer is a Forge that sees by itself that a pull request is merged, by its head being
// on the branch, and so does not see one whose change landed as another commit. Without
// it, the forge shows what Publish tells it: nothing is closed, moved before main, or
// deleted after a landing. Errors as in Forge.
type Closer interface {
	// Close labels a pull request that has landed and that the forge does not show as
	// merged, and closes it if it is open. One that is merged stays as it is.
	Close(ctx context.Context, number int, label string) error
	// House reads what of the repository's settings is about merged pull requests.
	House(ctx context.Context) (House, error)
	// OpenInto returns the numbers of the open pull requests that ask for a branch.
	OpenInto(ctx context.Context, branch string) ([]int, error)
}

// House is how a repository treats merged pull requests.
type House struct {
	Default string // the branch that a head must be on to be shown as merged
	Delete  bool   // head branches are deleted once they are merged
}
