package forge

import "context"

// Proposal is a pull request that the queue opens, of a branch that exists in the
// repository itself.
type Proposal struct {
	Branch string // the head's
	Base   string
	Title  string // one line
	Body   string // Markdown
}

// Proposer is a Forge on which we can open a pull request. Without it, the revert of a
// culprit is not proposed, and the queue says so. Errors as in Forge.
type Proposer interface {
	// Proposed returns the open pull request of a branch of the repository itself to a
	// base; ErrNotFound: there is none.
	Proposed(ctx context.Context, branch, base string) (PullRequest, error)
	// Propose opens a pull request and returns it. Where one of this branch to this base
	// is open, it returns that one: doing it again is no error, and opens no second one.
	Propose(ctx context.Context, p Proposal) (PullRequest, error)
}
