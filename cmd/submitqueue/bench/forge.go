package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
	"github.com/submitqueue/submitqueue/forge/forgetest"
)

// benchForge is the forge that the bench's commands come from.
type benchForge interface {
	// orders adds the place of the repository to a server's orders.
	orders(o *benchOrders)
	// started is called with the server once it is ready.
	started(ctx context.Context, c *benchChild) error
	// land asks to land a branch and returns the number it has at the forge. It returns
	// once the command is accepted, or sent.
	land(ctx context.Context, branch string) (int, error)
	// dir is the bare repository that changes land on.
	dir() string
	close() error
}

const (
	benchRefs     = "submitqueue" // beginning of the names of refs for builds
	benchUser     = "bench"
	benchReviewer = "reviewer"
	benchCheck    = "ci"
)

// benchLocal commands through the server's JSON API.
type benchLocal struct {
	repo   *benchRepo
	token  string
	client *client.Client
}

func (f *benchLocal) orders(o *benchOrders) { o.Local, o.Token = f.repo.dir, f.token }

func (f *benchLocal) started(_ context.Context, c *benchChild) error {
	f.client = &client.Client{Base: c.url, Token: f.token}
	return nil
}

func (f *benchLocal) land(ctx context.Context, branch string) (int, error) {
	var ok api.Accepted
	err := f.client.Post(ctx, "/api/land", api.LandCommand{Branch: branch}, &ok)
	return ok.Number, err
}

func (f *benchLocal) dir() string  { return f.repo.dir }
func (f *benchLocal) close() error { return nil }

// benchHub commands by comments on pull requests of a simulated GitHub, which
// sends signed webhooks.
type benchHub struct {
	hub   *forgetest.Server
	repo  *forgetest.Repository
	pulls map[string]int
}

const benchSecret = "the-simulated-forge-signs-with-this"

// newBenchHub makes the simulated GitHub. With asks, main's protection asks for a review
// and a check of each pull request, and all pull requests have them. With a CI, each of
// its jobs takes so long and passes.
func newBenchHub(ctx context.Context, dir string, from *benchRepo, asks bool, takes time.Duration) (*benchHub, error) {
	hub, err := forgetest.New(forgetest.Options{Dir: filepath.Join(dir, "forge"), WebhookSecret: benchSecret, RateLimit: 1 << 30})
	if err != nil {
		return nil, err
	}
	f := &benchHub{hub: hub, pulls: map[string]int{}}
	if err := f.fill(ctx, from, asks); err != nil {
		_ = hub.Close() // the first error says more
		return nil, err
	}
	if from.shape.CI {
		f.repo.CI.SetCI(f, func(p forgetest.CIPush) []forgetest.CIJob {
			if !strings.HasPrefix(p.Branch, benchRefs+"/") {
				return nil
			}
			return []forgetest.CIJob{{Name: benchCheck, Conclusion: "success", Takes: takes}}
		})
	}
	return f, nil
}

func (f *benchHub) fill(ctx context.Context, from *benchRepo, asks bool) (err error) {
	if f.repo, err = f.hub.AddRepository("acme", "bench", "main"); err != nil {
		return err
	}
	if _, err := runGit(ctx, from.dir, nil, "push", "--quiet", f.repo.Dir(), "+refs/heads/*:refs/heads/*"); err != nil {
		return err
	}
	f.hub.AddUser(benchUser)
	f.repo.SetPermission(benchUser, "write")
	guard := forgetest.Protection{AllowPushers: []string{"submitqueue"}}
	if asks {
		f.hub.AddUser(benchReviewer)
		f.repo.SetPermission(benchReviewer, "write")
		guard.Bypass, guard.RequiredChecks = guard.AllowPushers, []string{benchCheck}
		guard.Reviews = forgetest.Reviews{Count: 1, Resolved: true}
	}
	f.repo.ProtectBranch("main", guard)
	for _, name := range from.names {
		n, err := f.repo.OpenPull(benchUser, name, "main", "Land "+name)
		if err != nil {
			return err
		}
		if f.pulls[name] = n; asks {
			f.repo.Review(benchReviewer, n, "APPROVED", "", "")
			f.repo.CI.SetCheck("actions", f.repo.Pull(n).Head, benchCheck, "success")
		}
	}
	return nil
}

// Helper, Errorf and Cleanup make it a forgetest.TB: the simulated CI reports wrong use
// of it.
func (f *benchHub) Helper()        {}
func (f *benchHub) Cleanup(func()) {}
func (f *benchHub) Errorf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "the simulated CI: "+format+"\n", args...)
}

func (f *benchHub) orders(o *benchOrders) {
	o.GitHub = &benchGitHub{API: f.hub.APIURL(), AppID: f.hub.AppID(), Key: f.hub.AppKey(),
		Owner: f.repo.Owner(), Name: f.repo.Name(), Secret: benchSecret}
}

func (f *benchHub) started(_ context.Context, c *benchChild) error {
	f.hub.SetWebhook(c.url+"/webhook", benchSecret)
	return nil
}

func (f *benchHub) land(_ context.Context, branch string) (int, error) {
	f.repo.Comment(benchUser, f.pulls[branch], "/land")
	return f.pulls[branch], nil
}

func (f *benchHub) dir() string  { return f.repo.Dir() }
func (f *benchHub) close() error { return f.hub.Close() }
