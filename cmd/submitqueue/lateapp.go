package main

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// lateApp is what is left to do of a server on GitHub once it runs: to make its
// App, to find its repositories, or both.
type lateApp struct {
	c        *serveCommand
	log      *slog.Logger
	shared   *github.Shared
	receiver *lateReceiver
	setup    *setup  // nil: there is an App
	app      appFile // that one

	mu    sync.Mutex
	stack *stack
}

// start is told of the server, which runs.
func (l *lateApp) start(s *stack) error {
	l.mu.Lock()
	l.stack = s
	l.mu.Unlock()
	if l.setup == nil {
		return l.made(l.app)
	}
	out := l.c.out
	if out == nil {
		out = os.Stderr
	}
	l.setup.announce(out, s.base)
	return nil
}

// made lets the server work as an App.
func (l *lateApp) made(a appFile) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, receiver := l.stack, github.NewReceiver(a.WebhookSecret)
	if len(l.c.Repo) > 0 {
		queues, err := l.queues(a)
		if err != nil {
			return err
		}
		l.receiver.set(receiver, nil)
		for _, q := range queues {
			s.spawn(func(ctx context.Context) {
				if _, err := s.set.add(ctx, q); err != nil {
					l.log.Error("a queue cannot be opened; restart the server", "queue", q.name(), "error", err)
				}
			})
		}
		return nil
	}
	d, err := newDiscovery(a, l.shared, l.log)
	if err != nil {
		return err
	}
	d.set, d.branch, d.queue = s.set, l.c.Branch, l.c.onGitHub
	d.names = &queueNames{store: s.store, owner: s.set.name}
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

// queues are those of the repositories that were named.
func (l *lateApp) queues(a appFile) (list []stackQueue, err error) {
	branch := l.c.Branch
	if branch == "" {
		branch = "main"
	}
	app, err := github.NewApp(github.AppOptions{BaseURL: a.API, AppID: a.ID, PrivateKey: []byte(a.Key), Shared: l.shared, Logger: l.log})
	if err != nil {
		return nil, err
	}
	for _, name := range l.c.Repo {
		owner, repo, err := ownerAndName(name)
		if err != nil {
			return nil, err
		}
		f, err := github.New(github.Options{BaseURL: a.API, AppID: a.ID, PrivateKey: []byte(a.Key), Owner: owner, Name: repo, App: app, Shared: l.shared, Logger: l.log})
		if err != nil {
			return nil, err
		}
		full := owner + "/" + repo
		list = append(list, l.c.onGitHub(full, branch, a.API, f, l.log))
	}
	return list, nil
}

// onGitHub is a queue of a repository there, whose own CI builds as well.
func (c *serveCommand) onGitHub(name, branch, api string, f *github.Forge, log *slog.Logger) stackQueue {
	return stackQueue{Repository: name, Branch: branch, Follow: c.Branch == "", Forge: f, URL: repositoryURL(api, name),
		CI: &forgeci.Options{CI: f, Prefix: c.RefPrefix, Slots: c.CIBuilds, Name: "GitHub", Log: log}}
}
