package server

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/forge/mirror/upload"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/coordinator"
)

// Where runners on other machines find the server.
const (
	runnersPath = "/api/v4/"
	gitPath     = "/git/"
)

// openRemote lets the runners of `submitqueue runners` on other machines work for the
// pool, and fetch the commits of their jobs.
func (s *Stack) openRemote(context.Context) (err error) {
	source, ok := s.pool.(workers.Source)
	if !ok { // the builds are not the pool's
		return nil
	}
	o := s.o
	passed := map[string]string{}
	for _, name := range o.Pass {
		passed[name] = os.Getenv(name)
	}
	var environments func() []string
	if pool, ok := s.pool.(interface{ EnvironmentCommands() []string }); ok {
		environments = pool.EnvironmentCommands
	}
	if s.tokens == nil {
		s.tokens = coordinator.NewRegistry(o.Data)
	}
	c, err := coordinator.New(coordinator.Options{
		Source: source, Runners: s.tokens, Dir: filepath.Join(o.Data, "reports"), Server: o.Public, Secrets: o.Secrets, Called: s.repositoryOf, Variables: passed, NoCaches: o.Caches.Bytes == 0, Log: o.Log,
		RepoURL:      func(b queue.Build) string { return s.Base + gitPath + repositoryPath(b.Queue) + ".git" },
		Ref:          func(queue.Build) string { return upload.Ref },
		Environments: environments, Large: s.largeFiles,
		Files: func(ctx context.Context, b queue.Build) (fs.FS, error) { return s.share.FS(ctx, b.Commit) },
	})
	if err != nil {
		return fmt.Errorf("runners on other machines: %w", err)
	}
	s.remote = c
	if pool, ok := s.pool.(*workers.Pool); ok {
		if err := s.metrics.ShowLoads(pool.Loads); err != nil {
			return err
		}
	}
	s.closes = append(s.closes, c.Close)
	git, err := upload.New(upload.Options{Dir: filepath.Join(o.Data, "uploads"), Base: func() string { return s.Base + gitPath }, Log: o.Log, Access: func(token string) (upload.Grant, bool) {
		job, ok := c.Job(token)
		g := upload.Grant{Commit: job.Commit, Path: repositoryPath(job.Queue), Ends: job.Ends, Objects: func(ctx context.Context) (string, error) { return s.share.ObjectsOf(ctx, job.Commit) }}
		if !job.Want.Plain() {
			g.Outside = func(ctx context.Context) (*mirror.Outside, error) { return s.share.Outside(ctx, job.Commit, job.Want) }
		}
		return g, ok
	}})
	if err != nil {
		return fmt.Errorf("git for runners: %w", err)
	}
	mounts := map[string]http.Handler{runnersPath: c, gitPath: http.StripPrefix(strings.TrimSuffix(gitPath, "/"), git)}
	maps.Copy(mounts, o.Mounts)
	s.o.Mounts = mounts
	return nil
}

// listLimit is how long a runner that asks for a job waits for the server to look at its
// submodules.
const listLimit = 10 * time.Second

// largeFiles lists the files of Git LFS that a build's checkout has. A runner may reach
// submodules that the server cannot reach in time: their files are left out.
func (s *Stack) largeFiles(ctx context.Context, b queue.Build) ([]string, error) {
	want := b.Jobs[0].Step.Checkout
	if want.Submodules.On() {
		ctx, cancel := context.WithTimeout(ctx, listLimit)
		out, err := s.share.Outside(ctx, b.Commit, want)
		cancel()
		if err == nil {
			return pathsOf(out), nil
		}
		s.o.Log.Warn("the files of Git LFS in submodules are not looked at", "build", b.ID, "error", err)
	}
	out, err := s.share.Outside(ctx, b.Commit, config.Checkout{LFS: want.LFS})
	if err != nil {
		return nil, err
	}
	return pathsOf(out), nil
}

func pathsOf(out *mirror.Outside) (paths []string) {
	for _, f := range out.Large {
		paths = append(paths, f.Path)
	}
	return paths
}

// repositoryPath is the part of a queue's key that names its repository, as a path: runners
// name their clones by it.
func repositoryPath(key string) string {
	name, _, _ := strings.Cut(key, "@")
	name = strings.Map(func(r rune) rune {
		if r == '/' || r == '-' || r == '_' || r == '.' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, name)
	var parts []string
	for _, p := range strings.Split(name, "/") {
		if p = strings.Trim(p, "."); p != "" {
			parts = append(parts, p)
		}
	}
	if len(parts) == 0 {
		return "repository"
	}
	return strings.Join(parts, "/")
}
