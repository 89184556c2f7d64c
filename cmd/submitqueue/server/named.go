package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
)

// named opens the queues of repositories that people have named (--repo). A name that a
// repository with queues has, or had, means that repository, even if another one has
// the name now. For any other name, the forge is asked for the repository; until it
// answers there is no queue.
type named struct {
	file   githubapp.File
	shared *github.Shared
	queue  func(key repositoryKey, name, branch, api string, f *github.Forge) Queue
	set    *queueSet
	keys   *queueKeys
	branch string
	log    *slog.Logger
	nudges chan struct{}

	mu   sync.Mutex
	left map[string]error // names that could not be opened yet, and why
}

const namedWait = 10 * time.Second // for the forge's answer about one name

// ready returns an error while a repository is still missing.
func (n *named) ready() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, err := range n.left {
		return fmt.Errorf("starting: %s is not found yet: %w", name, err)
	}
	return nil
}

// open tries once to open all queues that are left. It reports whether none is left.
func (n *named) open(ctx context.Context, app *github.App) bool {
	n.mu.Lock()
	var todo []string
	for name := range n.left {
		todo = append(todo, name)
	}
	n.mu.Unlock()
	var work errgroup.Group
	work.SetLimit(discoverWidth)
	for _, name := range todo {
		work.Go(func() error {
			err := n.one(ctx, app, name)
			n.mu.Lock()
			defer n.mu.Unlock()
			if n.left[name] = err; err == nil {
				delete(n.left, name)
			} else if ctx.Err() == nil {
				n.log.Warn("a repository's queue cannot be opened yet; trying again", "repository", name, "error", err)
			}
			return nil
		})
	}
	_ = work.Wait() // their errors are in left
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.left) == 0
}

// run opens the queues that are left, until none is left or ctx ends.
func (n *named) run(ctx context.Context, app *github.App) {
	t := time.NewTicker(discoverAgain)
	defer t.Stop()
	for {
		select {
		case <-t.C:
		case <-n.nudges:
		case <-ctx.Done():
			return
		}
		if n.open(ctx, app) {
			return
		}
	}
}

// heard has the next try begin now where the App was given access to something.
func (n *named) heard(d forge.Delivery, _ []byte) {
	if strings.HasPrefix(d.Kind, "installation") {
		select {
		case n.nudges <- struct{}{}:
		default:
		}
	}
}

func (n *named) one(ctx context.Context, app *github.App, given string) error {
	owner, name, err := githubapp.OwnerAndName(given)
	if err != nil {
		return err
	}
	given = owner + "/" + name
	id, kept, err := n.keys.named(ctx, given)
	if err != nil {
		return err
	}
	full := given
	if id != 0 {
		full = kept.name()
		owner, name, _ = strings.Cut(full, "/")
	}
	f, err := github.New(github.Options{BaseURL: n.file.API, AppID: n.file.ID, PrivateKey: []byte(n.file.Key),
		Owner: owner, Name: name, RepositoryID: id, App: app, Shared: n.shared, Logger: n.log})
	if err != nil {
		return err
	}
	asked, cancel := context.WithTimeout(ctx, namedWait)
	defer cancel()
	place, err := f.Locate(asked, id)
	switch {
	case err == nil:
		if kept, err = n.keys.of(ctx, place, ""); err != nil {
			return err
		}
	case id == 0:
		return err
	default:
		place = forge.Place{ID: id, Name: full} // the queue goes on when the forge is back
	}
	if !strings.EqualFold(place.Name, given) {
		n.log.Warn("a repository has another name by now", "given", given, "called", place.Name)
	}
	q := n.queue(kept, place.Name, n.branch, n.file.API, f)
	n.set.s.moved(q.Hook, q.Repository)(place)
	_, err = n.set.add(ctx, q)
	if errors.Is(err, errServed) {
		n.log.Warn("a repository is named twice", "given", given, "called", place.Name)
		return nil
	}
	return err
}
