// Package forge is the port to a code host: it has the operations that the queue needs,
// and no details of a certain host. Forge has the verbs that every host has,
// Capabilities the ones that only some have, and Receiver reads webhooks.
//
// Git is not here: fetching, merging, checking out and pushing are the same for every
// host, and are in forge/mirror. The port gives the mirror an address with credentials
// (Remote), and takes the errors below from it.
//
// # A worked example
//
// A comment "/land" on pull request 7 comes as a webhook: Receiver.Receive makes it a
// queue.Commented. The service calls PullRequest(7) and Permission of the author, and,
// if Capabilities().Requirer is not nil, Unmet. It answers with Reactor.React where there
// is one, and keeps one comment (Comment) and one check run (Check) up to date; where
// there is a Publisher, it calls that in place of both. It fetches the head by
// PullRequest.HeadRef from Remote, and pushes main there. After the landing, Closer closes
// the pull request if the host does not see that its content is on main. Missed finds the events
// that webhooks have lost.
//
// # How do I add a forge?
//
// One package below forge, named after its host. It implements Forge and, if the host
// sends webhooks, Receiver; its method Capabilities fills in what else it can do; its test
// calls conform.Run (forge/forgetest/conform) with verbs to act as people do there.
// cmd/submitqueue/server has a row for it (forges.go), which makes it and registers its
// Receiver under its name. Nothing else knows that it is there: the service
// asks no Forge for an interface that is not in Capabilities, which a test here keeps.
//
// # How do I add a capability?
//
// One interface in capabilities.go or in a separate file, one field of Capabilities, and
// the checks of its promises in conform. The comment of the interface says what the
// service does without it.
package forge

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Forge is one repository at a code host.
//
// Errors: ErrNotFound where the thing named does not exist (any more),
// ErrForbidden where we may not do it, *Transient for errors that may go away
// without our doing (rate limits, 5xx, connections). Every other error is ours to
// fix.
type Forge interface {
	// PullRequest reads a pull request as it stands now.
	PullRequest(ctx context.Context, number int) (PullRequest, error)
	// Permission reads what a user may do with the repository.
	// A user the forge does not know has PermissionNone, without an error.
	Permission(ctx context.Context, user string) (Permission, error)
	// Comment makes the one comment that carries marker say body: it edits our
	// comment that contains marker, or creates it. The marker is an HTML comment. A forge that
	// sends mail for new comments alone makes the comment anew for each news (queue.NewsIn).
	Comment(ctx context.Context, number int, marker, body string) error
	// Check makes the one check run of this name and external id on a commit
	// show the given state and texts: it updates the check run, or creates it.
	Check(ctx context.Context, c Check) error
	// Protection reads how a branch is protected, for us.
	Protection(ctx context.Context, branch string) (Protection, error)
	// Remote returns where and with what credentials git reaches the repository.
	Remote(ctx context.Context) (Remote, error)
	// Missed returns as events what webhooks may have lost since a moment:
	// comments with commands, labels, and for each number in open the present head of the
	// pull request (as HeadMoved, or Closed). One that is gone is told as Closed, and all
	// the others are told, too. The same comment has the same event id each time.
	Missed(ctx context.Context, since time.Time, open []int) ([]queue.Event, error)
	// Capabilities says what else this forge can do: always the same.
	Capabilities() Capabilities
}

// Publication is everything that a Publisher is told of a pull request.
type Publication struct {
	Number  int
	Marker  string
	Comment string
	Check   Check // without a name: none
	Ended   bool  // it is over, as far as the queue is concerned
	Merged  bool  // and on its target branch

	// Refused is when the last command that asked to land the pull request was refused, if
	// that has left nothing in the queue; else 0. Where a pull request is nothing but a
	// request to land, it is over then, unless somebody has asked since.
	Refused queue.Instant

	// Edited is when somebody else has last edited the comment; 0: nobody has. If the
	// value has changed, the comment must be written again, even if its text is the
	// same.
	Edited queue.Instant
}

// Receiver verifies and reads webhooks.
type Receiver interface {
	// Verify returns a writer to write the body to, and a function to call after that: it
	// returns nil if the signature is right, else ErrSignature. So a body that nobody has
	// signed need not be in memory. Error: ErrSignature, where the header has nothing
	// that could be a signature; the body need not be read then.
	Verify(h http.Header) (body io.Writer, right func() error, err error)
	// Receive checks the signature over the raw body, then reads it. Errors:
	// ErrSignature (answer 401, store nothing), ErrMalformed (400), ErrIgnored
	// (an event we do not use: 202, counted).
	Receive(h http.Header, body []byte) (Delivery, error)
}

// Delivery is one verified webhook.
type Delivery struct {
	ID         string // the forge's id of the delivery; the same when it is delivered again
	Kind       string // the forge's name of the event, for logs and counters
	Repository string // "owner/name"
	Events     []queue.Event
	CI         CINews // its news of CI; they need not be kept, since they can be asked for

	RepositoryID int64   // stays the same when the repository has another name; 0: not told
	Formerly     string  // "owner/name" that the repository had before
	Repositories []Place // it is about these, too; without their default branches
	Account      string  // it is about all repositories of this owner, too
}

// PullRequest is a pull or merge request as it stands at the forge.
type PullRequest struct {
	Number     int
	Title      string // hostile text
	Body       string // the description, Markdown; hostile text
	Author     string
	Source     string         // head branch; hostile text
	Head       queue.CommitID // head SHA now
	Asked      queue.CommitID // the head that was asked to land, where asking is part of the request; empty: commands tell
	HeadRef    string         // the ref to fetch the head by, e.g. refs/pull/7/head
	Base       string         // target branch
	Fork       bool
	Draft      bool
	Open       bool
	Merged     bool
	Labels     []string
	ApprovedBy []string      // users with an approving review of exactly this head
	URL        string        // page for people; empty where there is none
	Changed    queue.Instant // when it was last changed, by the forge's clock; 0: not told

	Stack Stack // the forge's own stack that it is in; zero: none, or the forge has no such thing

	Facets queue.Facets // other facts that the forge tells without another request; the queue's own counts are left out
}

// Stack is a stack of pull requests that the forge itself knows as one: each asks for the
// branch of the one below it, and the forge alone changes what they ask for, when it has
// seen that the lowest is merged.
type Stack struct {
	Number   int    // within the repository; 0: no stack
	Base     string // the branch that all of it is to land on; hostile text
	Position int    // of the pull request, from 1, the lowest; merged ones count
	Size     int
}

// Permission says what a user may do with a repository, from least to most.
type Permission int

// The levels of permission.
const (
	PermissionNone Permission = iota
	PermissionRead
	PermissionTriage
	PermissionWrite
	PermissionMaintain
	PermissionAdmin
)

// String returns the level's name as forges write it.
func (p Permission) String() string {
	return [...]string{"none", "read", "triage", "write", "maintain", "admin"}[p]
}

// Reaction acknowledges a command.
type Reaction string

// The reactions we use, by GitHub's names.
const (
	ReactionSeen     Reaction = "eyes"
	ReactionAccepted Reaction = "rocket"
	ReactionRefused  Reaction = "confused"
)

// CheckState is the state of a check run.
type CheckState string

// The states of a check run. All but queued and running are conclusions.
const (
	CheckQueued    CheckState = "queued"
	CheckRunning   CheckState = "in_progress"
	CheckPassed    CheckState = "success"
	CheckFailed    CheckState = "failure"
	CheckNeutral   CheckState = "neutral"
	CheckCancelled CheckState = "cancelled"
)

// Check is a check run on a commit.
type Check struct {
	Name       string
	Head       queue.CommitID
	ExternalID string // identifies the check run when it is sent again
	State      CheckState
	Title      string // one line
	Summary    string // Markdown, at most 65,535 characters
	DetailsURL string // page for people; may be empty

	Annotations []Annotation // at most MostAnnotations; those of a check run do not change any more
	Buttons     []Button     // at most three
	New         bool         // nobody can have made it before, so it need not be looked for
}

// Protection is how a branch is protected.
type Protection struct {
	Protected bool   // any rule applies
	MayPush   bool   // as far as can be told, a push by us is accepted
	Rule      string // the rule that refuses us, in the forge's words, when MayPush is false
}

// Remote is where git reaches a repository.
type Remote struct {
	URL    string   // without credentials
	Header []string // extra HTTP headers with credentials; never logged, never on a command line
	Pace   Pace     // at which its host wants to be used
	Refs   int      // how many refs of one push the host has its CI test; 0: all
	Quiet  []string // options by which a push has nothing tested; empty: the host has none
}

// Pace is how often a code host wants one repository to be used by git. It never
// delays an operation that people wait for: a push to a target branch counts, but
// does not wait.
type Pace struct {
	Pushes int // per minute; 0: as many as come
	Reads  int // fetches and listings of refs, per second; 0: as many as come
}

// RequestComment returns the id of a command, such as "/land", that makes a request to
// land, where the forge has requests instead of pull requests with comments. The same
// command for a request has the same id, in whichever way it becomes known.
func RequestComment(number int, command string) string {
	id := "request-" + strconv.Itoa(number)
	if command != queue.PlainLand {
		id += "-" + string(digest.Of("request1", command)[:12])
	}
	return id
}

// Sentinel errors of this port.
var (
	ErrNotFound  = errors.New("forge: not found")
	ErrForbidden = errors.New("forge: forbidden")
	ErrTorn      = errors.New("forge: the requested data cannot be read there") // an object is missing or damaged
	ErrSignature = errors.New("forge: webhook signature is missing or wrong")
	ErrMalformed = errors.New("forge: webhook cannot be read")
	ErrIgnored   = errors.New("forge: event is not used")
)

// Transient is an error that may go away without our doing.
type Transient struct {
	Err   error
	After time.Duration // wait at least this long before the next try; 0 when the forge did not say
}

func (t *Transient) Error() string { return t.Err.Error() }

// Unwrap returns the cause.
func (t *Transient) Unwrap() error { return t.Err }
