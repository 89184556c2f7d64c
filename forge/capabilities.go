package forge

import (
	"context"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Capabilities are what a Forge can do beyond the verbs that all have. A nil member is
// a capability that this Forge does not have; the comment of each interface says what
// the service does without it. The service reads only these members: it never asserts
// that a Forge has a method, so a wrapper passes a capability on, or leaves it out,
// knowingly.
type Capabilities struct {
	Publisher   Publisher   // is told everything of a pull request at once
	Reactor     Reactor     // acknowledges comments
	Lister      Lister      // lists what is open
	Stacker     Stacker     // knows pull requests on top of each other
	Closer      Closer      // closes pull requests that it does not see as merged
	Merger      Merger      // merges pull requests itself
	Accustomed  Accustomed  // has a setting of how pull requests land
	Proposer    Proposer    // opens pull requests for us
	Requirer    Requirer    // asks things of a pull request before it may land
	Stander     Stander     // reads a pull request and its requirements at once; only with Requirer
	Teams       Teams       // knows teams
	CI          CI          // tests what is pushed
	Starter     Starter     // makes runs when asked to; only with CI
	Locator     Locator     // finds a repository and a branch that have another name
	Access      Access      // remembers our access
	Redeliverer Redeliverer // keeps webhooks that did not arrive
	Limited     Limited     // counts our requests
	Recaller    Recaller    // knows since when a pull request has its head
	Tidier      Tidier      // is a repository that nobody else packs
}

// Reactor is a Forge with a place to acknowledge a comment. Without it, a command is
// answered by the comment and the check alone. Errors as in Forge.
type Reactor interface {
	// React acknowledges a comment. Doing it twice is one reaction.
	React(ctx context.Context, number int, comment string, r Reaction) error
}

// Recaller is a Forge that can tell since when a pull request has its head. Without it, a
// command that is heard late counts only if nothing at all has changed since.
type Recaller interface {
	// WasHead reports whether a pull request's present head was its head at a moment, by
	// the forge's clock. False: it was another one, or that cannot be told. Errors as in Forge.
	WasHead(ctx context.Context, number int, head queue.CommitID, at queue.Instant) (bool, error)
}

// Access is a Forge that keeps credentials, and answers about them, from one request to
// the next. Without it, nothing is kept: each request is made with the credentials of
// that moment.
type Access interface {
	// Refresh makes new credentials before the next request. It is called when their
	// permissions have changed, or when git was refused with them.
	Refresh()
	// Reset forgets what is remembered of our access. It is called when a webhook tells
	// of our access.
	Reset()
}

// Redeliverer is a Forge that keeps the webhooks that did not arrive. Without it, lost
// events are found by Missed alone. Errors as in Forge.
type Redeliverer interface {
	// Redeliver has the webhooks that failed since a moment sent again, and returns how
	// many. Each comes with the id it had; one that has arrived since is not asked for.
	Redeliver(ctx context.Context, since time.Time) (int, error)
}

// Publisher is a Forge that is told everything of a pull request at once, because it
// does not see on its own how a pull request ended, or because one message costs it as
// much as all of them. Without it, Comment and Check are called, each when it has
// something new.
type Publisher interface {
	// Publish is Comment and Check in one. Doing it again is no error.
	// ErrNotFound as in Forge.
	Publish(ctx context.Context, p Publication) error
}

// Lister is a Forge that lists the open pull requests for a branch. Without it, rules that
// enter them without a command (`auto`) know only the pull requests that a webhook
// has told of. Errors as in Forge.
type Lister interface {
	// OpenOn returns the open pull requests that ask for a branch, by number. Each has the
	// fields that a list shows: head, base, author, draft and labels are among them,
	// approvals are not.
	OpenOn(ctx context.Context, branch string) ([]PullRequest, error)
}

// Stacker is a Forge on which one pull request can ask for the branch of another.
// Without it, a pull request that asks for another branch than the queue's is not for
// this queue, and no branch is deleted after a landing. Errors as in Forge.
type Stacker interface {
	// OpenFrom returns the open pull requests with this branch of the repository
	// itself as their head, not a fork's branch of the same name, by number. Each has
	// the fields that a list shows: labels and approvals are left out.
	OpenFrom(ctx context.Context, branch string) ([]PullRequest, error)
	// Retarget makes an open pull request ask for another base. It is no error to do it
	// again, or to do it to a pull request that is not open any more. ErrForbidden
	// besides: the pull request is in one of the forge's own stacks
	// (PullRequest.Stack), and nothing was tried.
	Retarget(ctx context.Context, number int, base string) error
}

// Accustomed is a Forge on which a setting of the repository says how pull requests land.
// Without it, the configuration file alone does. Errors as in Forge.
type Accustomed interface {
	// Methods returns the methods by which pull requests may land, the usual one first.
	Methods(ctx context.Context) ([]config.Method, error)
	// Messages returns the templates of the messages of commits that land on a branch;
	// zero where the repository has none.
	Messages(ctx context.Context, branch string) (config.Messages, error)
}

// Tidier is a repository on this machine that nobody else looks after. Without it,
// the forge packs the repository.
type Tidier interface {
	// Tidy packs what has become many small files; call it now and then.
	Tidy(ctx context.Context) error
}
