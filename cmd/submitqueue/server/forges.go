package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/githubapp"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
	"github.com/submitqueue/submitqueue/forge/github"
	"github.com/submitqueue/submitqueue/forge/local"
	"github.com/submitqueue/submitqueue/workers/forgeci"
)

// forgeRow is one forge that a server can serve.
type forgeRow struct {
	name  string // of --forge
	about string // text after the name in the help; "": none
	doc   string // the place in the documentation about its set-up
	// open fills in the parts of a server for its repositories: the queues that are
	// known, receivers of webhooks, pages.
	open func(ctx context.Context, c *Serve, o *Options) (late, error)
}

// late is the work that is left for a forge once the server runs.
type late struct {
	start   func(*Stack) error // nil: nothing
	signsIn bool               // its output signs its reader in
}

// forges returns the table of forges.
func forges() []forgeRow {
	return []forgeRow{
		{"github", "", "install#install-on-github", openGitHub},
		{"gitlab", "", "install-gitlab#steps-on-the-command-line", openGitLab},
		{"local", "a plain git repository", "install#install-on-a-plain-git-repository", openLocal},
	}
}

// Vars are the words of the flags of Serve.
func Vars() map[string]string {
	var names, words []string
	for _, row := range forges() {
		names = append(names, row.name)
		if row.about != "" {
			row.name += " (" + row.about + ")"
		}
		words = append(words, row.name)
	}
	return map[string]string{"forges": strings.Join(names, ","), "forge_words": strings.Join(words, " or ")}
}

// localLook is how often a plain repository is looked at: it has no webhooks that
// report pushes.
const localLook = 10 * time.Second

func openLocal(ctx context.Context, c *Serve, o *Options) (late, error) {
	if len(c.Repo) != 1 {
		return late{}, print.UsageError("--forge local serves one repository: give --repo once")
	}
	path, err := filepath.Abs(c.Repo[0])
	if err != nil {
		return late{}, err
	}
	f, err := local.New(ctx, path, c.Branch)
	if err != nil {
		return late{}, err
	}
	store := c.Redis
	if !strings.Contains(store, "://") {
		store = c.Data
	}
	other, err := f.Sole(store, fmt.Sprintf("process %d with the data folder %s", os.Getpid(), c.Data))
	if other != "" {
		err = fmt.Errorf("%s is served already, by %s: stop that server, or give both the same Redis (--redis). Two servers with stores of their own would follow the same requests, and a pause of one would not hold the other", path, other)
	}
	if err != nil {
		return late{}, errors.Join(print.Documented(err, "install#install-on-a-plain-git-repository"), f.Stop())
	}
	f.SetClock(o.Now)
	o.Requests = f
	o.Queues = append(o.Queues, Queue{Repository: strings.TrimSuffix(filepath.Base(path), ".git"), Branch: f.Base(), Forge: f, Look: localLook})
	return late{}, nil
}

// openGitHub prepares to serve repositories on GitHub. The late that it returns does
// the rest once the server runs.
func openGitHub(_ context.Context, c *Serve, o *Options) (late, error) {
	if err := forgeci.CheckPrefix(c.RefPrefix); err != nil {
		return late{}, fmt.Errorf("--ref-prefix %q: %w", c.RefPrefix, err)
	}
	app := &lateApp{c: c, log: o.Log, receiver: &lateReceiver{}, shared: github.NewShared(nil, GitHubWrites)}
	o.receive("github", app.receiver)
	for _, name := range c.Repo {
		if _, _, err := githubapp.OwnerAndName(name); err != nil {
			return late{}, fmt.Errorf("--repo %w", err)
		}
	}
	a, err := c.Load(c.Data)
	switch {
	case errors.Is(err, githubapp.ErrNone):
		site := ""
		if c.GithubURL != "" {
			if site, _, err = github.Site(c.GithubURL); err != nil {
				return late{}, err
			}
		}
		app.setup = newSetup(setupOptions{Public: c.Public, File: githubapp.PathOf(c.Data), Site: site, Show: c.ShowApp, Made: app.made, Log: o.Log, Wire: app.shared.Transport()})
		o.mount("/setup", app.setup)
		return late{start: app.start, signsIn: app.setup != nil}, nil
	case err != nil:
		return late{}, err
	}
	app.app = a
	return late{start: app.start, signsIn: app.setup != nil}, nil
}

// GitHubWrites is how many requests per minute may change something at GitHub, which
// allows about 80.
const GitHubWrites = 60

func repositoryURL(api, name string) string {
	if api == "" {
		return "https://github.com/" + name
	}
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(api, "/"), "/api/v3"), "/") + "/" + name
}
