// Package gitlab is forge.Forge and forge.Receiver for GitLab, gitlab.com and self-managed,
// in any tier. It acts as one account, by a token of a project, a group or a user.
//
// Three things decide its shape; forge/forgetest/gitlab has a trap for each:
//
//   - A push is followed up by jobs, one for each ref, in any order. So the queue moves a
//     source branch first, and moves the target once PullRequest shows the new head: the
//     one that GitLab has stored, not the tip of the branch. Otherwise the merge request
//     would stay open with an empty diff.
//   - A commit status is a job of the newest pipeline of its ref, and counts in it. So our
//     own status goes to the pipeline of a ref that no branch has (StatusRef): it keeps no
//     branch's pipeline running, turns none red, and satisfies no rule.
//   - One answer may have a permanent or a passing cause. So a merge status that GitLab is
//     working out is asked for again, an unknown merge status is an unmet requirement, and
//     a refusal that can pass is a *forge.Transient.
//
// All requests name the project by its number: GitLab redirects reads by a former path, and
// refuses writes. No request is repeated automatically: a request may have been carried out
// although its answer is lost, so each write looks first (a note is found by its marker).
// While GitLab asks to wait, nothing is sent, and the caller learns for how long.
//
// GitLab executes a line of our texts with our rights if it is a quick action. So each
// line that begins with a slash gets a zero-width space before the slash (quiet).
package gitlab

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

	"github.com/xanzy/go-gitlab"
)

// Options says which project to serve, and as which account.
type Options struct {
	// BaseURL is the address of the instance. Empty: https://gitlab.com.
	BaseURL string
	// Token is the token of the account that acts: of a project, a group or a user, with
	// the scope "api".
	Token string
	// Project is the full path of the project.
	Project string
	// Group is the full path of a group, in place of a project: its webhooks can be
	// listed and set, and its projects listed, and nothing else.
	Group string
	// ProjectID is its number. 0: it is learned.
	ProjectID int64
	// Logger gets messages, never credentials. Nil: nothing is logged.
	Logger *slog.Logger
	// Timeout ends a single request that hangs. 0: one minute.
	Timeout time.Duration
	// Patience is how long a merge status that GitLab is still working out is asked for
	// again, before the caller is told to come back. 0: three seconds.
	Patience time.Duration
}

// Forge is one project at GitLab. Make it with New; it is safe for concurrent use.
type Forge struct {
	o    Options
	log  *slog.Logger
	base *url.URL
	//lint:ignore SA1019 the library is given; its successor has the same calls under another path
	client *gitlab.Client
	pace   *pace

	locks [64]sync.Mutex // one writer for each thing that is looked for first; by hash

	mu        sync.Mutex
	id        int    // of the project; 0: not known yet
	path      string // of the project, as it was last told
	self      *gitlab.User
	notes     map[noteKey]int    // ours
	told      map[noteKey]string // the news that these are, or were
	protected map[string]keptProtection
	users     map[string]int // numbers by name in lower case

	read   *gitlab.Project // nil: not yet
	readAt time.Time
	stored map[headKey]time.Time // when diffs were stored

	startsKnown bool // whether the setting for variables was read
	noVariables bool // pipelines take no variables from us
	pushStarts  bool // a push has to start the pipelines of builds, even without variables
}

// remembered bounds each memory; a forgotten entry costs a search.
const remembered = 10_000

// New returns the forge. It makes no request.
func New(o Options) (*Forge, error) {
	if o.BaseURL == "" {
		o.BaseURL = "https://gitlab.com"
	}
	if o.Timeout == 0 {
		o.Timeout = time.Minute
	}
	if o.Patience == 0 {
		o.Patience = 3 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	base, err := url.Parse(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(o.BaseURL, "/"), "/api/v4"), "/"))
	switch {
	case err != nil || base.Host == "" || base.User != nil:
		return nil, errors.New("gitlab: the address of the instance is not one like https://gitlab.example.org")
	case o.Token == "":
		return nil, errors.New("gitlab: the token is missing; make one with the scope api, for an account that is a maintainer of the project")
	case o.Group == "" && !strings.Contains(strings.Trim(o.Project, "/"), "/"):
		return nil, fmt.Errorf("gitlab: %q is not the full path of a project, such as group/name", o.Project)
	}
	f := &Forge{o: o, log: o.Logger, base: base, path: strings.Trim(o.Project, "/"), id: int(o.ProjectID), notes: map[noteKey]int{}, told: map[noteKey]string{}, protected: map[string]keptProtection{}, users: map[string]int{}, stored: map[headKey]time.Time{}}
	f.pace = &pace{next: http.DefaultTransport, host: base.Host}
	//lint:ignore SA1019 the library is given; its successor has the same calls under another path
	f.client, err = gitlab.NewClient(o.Token, gitlab.WithBaseURL(base.String()), gitlab.WithoutRetries(), gitlab.WithCustomLimiter(f.pace),
		gitlab.WithHTTPClient(&http.Client{Transport: f.pace, Timeout: o.Timeout, CheckRedirect: f.redirect}))
	if err != nil {
		return nil, fmt.Errorf("gitlab: %w", err)
	}
	return f, nil
}

// redirect follows redirects of reads, on the same host: another host must not get the
// token, and net/http would turn a write into a GET.
func (f *Forge) redirect(r *http.Request, via []*http.Request) error {
	if len(via) > 3 || via[0].Method != http.MethodGet || r.URL.Host != f.base.Host || r.URL.Scheme != f.base.Scheme {
		return http.ErrUseLastResponse
	}
	return nil
}

// project returns the number of the project, by which all requests name it.
func (f *Forge) project(ctx context.Context) (int, error) {
	f.mu.Lock()
	id := f.id
	f.mu.Unlock()
	if id != 0 {
		return id, nil
	}
	p, err := f.readProject(ctx, 0)
	if err != nil {
		return 0, err
	}
	return p.ID, nil
}

// readProject reads the project, by its number if that is known, and has all later requests
// use it.
func (f *Forge) readProject(ctx context.Context, id int64) (*gitlab.Project, error) {
	f.mu.Lock()
	if id == 0 {
		id = int64(f.id)
	}
	name := any(int(id))
	if id == 0 {
		name = f.path
	}
	f.mu.Unlock()
	p, _, err := f.client.Projects.GetProject(name, nil, gitlab.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.id, f.path, f.read, f.readAt = p.ID, p.PathWithNamespace, p, time.Now()
	return p, nil
}

// me returns the account of the token.
func (f *Forge) me(ctx context.Context) (*gitlab.User, error) {
	f.mu.Lock()
	self := f.self
	f.mu.Unlock()
	if self != nil {
		return self, nil
	}
	u, _, err := f.client.Users.CurrentUser(gitlab.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.self = u
	f.pace.named(u.Username)
	return u, nil
}

// Account returns the name of the account of the token.
func (f *Forge) Account(ctx context.Context) (string, error) {
	me, err := f.me(ctx)
	if err != nil {
		return "", failure(ctx, "read which account the token is of", err)
	}
	return me.Username, nil
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

func remember[K comparable, V any](f *Forge, m map[K]V, key K, v V) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(m) >= remembered {
		clear(m)
	}
	m[key] = v
}

func recall[K comparable, V any](f *Forge, m map[K]V, key K) (V, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v, ok := m[key]
	return v, ok
}

func forget[K comparable, V any](f *Forge, m map[K]V, key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(m, key)
}

// hundred is the largest page.
const hundred = 100

// all reads the pages of a list until one is the last, or more says that it is enough.
func all[T any](list func(gitlab.ListOptions) ([]T, *gitlab.Response, error), more func(T) bool) error {
	o := gitlab.ListOptions{PerPage: hundred}
	for {
		page, resp, err := list(o)
		if err != nil {
			return err
		}
		for _, x := range page {
			if !more(x) {
				return nil
			}
		}
		if o.Page = resp.NextPage; o.Page == 0 {
			return nil
		}
	}
}
