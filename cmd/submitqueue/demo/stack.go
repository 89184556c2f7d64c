package demo

import "context"

// Stack is the running product beside a simulated forge, as far as the demo
// needs it. Its methods are called by one goroutine at a time, but for Rows and
// Retry, which are called while Open or Land run.
type Stack interface {
	// Publish makes the repository: from the plan's files as its first commit, or
	// from its bare repository with all branches. When it returns, the branch is
	// protected, all authors may write, and the product watches it.
	Publish(ctx context.Context, p *Plan) error
	// Open pushes a change's branch, if it has files, and opens its pull request.
	// The branch is one commit on the plan's first one, wherever main is by then:
	// else a change that is opened late would undo, or evade, what has landed.
	Open(ctx context.Context, c Change) (Pull, error)
	// Land comments /land on a pull request, as its author.
	Land(ctx context.Context, p Pull) error
	// Retry comments /land retry on a pull request, as its author.
	Retry(ctx context.Context, p Pull) error
	// Rows returns what the product says of the pull requests it knows, in any
	// order. A refused command is a row without a phase and with a Detail.
	Rows(ctx context.Context) ([]Row, error)
	// Stats returns what the product has counted so far.
	Stats(ctx context.Context) (Stats, error)
	// Play lets a person comment on the pages of the forge and push branches, each of
	// which opens a pull request, and returns the address to clone from for that. It is
	// called once, after Publish.
	Play() (clone string, err error)
	// Links says where everything is. It is called after Publish.
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
	Label     string   // how it calls them, such as "Merge requests"; empty: "Pull requests"
	Notes     []string // what else to say at the start, as "name: value", such as which Redis it is
}
