// Package conform is one test suite for all forges. It checks the promises of package
// forge, for each verb and each capability, with an adapter and a host at which people
// act.
//
//	func TestConform(t *testing.T) {
//		conform.Run(t, func(t *testing.T) conform.Host { ... })
//	}
//
// A Host is the adapter under test, verbs to act as people do there (People) and eyes to
// see what people see (Seen). Each test makes a separate host. A capability that an
// adapter does not have, nil in its Capabilities, is not tested; it is an error if the
// adapter has its methods all the same, since nobody would call them.
//
// Every verb must keep these promises: it returns the promised errors (ErrNotFound,
// ErrAway, *Transient); doing it twice has the effect of doing it once, even with a
// restart in between (Host.Again); and hostile texts are passed on unchanged.
//
// How do I add a promise? One function here, and one row of promises. How do I add
// a forge? See package forge.
package conform

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

// People act at the host. The author of all pull requests is Host.Author. A verb that
// cannot be carried out fails the test.
type People interface {
	// Push puts one more commit on a branch; a new branch begins at the base.
	Push(branch string) queue.CommitID
	// Delete deletes a branch.
	Delete(branch string)
	// Open opens a pull request of a branch to a base, and returns its number.
	Open(branch, base, title, body string) int
	// Ask asks to land a pull request: by a comment, or in the host's own way.
	Ask(number int, command string)
	// Approve approves the present head of a pull request. False: this host has no
	// approvals.
	Approve(number int) bool
	// Close closes a pull request that has not landed.
	Close(number int)
}

// Seen shows what people see of the adapter's words.
type Seen interface {
	// Comments returns the texts of the adapter's comments on a pull request.
	Comments(number int) []string
	// Checks returns the states of the adapter's check runs of a name on a commit.
	Checks(head queue.CommitID, name string) []forge.CheckState
	// Reactions returns how many reactions of the adapter a pull request's comments have.
	Reactions(number int) int
}

// Host is a forge under test.
type Host struct {
	Forge  forge.Forge
	Again  func() forge.Forge // another adapter of the same repository, as after a restart
	People People
	Seen   Seen

	Base     string           // the default branch, which exists
	Author   string           // the author of the pull requests, with PermissionWrite or more
	Stranger forge.Permission // the permission of an unknown user

	// Titled says that a pull request has the title and body that it was opened with.
	Titled bool
	// Break makes the next request to the host fail in a way that goes away. Nil: requests
	// cannot fail in such a way.
	Break func()
	// Away removes our access to the repository, or gives it back. Nil: that is not
	// possible.
	Away func(gone bool)
	// Rename gives the repository another name. Nil: with no Locator.
	Rename func()

	// Receiver reads webhooks. Nil: the host sends none.
	Receiver forge.Receiver
	// Sign returns a delivery of a comment on a pull request, rightly signed. Nil: with no
	// Receiver.
	Sign func(body string) Delivery
}

// promise is a promise of the port.
type promise struct {
	name string
	of   func(Host, forge.Capabilities) bool // whether it applies to this host; nil: it applies to every host
	hold func(*testing.T, Host)
}

var promises = []promise{
	{"a-pull-request", nil, pullRequest},
	{"hostile-pull-requests", nil, hostilePullRequests},
	{"approvals", nil, approvals},
	{"permission", nil, permission},
	{"a-comment", nil, comment},
	{"a-check", nil, checkRun},
	{"protection", nil, protection},
	{"remote", nil, remote},
	{"missed", nil, missed},
	{"capabilities", nil, capabilities},
	{"transient-errors", func(h Host, _ forge.Capabilities) bool { return h.Break != nil }, transient},
	{"away", func(h Host, _ forge.Capabilities) bool { return h.Away != nil }, away},
	{"receiver", func(h Host, _ forge.Capabilities) bool { return h.Receiver != nil }, receiver},
	{"publisher", func(_ Host, can forge.Capabilities) bool { return can.Publisher != nil }, publisher},
	{"reactor", func(_ Host, can forge.Capabilities) bool { return can.Reactor != nil }, reactor},
	{"stacker", func(_ Host, can forge.Capabilities) bool { return can.Stacker != nil }, stacker},
	{"closer", func(_ Host, can forge.Capabilities) bool { return can.Closer != nil }, closer},
	{"proposer", func(_ Host, can forge.Capabilities) bool { return can.Proposer != nil }, proposer},
	{"requirer", func(_ Host, can forge.Capabilities) bool { return can.Requirer != nil }, requirer},
	{"teams", func(_ Host, can forge.Capabilities) bool { return can.Teams != nil }, teams},
	{"ci", func(_ Host, can forge.Capabilities) bool { return can.CI != nil }, ci},
	{"locator", func(_ Host, can forge.Capabilities) bool { return can.Locator != nil }, locator},
	{"access", func(_ Host, can forge.Capabilities) bool { return can.Access != nil }, access},
	{"redeliverer", func(_ Host, can forge.Capabilities) bool { return can.Redeliverer != nil }, redeliverer},
	{"limited", func(_ Host, can forge.Capabilities) bool { return can.Limited != nil }, limited},
	{"tidier", func(_ Host, can forge.Capabilities) bool { return can.Tidier != nil }, tidier},
}

// Run checks that the adapter keeps all promises of the port. open makes a host
// without pull requests, and may be called at the same time for several tests.
func Run(t *testing.T, open func(*testing.T) Host) {
	first := open(t)
	for _, p := range promises {
		if p.of == nil || p.of(first, first.Forge.Capabilities()) {
			t.Run(p.name, func(t *testing.T) {
				t.Parallel()
				p.hold(t, open(t))
			})
		}
	}
}

// nowhere is the number of no pull request.
const nowhere = 99_999

// unknown is the id of no commit.
var unknown = queue.CommitID(strings.Repeat("1", 40))

// capabilities compares the stated capabilities with the adapter's methods.
func capabilities(t *testing.T, h Host) {
	can := h.Forge.Capabilities()
	if again := h.Forge.Capabilities(); again != can {
		t.Errorf("stated at first: %+v; then: %+v", can, again)
	}
	all, typ := reflect.ValueOf(can), reflect.TypeFor[forge.Capabilities]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		switch stated := all.Field(i); {
		case stated.IsNil() && reflect.TypeOf(h.Forge).Implements(f.Type):
			t.Errorf("%T has the methods of %s, and does not state it", h.Forge, f.Name)
		case !stated.IsNil() && stated.Elem().Kind() == reflect.Pointer && stated.Elem().IsNil():
			t.Errorf("%s is stated by a nil pointer", f.Name)
		}
	}
	if can.Stander != nil && can.Requirer == nil {
		t.Error("it tells what is not met with a pull request (Stander), and nothing of it alone (Requirer)")
	}
	if can.Publisher == nil && can.Closer == nil {
		t.Error("neither Publisher nor Closer: a pull request that has landed as another commit stays open for ever")
	}
	if (h.Rename != nil) != (can.Locator != nil) {
		t.Error("the repository can be renamed, and is not found again; or the other way round")
	}
}

// opened opens a pull request of a new branch.
func (h Host) opened(branch string) (number int, head queue.CommitID) {
	head = h.People.Push(branch)
	return h.People.Open(branch, h.Base, "Change "+branch, ""), head
}

// pull reads an existing pull request.
func (h Host) pull(t *testing.T, number int) forge.PullRequest {
	t.Helper()
	pr, err := h.Forge.PullRequest(t.Context(), number)
	if err != nil {
		t.Fatalf("pull request %d: %v", number, err)
	}
	return pr
}

func mustNot(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}

func mustBe(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// verb is a verb of the port that makes requests to the host, with its name.
type verb struct {
	name string
	do   func(context.Context, forge.Forge) error
}

// verbs returns verbs of the port, about an existing pull request.
func (h Host) verbs(number int, head queue.CommitID) []verb {
	return []verb{
		{"PullRequest", func(ctx context.Context, f forge.Forge) error { _, err := f.PullRequest(ctx, number); return err }},
		{"Permission", func(ctx context.Context, f forge.Forge) error { _, err := f.Permission(ctx, h.Author); return err }},
		{"Comment", func(ctx context.Context, f forge.Forge) error {
			return f.Comment(ctx, number, marker, fmt.Sprint(marker, time.Now().UnixNano()))
		}},
		{"Check", func(ctx context.Context, f forge.Forge) error {
			return f.Check(ctx, forge.Check{Name: "conform", Head: head, ExternalID: "x", State: forge.CheckRunning, Title: fmt.Sprint(time.Now().UnixNano())})
		}},
		{"Missed", func(ctx context.Context, f forge.Forge) error {
			_, err := f.Missed(ctx, time.Now().Add(-time.Hour), []int{number})
			return err
		}},
	}
}
