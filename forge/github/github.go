// Package github is forge.Forge and forge.Receiver for GitHub and GitHub
// Enterprise Server, as a GitHub App.
//
// Reads are conditional (ETag), because an answer that has not changed costs
// nothing of the hourly limit. Writes are made safe to repeat by looking first:
// a comment is found by its marker, a check run by its name and external id, so
// a crash or a lost answer between two attempts leaves one of each.
//
// GitHub counts requests by installation. The remaining requests of all repositories of one
// server are in one budget (Shared): while GitHub asks us to wait, nothing is sent for any of
// them, and the caller learns for how long.
//
// Needs and EventNeeds return the needs of the App; each token asks only for the
// permissions that its purpose needs, and for one repository.
package github

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v60/github"
)

// Options says which repository to serve, and as which App.
type Options struct {
	// BaseURL is the address of the REST interface. Empty: https://api.github.com/.
	// An Enterprise server's is https://<host>/api/v3/.
	BaseURL string
	// UploadURL is the address for uploads, which this package does not use.
	// Empty: BaseURL.
	UploadURL string
	// AppID is the id of the GitHub App.
	AppID int64
	// PrivateKey is the App's RSA key as PEM.
	PrivateKey []byte
	// Owner and Name are the repository.
	Owner, Name string
	// RepositoryID is its id. 0: it is learned.
	RepositoryID int64
	// App is shared by the repositories of one server, so that the App's lost webhooks
	// are asked for once. Nil: this is the only repository.
	App *App
	// Shared is the other state that the repositories of a server share. Nil: this
	// repository shares nothing, and its requests are not paced.
	Shared *Shared
	// Logger gets messages, never credentials. Nil: nothing is logged.
	Logger *slog.Logger
	// Timeout ends a single request that hangs. 0: one minute.
	Timeout time.Duration
}

// Forge is one repository at GitHub. Make it with New; it is safe for
// concurrent use.
type Forge struct {
	o       Options
	log     *slog.Logger
	base    *url.URL
	session *session
	git     *session
	merge   *session
	mover   *mover
	client  *github.Client // as the installation
	merges  *github.Client // as the installation, for merges
	app     *github.Client // as the App itself

	locks [64]sync.Mutex // one writer for each comment and check run; by hash

	mu        sync.Mutex
	slug      string                    // of the App; empty until asked for
	comments  map[commentKey]int64      // ours
	told      map[commentKey]string     // the news that these are, or were
	checks    map[checkKey]int64        // ours
	inspects  map[int]pullCondition     // as PullRequest last told it
	demanded  map[string]readDemands    // by branch
	annotated map[int64]bool            // check runs that have their annotations
	protected map[string]keptProtection // by branch
	classics  map[string]keptDemand     // by branch
	bypasses  map[string]keptBypass     // by ruleset
}

// remembered bounds each of the memories above; a forgotten entry costs a search.
const remembered = 10_000

// New returns the forge. It makes no request.
func New(o Options) (*Forge, error) {
	if o.Owner == "" || o.Name == "" {
		return nil, errors.New("github: the repository's owner and name are missing")
	}
	if o.BaseURL == "" {
		o.BaseURL = "https://api.github.com/"
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Shared == nil {
		o.Shared = NewShared(nil, 0)
	}
	base, err := url.Parse(strings.TrimSuffix(o.BaseURL, "/") + "/")
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" {
		return nil, fmt.Errorf("github: %q is not the address of a REST interface: write https://HOST/api/v3/", o.BaseURL)
	}
	f := &Forge{
		o: o, log: o.Logger, base: base,
		comments: map[commentKey]int64{}, told: map[commentKey]string{}, checks: map[checkKey]int64{}, inspects: map[int]pullCondition{},
		annotated: map[int64]bool{}, protected: map[string]keptProtection{},
		classics: map[string]keptDemand{}, bypasses: map[string]keptBypass{},
	}
	f.mover = &mover{owner: o.Owner, name: o.Name, base: base}
	apps, err := f.appTransport(0)
	if err != nil {
		return nil, err
	}
	f.app = f.newClient(apps)
	f.session, f.git, f.merge = &session{f: f, purpose: forREST}, &session{f: f, purpose: forGit}, &session{f: f, purpose: forMerge}
	f.client, f.merges = f.newClient(f.session), f.newClient(f.merge)
	return f, nil
}

func (f *Forge) newClient(t http.RoundTripper) *github.Client {
	t = moves{f.mover, t}
	c := github.NewClient(&http.Client{Transport: t, Timeout: f.o.Timeout, CheckRedirect: followNone})
	c.BaseURL, c.UploadURL = f.base, f.base
	if u, err := url.Parse(strings.TrimSuffix(f.o.UploadURL, "/") + "/"); err == nil && u.Host != "" {
		c.UploadURL = u
	}
	return c
}

// bot is the login under which the App writes.
func (f *Forge) bot(ctx context.Context) (string, error) {
	slug, err := f.appSlug(ctx)
	return slug + "[bot]", err
}

func (f *Forge) appSlug(ctx context.Context) (string, error) {
	f.mu.Lock()
	slug := f.slug
	f.mu.Unlock()
	if slug != "" {
		return slug, nil
	}
	app, _, err := f.app.Apps.Get(ctx, "")
	if err != nil {
		return "", failure(ctx, "read the App", asApp(err))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slug = app.GetSlug()
	return f.slug, nil
}

// lock takes the lock that guards writing the thing named by key.
func (f *Forge) lock(key string) (unlock func()) {
	h := uint32(2166136261)
	for i := range len(key) {
		h = (h ^ uint32(key[i])) * 16777619
	}
	m := &f.locks[h%uint32(len(f.locks))]
	m.Lock()
	return m.Unlock
}

// remember keeps an id in one of the bounded memories.
func remember[K comparable, V any](f *Forge, m map[K]V, key K, v V) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(m) >= remembered {
		clear(m)
	}
	m[key] = v
}

func forget[K comparable, V any](f *Forge, m map[K]V, key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(m, key)
}

func recall[K comparable, V any](f *Forge, m map[K]V, key K) (V, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := m[key]
	return v, ok
}
