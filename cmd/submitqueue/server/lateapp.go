package server

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// lateApp does the rest of the work for GitHub once the server runs: it makes the App,
// finds the repositories, or both.
type lateApp struct {
	c        *Serve
	log      *slog.Logger
	shared   *github.Shared
	receiver *lateReceiver
	setup    *setup         // nil: there is an App
	app      githubapp.File // the App, where setup is nil

	mu    sync.Mutex
	stack *Stack
}

// start is called with the server once that runs.
func (l *lateApp) start(s *Stack) error {
	l.mu.Lock()
	l.stack = s
	l.mu.Unlock()
	if l.setup == nil {
		return l.made(l.app)
	}
	l.setup.admits(s.Server.Admit)
	l.setup.announce(l.c.console(), s.Base)
	return nil
}

// made lets the server work as an App.
func (l *lateApp) made(a githubapp.File) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, receiver := l.stack, github.NewReceiver(a.WebhookSecret)
	keys := newQueueKeys(s.store, s.set.name, a.API)
	s.set.use("github", keys)
	if len(l.c.Repo) > 0 {
		return l.named(a, receiver, keys)
	}
	d, err := newDiscovery(a, l.shared, l.log)
	if err != nil {
		return err
	}
	d.set, d.branch, d.queue, d.keys = s.set, l.c.Branch, l.onGitHub, keys
	for _, o := range l.c.Owner {
		d.owners = append(d.owners, strings.ToLower(o))
	}
	if slices.Contains(d.owners, "*") {
		l.log.Warn("whoever may install the App has his code run on this server's runners (--owner '*')")
	}
	l.receiver.set(receiver, d.heard)
	s.spawn(d.run)
	return nil
}

// named serves the repositories of --repo. The caller holds mu.
func (l *lateApp) named(a githubapp.File, receiver forge.Receiver, keys *queueKeys) error {
	app, err := github.NewApp(github.AppOptions{BaseURL: a.API, AppID: a.ID, PrivateKey: []byte(a.Key), Shared: l.shared, Logger: l.log})
	if err != nil {
		return err
	}
	n := &named{file: a, shared: l.shared, queue: l.onGitHub, set: l.stack.set, keys: keys, branch: cmp.Or(l.c.Branch, "main"), log: l.log,
		nudges: make(chan struct{}, 1), left: map[string]error{}}
	for _, name := range l.c.Repo {
		n.left[name] = errors.New("it was not looked for yet")
	}
	l.stack.set.wait(n.ready)
	l.stack.spawn(func(ctx context.Context) {
		done := n.open(ctx, app)
		l.receiver.set(receiver, n.heard) // not earlier: webhooks that are refused until then are asked for again
		if !done {
			n.run(ctx, app)
		}
	})
	return nil
}

// onGitHub returns a queue of a repository on GitHub. GitHub's own CI builds as well.
func (l *lateApp) onGitHub(key repositoryKey, name, branch, api string, f *github.Forge) Queue {
	return Queue{Hook: "github", Repository: key.Key, Called: key.names(), Branch: branch, Follow: l.c.Branch == "", Forge: f, URL: repositoryURL(api, name),
		CI: &forgeci.Options{CI: f.Capabilities().CI, Starter: f.Capabilities().Starter, Prefix: l.c.RefPrefix, Slots: l.c.CIBuilds, Name: "GitHub", Log: l.log}}
}
