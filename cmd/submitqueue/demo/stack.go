package demo

import "context"

// Stack is the running product beside a simulated forge, as far as the demo needs it.
// One goroutine at a time calls its methods, except Rows and Retry, which are called
// while Open or Land run.
type Stack interface {
	// Publish makes the repository: from the plan's files as its first commit, or
	// from its bare repository with all branches. When it returns, the branch is
	// protected, all authors may write, and the product watches it.
	Publish(ctx context.Context, p *Plan) error
	// Open pushes a change's branch, if it has files, and opens its pull request. The
	// branch is one commit on the plan's first one, wherever main is by then: else a
	// change that is opened late would undo landed changes, or avoid conflicts with
	// them.
	Open(ctx context.Context, c Change) (Pull, error)
	// Land comments /land on a pull request, as its author.
	Land(ctx context.Context, p Pull) error
	// Retry comments /land retry on a pull request, as its author.
	Retry(ctx context.Context, p Pull) error
	// Rows returns the product's state of the pull requests that it knows, in any
	// order. A refused command is a row without a phase and with a Detail.
	Rows(ctx context.Context) ([]Row, error)
	// Stats returns the product's counts so far.
	Stats(ctx context.Context) (Stats, error)
	// Play lets a person comment on the pages of the forge and push branches, each of
	// which opens a pull request. It returns the address to clone from. It is called
	// once, after Publish.
	Play() (clone string, err error)
	// Links returns the addresses of all parts. It is called after Publish.
	Links() Links
	// Close stops everything and leaves nothing behind. It is called once.
	Close() error
}

// Pull is an open pull request.
type Pull struct {
	Number int
	Mark   string // what the forge writes before the number; "": "#"
	Head   string // commit id
	Change Change
}

// Stats are the product's own counts.
type Stats struct {
	Builds int // builds that were started for changes
	Main   int // builds that were started for main itself
}

// Links says where people and git find the parts of a stack.
type Links struct {
	Clone     string   // URL for git clone
	Dashboard string   // page for people
	Pulls     string   // page of the simulated forge with the pull requests
	Label     string   // the forge's word for them, such as "Merge requests"; empty: "Pull requests"
	Notes     []string // further lines for the start, as "name: value", such as which Redis is used
}
