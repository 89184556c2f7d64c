package github

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v60/github"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue/config"
)

// AppOptions say as which App to look, and at which GitHub; as in Options.
type AppOptions struct {
	BaseURL    string
	AppID      int64
	PrivateKey []byte
	Shared     *Shared
	Logger     *slog.Logger
}

// App is the App itself: where it is installed, and what it reaches there. Make
// it with NewApp; it is safe for concurrent use.
type App struct {
	f *Forge // of no repository

	mu   sync.Mutex
	list map[int64]*github.Client // by installation: to list its repositories

	again sync.Mutex
	asked time.Time // when lost webhooks were asked for
	since time.Time // and from when on
}

// NewApp returns the App. It makes no request.
func NewApp(o AppOptions) (*App, error) {
	f, err := New(Options{BaseURL: o.BaseURL, AppID: o.AppID, PrivateKey: o.PrivateKey, Shared: o.Shared, Logger: o.Logger, Owner: "-", Name: "-"})
	if err != nil {
		return nil, err
	}
	return &App{f: f, list: map[int64]*github.Client{}}, nil
}

// Facts reads how the App is registered.
func (a *App) Facts(ctx context.Context) (facts AppFacts, err error) {
	return facts, surveyor{a.f}.readAsApp(ctx, "app", &facts)
}

// Installations lists where the App is installed, suspended ones included.
func (a *App) Installations(ctx context.Context) ([]InstallationFacts, error) {
	var all []InstallationFacts
	for page := 1; page != 0; {
		req, err := a.f.app.NewRequest(http.MethodGet, fmt.Sprintf("app/installations?per_page=100&page=%d", page), nil)
		if err != nil {
			return nil, err
		}
		var list []InstallationFacts
		resp, err := a.f.app.Do(ctx, req, &list)
		if err != nil {
			return nil, failure(ctx, "list the App's installations", asApp(err))
		}
		all, page = append(all, list...), resp.NextPage
	}
	return all, nil
}

// Repositories lists what an installation reaches.
func (a *App) Repositories(ctx context.Context, in InstallationFacts) ([]RepoFacts, error) {
	c, err := a.lister(in.ID)
	if err != nil {
		return nil, err
	}
	var all []RepoFacts
	for page := 1; page != 0; {
		req, err := c.NewRequest(http.MethodGet, fmt.Sprintf("installation/repositories?per_page=100&page=%d", page), nil)
		if err != nil {
			return nil, err
		}
		var list struct {
			Repositories []RepoFacts `json:"repositories"`
		}
		resp, err := c.Do(ctx, req, &list)
		if err != nil {
			return nil, failure(ctx, "list the repositories of "+in.Account.Login, asApp(err))
		}
		all, page = append(all, list.Repositories...), resp.NextPage
	}
	return all, nil
}

// Configured says whether a branch of a repository has a configuration.
func (a *App) Configured(ctx context.Context, in InstallationFacts, r RepoFacts, branch string) (bool, error) {
	c, err := a.lister(in.ID)
	if err != nil {
		return false, err
	}
	req, err := c.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/contents/%s?ref=%s", r.FullName, config.Path, url.QueryEscape(branch)), nil)
	if err != nil {
		return false, err
	}
	_, err = c.Do(ctx, req, nil)
	if err = failure(ctx, "look for "+config.Path+" in "+r.FullName, err); errors.Is(err, forge.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// lister is a client with a token that reads the names and code of an
// installation's repositories, and can do nothing else.
func (a *App) lister(id int64) (*github.Client, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c := a.list[id]; c != nil {
		return c, nil
	}
	apps, err := a.f.appTransport(id)
	if err != nil {
		return nil, err
	}
	t := ghinstallation.NewFromAppsTransport(apps, id)
	t.InstallationTokenOptions = &github.InstallationTokenOptions{Permissions: &github.InstallationPermissions{
		Contents: github.String("read"), Metadata: github.String("read"),
	}}
	c := a.f.newClient(t)
	a.list[id] = c
	return c, nil
}

// redeliverEach is how long the answer to one queue, that no webhook is lost, also
// holds for the others: the lost webhooks are the App's, not a repository's.
const redeliverEach = time.Minute

func (a *App) redeliver(ctx context.Context, since time.Time) (int, error) {
	a.again.Lock()
	defer a.again.Unlock()
	now := time.Now()
	if now.Sub(a.asked) < redeliverEach && !since.Before(a.since) {
		return 0, nil
	}
	n, err := a.f.Redeliver(ctx, since)
	if err == nil {
		a.asked, a.since = now, since
	}
	return n, err
}
