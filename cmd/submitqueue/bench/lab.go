package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge/forgetest"
	"github.com/submitqueue/submitqueue/forge/forgetest/gitlab"
)

// benchHost is a simulated code host: it counts its requests, and can be in trouble.
type benchHost interface {
	benchForge
	// requests returns the requests to its API and to git so far, each in order.
	requests() (api, git []benchRequest)
	// polls reports whether a request is one that no webhook causes.
	polls(route string) bool
	// acknowledged returns once the queue has acknowledged a command on this change.
	acknowledged(ctx context.Context, number int) error
	beginOutage(chance *rand.Rand, share float64, hooks bool)
	endOutage()
}

// benchRequest is one request to a simulated host. Status 0: no answer was given.
type benchRequest struct {
	method, path string
	status       int
}

// hostFlag is the flag that says which host is simulated.
type hostFlag struct {
	Forge string `enum:"github,gitlab" default:"github" help:"Which code host is simulated: github or gitlab."`
}

// on puts a rig's repository on the simulated host.
func (h hostFlag) on(asks bool, takes time.Duration) func(context.Context, string, *benchRepo) (benchForge, error) {
	if h.Forge != "gitlab" {
		return onHub(asks, takes)
	}
	return func(ctx context.Context, dir string, repo *benchRepo) (benchForge, error) {
		return newBenchLab(ctx, dir, repo, asks, takes)
	}
}

// benchLab commands by notes on merge requests of a simulated GitLab, which sends signed
// webhooks.
type benchLab struct {
	lab     *gitlab.Server
	project *gitlab.Project
	mrs     map[string]int
	stop    func()
}

const (
	benchProject = "acme/tools/bench"
	benchSigning = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
)

// newBenchLab makes the simulated GitLab. With asks, it has tiers, and its project asks for
// an approval, resolved threads and a pipeline of each merge request; all merge requests
// have them. With a CI, each job takes so long and passes.
func newBenchLab(ctx context.Context, dir string, from *benchRepo, asks bool, takes time.Duration) (*benchLab, error) {
	lab, err := gitlab.New(gitlab.Options{Dir: filepath.Join(dir, "forge"), Premium: asks})
	if err != nil {
		return nil, err
	}
	f := &benchLab{lab: lab, mrs: map[string]int{}}
	if err := f.fill(from, asks); err != nil {
		return nil, errors.Join(err, lab.Close())
	}
	live, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	running.Go(func() { lab.Live(live) })
	if from.shape.CI {
		f.project.Set(func(s *gitlab.Settings) { s.Jobs = []string{benchCheck} })
		running.Go(func() { f.run(live, takes) })
	}
	f.stop = func() { cancel(); running.Wait() }
	return f, nil
}

func (f *benchLab) fill(from *benchRepo, asks bool) (err error) {
	f.lab.AddUser(benchUser)
	f.lab.AddUser(benchReviewer)
	if f.project, err = f.lab.AddProject(benchProject, "main", benchUser, benchReviewer); err != nil {
		return err
	}
	if err := f.project.Import(from.dir); err != nil {
		return err
	}
	f.project.Protect("main", gitlab.Guard{Push: 40, Merge: 30})
	for _, name := range from.names {
		f.mrs[name] = f.project.Open(gitlab.Opening{Author: benchUser, Source: name, Title: "Land " + name})
	}
	if asks {
		f.project.Set(func(s *gitlab.Settings) { s.Approvals, s.MustResolve = 1, true })
		for _, n := range f.mrs {
			f.project.Approve(benchReviewer, n)
		}
	}
	f.lab.Settle()
	f.lab.LoseHooks()
	return nil
}

// run lets each job pass once it has taken its time.
func (f *benchLab) run(ctx context.Context, takes time.Duration) {
	const look = 20 * time.Millisecond
	began := map[int]time.Time{}
	for pause(ctx, look) == nil {
		for _, pl := range f.project.Pipelines() {
			if len(pl.Jobs) == 0 || pl.Jobs[0].Status || pl.Jobs[0].State != "pending" && pl.Jobs[0].State != "running" {
				continue
			}
			switch at, ok := began[pl.ID]; {
			case !ok:
				began[pl.ID] = time.Now()
				f.project.Report(pl.ID, benchCheck, "running")
			case time.Since(at) >= takes:
				f.project.Report(pl.ID, benchCheck, "success")
			}
		}
	}
}

func (f *benchLab) orders(o *benchOrders) {
	o.GitLab = &benchGitLab{URL: f.lab.URL(), Token: f.lab.BotToken(), Project: benchProject, Signing: benchSigning}
}

func (f *benchLab) started(_ context.Context, c *benchChild) error {
	f.project.AddHook(gitlab.Hook{URL: c.url + "/webhook/gitlab", Signing: benchSigning})
	return nil
}

func (f *benchLab) land(_ context.Context, branch string) (int, error) {
	n, ok := f.mrs[branch]
	if !ok {
		return 0, fmt.Errorf("no merge request is for branch %s", branch)
	}
	f.project.Comment(benchUser, n, "/land")
	return n, nil
}

func (f *benchLab) acknowledged(ctx context.Context, number int) error {
	const look = 2 * time.Millisecond
	for {
		for _, note := range f.project.AllNotes(number) {
			if len(note.Awards) > 0 {
				return nil
			}
		}
		if err := pause(ctx, look); err != nil {
			return err
		}
	}
}

func (f *benchLab) requests() (api, git []benchRequest) {
	return benchRequests(f.lab.Requests()), benchRequests(f.lab.GitRequests())
}

func benchRequests(list []gitlab.Request) (out []benchRequest) {
	for _, q := range list {
		out = append(out, benchRequest{q.Method, strings.TrimPrefix(q.Path, "/api/v4"), q.Status})
	}
	return out
}

func (f *benchLab) polls(route string) bool {
	return route == "GET …/merge_requests" || route == "GET …/merge_requests/*/resource_label_events"
}

func (f *benchLab) beginOutage(chance *rand.Rand, share float64, hooks bool) {
	f.lab.BeginOutage(chance, share, hooks)
}

func (f *benchLab) endOutage() { f.lab.EndOutage() }

func (f *benchLab) dir() string { return f.project.Dir() }

func (f *benchLab) close() error {
	f.stop()
	return f.lab.Close()
}

// GitHub as a benchHost.

func (f *benchHub) requests() (api, git []benchRequest) {
	for _, q := range f.hub.Requests("", "/**") {
		one := benchRequest{q.Method, q.Path, q.Status}
		if strings.Contains(q.Path, ".git/") {
			git = append(git, one)
		} else {
			api = append(api, one)
		}
	}
	return api, git
}

func (f *benchHub) polls(route string) bool {
	return route == "GET …/issues/comments" || route == "GET …/pulls" || route == "GET /app/hook/deliveries"
}

func (f *benchHub) acknowledged(ctx context.Context, number int) error {
	return f.repo.WaitFor(ctx, func(v forgetest.View) bool {
		for _, c := range v.Comments(number) {
			if len(c.Reactions) > 0 {
				return true
			}
		}
		return false
	})
}

func (f *benchHub) beginOutage(chance *rand.Rand, share float64, hooks bool) {
	f.hub.BeginOutage(chance, share, hooks)
}

func (f *benchHub) endOutage() { f.hub.EndOutage() }
