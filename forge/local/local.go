// Package local is the embedded way to use the queue, with no code host: the
// forge is a plain git repository on this machine. Everybody with write access to
// its directory has all permissions. In place of a pull request there is a request
// to land a branch (Request), kept in the repository itself, so that it outlives
// the server and can be made while no server runs.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

var _ forge.Forge = (*Forge)(nil)

// Forge is a git repository on this machine.
type Forge struct {
	store *mirror.Store
	path  string
	base  string
	now   func() time.Time
	sole  io.Closer // set by Sole

	opening  sync.Mutex // one request is made at a time
	listed   bool       // known has every request that existed once; guarded by opening
	changing sync.Mutex // one request is changed at a time; taken after opening

	mu    sync.Mutex
	known map[int]versioned
}

// New opens the bare repository at path. Requests ask to land on base, which must
// exist; "" stands for the repository's default branch. Errors say what to do.
func New(ctx context.Context, path, base string) (*Forge, error) {
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no repository at %s; make one with: git clone --bare YOUR-CLONE %s", path, path)
	}
	store, err := mirror.OpenStore(ctx, path)
	if err != nil {
		return nil, err
	}
	f := &Forge{store: store, path: store.Dir(), base: base, now: time.Now, known: map[int]versioned{}}
	if err := f.check(ctx, path); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return f, nil
}

// SetClock makes the forge use another clock than the machine's. Call it before any other
// method.
func (f *Forge) SetClock(now func() time.Time) { f.now = now }

// check refuses a repository on which changes cannot land. base is known
// afterwards.
func (f *Forge) check(ctx context.Context, path string) error {
	bare, err := f.store.Bare(ctx)
	if err != nil {
		return err
	}
	if !bare {
		clone := strings.TrimSuffix(filepath.Clean(path), string(filepath.Separator)+".git")
		return fmt.Errorf("%s has a work tree, and git refuses pushes to a branch that is checked out; serve a bare clone of it: git clone --bare %s %s.git",
			path, clone, clone)
	}
	branches, err := f.store.Refs(ctx, "refs/heads/")
	if err != nil {
		return err
	}
	if len(branches) == 0 {
		return fmt.Errorf("%s is empty: push a first commit to it", path)
	}
	if f.base == "" {
		if f.base, err = f.store.Head(ctx); err != nil {
			return fmt.Errorf("%s has no default branch; name one (%s): %w", path, named(branches), err)
		}
	}
	if branches["refs/heads/"+f.base] == "" {
		return fmt.Errorf("%s has no branch %q to land on; it has: %s", path, f.base, named(branches))
	}
	return nil
}

// named lists some branches for people.
func named(branches map[string]string) string {
	const most = 8
	var names []string
	for name := range branches {
		names = append(names, strings.TrimPrefix(name, "refs/heads/"))
	}
	sort.Strings(names)
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	return strings.Join(names, ", ")
}

// Tidy implements forge.Tidier. Each publication about a request writes a blob,
// which is unreachable once there is a newer one.
func (f *Forge) Tidy(ctx context.Context) error { return f.store.Tidy(ctx) }

// Stop ends the git processes that the forge keeps, and what Sole has said.
func (f *Forge) Stop() error {
	err := f.store.Close()
	if f.sole != nil {
		err = errors.Join(err, f.sole.Close())
	}
	return err
}

// Base returns the branch that requests land on.
func (f *Forge) Base() string { return f.base }

// Tip returns the present commit of the base.
func (f *Forge) Tip(ctx context.Context) (queue.CommitID, error) {
	tip, _, err := f.store.Commit(ctx, "refs/heads/"+f.base)
	return tip, err
}

// Asked returns the branch that a request asks to land. forge.ErrNotFound: no
// such request.
func (f *Forge) Asked(ctx context.Context, number int) (string, error) {
	r, _, err := f.get(ctx, number)
	return r.Branch, err
}

// Capabilities implements forge.Forge. A request ends when the queue says so, and it
// has no place for a reaction.
func (f *Forge) Capabilities() forge.Capabilities {
	return forge.Capabilities{Publisher: f, Proposer: f, Tidier: f}
}

// PullRequest implements forge.Forge. The head is the branch's present tip; a request
// is not open if its branch is gone, and then has the head it was made with. Only the
// tip that the branch had when somebody asked may land (Open).
func (f *Forge) PullRequest(ctx context.Context, number int) (forge.PullRequest, error) {
	r, _, err := f.get(ctx, number)
	if err != nil {
		return forge.PullRequest{}, err
	}
	pr := forge.PullRequest{
		Number: number, Title: r.Branch, Author: r.Author, Source: r.Branch,
		Head: r.Head, HeadRef: "refs/heads/" + r.Branch, Base: r.Base,
		Open: r.State == Open, Merged: r.State == Merged,
	}
	head, subject, err := f.store.Commit(ctx, pr.HeadRef)
	switch {
	case errors.Is(err, forge.ErrNotFound):
		pr.Open = false
	case err != nil:
		return forge.PullRequest{}, err
	case r.State == Open:
		pr.Head, pr.Title = head, subject
	}
	if !r.Proposed {
		pr.Asked = r.Head
	}
	revert := queue.IsRevert(pr.Title, "")
	pr.Facets.Revert = &revert
	if pr.Head == r.Head && !r.Proposed {
		pr.ApprovedBy = []string{r.Author} // the author administers the repository, and asked for this head
	}
	return pr, nil
}

// Permission implements forge.Forge: everybody with write access to the repository
// administers it.
func (f *Forge) Permission(context.Context, string) (forge.Permission, error) {
	return forge.PermissionAdmin, nil
}

// Comment implements forge.Forge. A request has one comment, whatever its marker.
func (f *Forge) Comment(ctx context.Context, number int, _, body string) error {
	return f.change(ctx, number, func(r *Request) { r.Comment = body })
}

// Check implements forge.Forge. It is kept with the requests for that head; a check
// on any other commit has no place and is dropped.
func (f *Forge) Check(ctx context.Context, c forge.Check) error {
	numbers := f.withHead(c.Head)
	if len(numbers) == 0 {
		if _, err := f.List(ctx); err != nil {
			return err
		}
		numbers = f.withHead(c.Head)
	}
	var err error
	for _, n := range numbers {
		err = errors.Join(err, f.change(ctx, n, func(r *Request) {
			r.check(c)
		}))
	}
	return err
}

// Protection implements forge.Forge: the hooks of the repository answer a push.
func (f *Forge) Protection(context.Context, string) (forge.Protection, error) {
	return forge.Protection{Protected: true, MayPush: true}, nil
}

// Remote implements forge.Forge.
func (f *Forge) Remote(context.Context) (forge.Remote, error) {
	return forge.Remote{URL: f.path}, nil
}

// Missed implements forge.Forge. Every open request is an event, with the time when
// it was asked for and an id that stays the same until another head is asked for.
func (f *Forge) Missed(ctx context.Context, _ time.Time, open []int) ([]queue.Event, error) {
	requests, err := f.List(ctx)
	if err != nil {
		return nil, err
	}
	now := queue.At(f.now())
	var events []queue.Event
	for _, r := range requests {
		if r.State != Open || r.Proposed {
			continue
		}
		asked := min(max(r.Asked, r.Created), now) // not the present time: the request's verdict may come before this event
		for _, command := range r.commands() {
			comment := forge.RequestComment(r.Number, command)
			events = append(events, queue.Event{
				ID: fmt.Sprintf("local/%d/land/%s/%s", r.Number, r.Head, comment), At: asked,
				Body: queue.Commented{Number: r.Number, Comment: comment, Author: r.Author, Body: command},
			})
		}
	}
	for _, n := range open {
		pr, err := f.PullRequest(ctx, n)
		switch {
		case errors.Is(err, forge.ErrNotFound):
			events = append(events, queue.Event{
				ID: fmt.Sprintf("local/%d/closed/%d", n, now), At: now, Body: queue.Closed{Number: n},
			})
		case err != nil:
			return nil, err
		case !pr.Open:
			events = append(events, queue.Event{
				ID: fmt.Sprintf("local/%d/closed/%d", n, now), At: now, Body: queue.Closed{Number: n, Merged: pr.Merged},
			})
		default:
			events = append(events, queue.Event{
				ID: fmt.Sprintf("local/%d/head/%s/%d", n, pr.Head, now), At: now, Body: queue.HeadMoved{Number: n, Head: pr.Head},
			})
		}
	}
	return events, nil
}
