package forge

import "context"

// Closer is a Forge that shows a pull request as merged once its head is on the branch,
// and so does not see that a change landed as another commit. Without Closer, the forge
// shows what Publish tells it: nothing is closed, moved before main, or deleted after a
// landing. Errors as in Forge.
type Closer interface {
	// Close closes a pull request that has landed and that the forge does not show as
	// merged: it closes the issues that a merge would have closed, labels the pull request,
	// and closes it if it is open. One that is merged, or has the label and is closed,
	// stays as it is: its issues may have been opened again.
	Close(ctx context.Context, number int, how Closing) error
	// House reads the repository's settings for merged pull requests.
	House(ctx context.Context) (House, error)
	// Uses reads what branches are used for, in the order in which they are given.
	Uses(ctx context.Context, branches []string) ([]BranchUse, error)
}

// BranchUse says how a branch is used.
type BranchUse struct {
	Gone      bool  // there is no such branch: only Into is told
	Protected bool  // any rule applies to it
	From      []int // open pull requests from it, not from a fork's branch of the same name; a hundred at most
	Into      []int // open pull requests that ask for it; a hundred at most
}

// Closing says how a landed pull request is closed.
type Closing struct {
	Label  string
	Issues bool // the issues of this repository that its description says it closes are closed too
}

// House is how a repository treats merged pull requests.
type House struct {
	Default string // the branch that a head must be on to be shown as merged
	Delete  bool   // head branches are deleted once they are merged
}
