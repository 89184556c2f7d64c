package server

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/queue/config"
)

// discovery finds the repositories that an App reaches, and opens a queue for each one
// that has a configuration. A repository without one costs a request when it is first
// seen, and one more after each push to it, if any.
//
// An account or repository that refuses is tried again later, and keeps no other one
// waiting: each queue is opened separately, and a list that cannot be read changes
// nothing.
type discovery struct {
	app    *github.App
	file   githubapp.File
	shared *github.Shared // by all repositories
	queue  func(key repositoryKey, name, branch, api string, f *github.Forge) Queue
	set    *queueSet
	keys   *queueKeys
	branch string   // "": each repository's default branch
	owners []string // accounts that the served installations belong to, in lower case; "*": all accounts; none: the App's owner
	log    *slog.Logger
	nudges chan struct{}
	each   time.Duration

	mu    sync.Mutex
	look  map[string]bool // full names, in lower case, of repositories with a configuration that a push has changed
	known map[int64]*place
	owner string // of the App
}

// place is a repository that was seen.
type place struct {
	repository string // its part in the key of its queue
	queue      string // that key; "": it has none
	from       int64  // the installation that reaches it
	pushed     string // when it was last pushed to, as of the last look for a configuration
	forge      *github.Forge
}

// Times of a discovery.
const (
	discoverEach  = 10 * time.Minute
	discoverAgain = 20 * time.Second // after a failure
	discoverWidth = 4                // repositories looked at, or opened, at one time
)

func newDiscovery(a githubapp.File, shared *github.Shared, log *slog.Logger) (*discovery, error) {
	app, err := github.NewApp(github.AppOptions{BaseURL: a.API, AppID: a.ID, PrivateKey: []byte(a.Key), Shared: shared, Logger: log})
	if err != nil {
		return nil, err
	}
	return &discovery{app: app, file: a, shared: shared, log: log, nudges: make(chan struct{}, 1), each: discoverEach,
		look: map[string]bool{}, known: map[int64]*place{}}, nil
}

// run looks until ctx ends.
func (d *discovery) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := d.each
		if err := d.sync(ctx); err != nil && ctx.Err() == nil {
			d.log.Warn("the App's repositories cannot all be looked at; trying again", "error", err)
			wait = min(discoverAgain, d.each)
			if t := (*forge.Transient)(nil); errors.As(err, &t) {
				wait = max(wait, t.After)
			}
		}
		t := time.NewTimer(wait)
		select {
		case <-t.C:
		case <-d.nudges:
		case <-ctx.Done():
		}
		t.Stop()
	}
}

// nudge lets the next look begin now.
func (d *discovery) nudge() {
	select {
	case d.nudges <- struct{}{}:
	default:
	}
}

// heard is called for each webhook with the right signature.
func (d *discovery) heard(del forge.Delivery, body []byte) {
	switch del.Kind {
	case "installation", "installation_repositories", "repository", "installation_target":
		d.refresh()
		d.nudge()
	case "push":
		name := strings.ToLower(del.Repository)
		account, _, _ := strings.Cut(name, "/")
		if !d.serves(account) || d.set.called("github", name) || !bytes.Contains(body, []byte(`"`+config.Path+`"`)) {
			return
		}
		d.mu.Lock()
		d.look[name] = true
		d.mu.Unlock()
		d.nudge()
	}
}

// refresh has all queues ask again what the App may do.
func (d *discovery) refresh() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, p := range d.known {
		if p.forge != nil {
			p.forge.Refresh()
		}
	}
}

// serves reports whether the repositories of an account are served: the runners execute
// code of them.
func (d *discovery) serves(account string) bool {
	account = strings.ToLower(account)
	if len(d.owners) == 0 {
		d.mu.Lock()
		defer d.mu.Unlock()
		return account == d.owner
	}
	return slices.Contains(d.owners, account) || slices.Contains(d.owners, "*")
}

// sync looks once at everything. The error is about the accounts and repositories that
// could not be read; all others were read.
func (d *discovery) sync(ctx context.Context) error {
	if len(d.owners) == 0 { // asked each time: accounts are renamed, too
		facts, err := d.app.Facts(ctx)
		if err != nil {
			return err
		}
		d.mu.Lock()
		d.owner = strings.ToLower(facts.Owner.Login)
		d.mu.Unlock()
	}
	installations, err := d.app.Installations(ctx)
	if err != nil {
		return err
	}
	var errs []error
	seen := map[int64]bool{}
	unsure := map[int64]bool{} // installations with unknown repositories
	var work errgroup.Group
	work.SetLimit(discoverWidth)
	var mu sync.Mutex // of errs
	for _, in := range installations {
		if !d.serves(in.Account.Login) {
			continue
		}
		if in.SuspendedAt != nil {
			unsure[in.ID] = true // its queues wait for the end of the suspension
			continue
		}
		repos, err := d.app.Repositories(ctx, in)
		if err != nil {
			unsure[in.ID] = true
			mu.Lock()
			errs = append(errs, err)
			mu.Unlock()
			continue
		}
		for _, r := range repos {
			if r.Archived || r.Disabled {
				continue
			}
			seen[r.ID] = true
			work.Go(func() error {
				if err := d.visit(ctx, in, r); err != nil {
					mu.Lock()
					defer mu.Unlock()
					errs = append(errs, err)
				}
				return nil
			})
		}
	}
	_ = work.Wait() // their errors are in errs
	return errors.Join(append(errs, d.leave(ctx, seen, unsure))...)
}

// visit looks at one repository, if there is a reason to.
func (d *discovery) visit(ctx context.Context, in github.InstallationFacts, r github.RepoFacts) error {
	name := strings.ToLower(r.FullName)
	d.mu.Lock()
	p := d.known[r.ID]
	if p == nil {
		p = &place{}
		d.known[r.ID] = p
	}
	p.from = in.ID
	asked := d.look[name]
	if p.queue != "" {
		delete(d.look, name)
		d.mu.Unlock()
		d.set.s.moved("github", p.repository)(forge.Place{ID: r.ID, Name: r.FullName})
		return nil
	}
	d.mu.Unlock()
	if p.pushed == r.PushedAt && p.pushed != "" && !asked {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	has, err := d.configured(ctx, in, r)
	if err != nil {
		return err
	}
	d.mu.Lock()
	p.pushed = r.PushedAt
	delete(d.look, name)
	d.mu.Unlock()
	if !has {
		return nil
	}
	return d.serve(ctx, r, p)
}

// configured reports whether a repository is to have a queue. A queue that exists stays
// with its branch when another branch becomes the default one.
func (d *discovery) configured(ctx context.Context, in github.InstallationFacts, r github.RepoFacts) (bool, error) {
	if d.branch != "" {
		return d.app.Configured(ctx, in, r, d.branch)
	}
	kept, err := d.keys.find(ctx, r.ID)
	if err != nil {
		return false, err
	}
	if kept.Branch != "" && kept.Branch != r.DefaultBranch {
		if has, err := d.app.Configured(ctx, in, r, kept.Branch); has || err != nil {
			return has, err
		}
	}
	return d.app.Configured(ctx, in, r, r.DefaultBranch)
}

// serve opens a repository's queue.
func (d *discovery) serve(ctx context.Context, r github.RepoFacts, p *place) error {
	owner, name, err := githubapp.OwnerAndName(r.FullName)
	if err != nil {
		return err
	}
	f, err := github.New(github.Options{BaseURL: d.file.API, AppID: d.file.ID, PrivateKey: []byte(d.file.Key),
		Owner: owner, Name: name, RepositoryID: r.ID, App: d.app, Shared: d.shared, Logger: d.log})
	if err != nil {
		return err
	}
	at, own, queued := forge.Place{ID: r.ID, Name: r.FullName}, r.DefaultBranch, ""
	if d.branch != "" {
		own = ""
	}
	kept, err := d.keys.of(ctx, at, own)
	if err == nil {
		q := d.queue(kept, r.FullName, cmp.Or(d.branch, kept.Branch), d.file.API, f)
		d.set.s.moved(q.Hook, q.Repository)(at)
		queued, err = d.set.add(ctx, q)
	}
	if err != nil {
		d.mu.Lock()
		p.pushed = "" // look again
		d.mu.Unlock()
		return err
	}
	d.log.Info("a repository has a queue", "repository", r.FullName, "key", queued)
	d.mu.Lock()
	defer d.mu.Unlock()
	p.repository, p.queue, p.forge = kept.Key, queued, f
	return nil
}

// leave ends the queues of repositories that the App does not reach any more.
func (d *discovery) leave(ctx context.Context, seen, unsure map[int64]bool) error {
	d.mu.Lock()
	var gone []*place
	for id, p := range d.known {
		if !seen[id] && !unsure[p.from] {
			gone = append(gone, p)
			delete(d.known, id)
		}
	}
	d.mu.Unlock()
	var errs []error
	for _, p := range gone {
		if p.queue == "" {
			continue
		}
		d.log.Warn("the App does not reach this repository any more; its queue stops, and goes on from where it is when it is back", "key", p.queue)
		errs = append(errs, d.set.remove(ctx, p.queue))
	}
	return errors.Join(errs...)
}

// lateReceiver is a receiver that need not know its App at the start, and that calls heard
// for what it receives.
type lateReceiver struct {
	mu    sync.Mutex
	next  forge.Receiver
	heard func(forge.Delivery, []byte)
}

func (l *lateReceiver) set(next forge.Receiver, heard func(forge.Delivery, []byte)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next, l.heard = next, heard
}

// Verify implements forge.Receiver.
func (l *lateReceiver) Verify(h http.Header) (io.Writer, func() error, error) {
	l.mu.Lock()
	next := l.next
	l.mu.Unlock()
	if next == nil {
		return nil, nil, forge.ErrSignature
	}
	return next.Verify(h)
}

// Receive implements forge.Receiver. Before there is an App, no signature is
// right.
func (l *lateReceiver) Receive(h http.Header, body []byte) (forge.Delivery, error) {
	l.mu.Lock()
	next, heard := l.next, l.heard
	l.mu.Unlock()
	if next == nil {
		return forge.Delivery{}, forge.ErrSignature
	}
	d, err := next.Receive(h, body)
	if heard != nil && (err == nil || errors.Is(err, forge.ErrIgnored)) {
		heard(d, body)
	}
	return d, err
}
