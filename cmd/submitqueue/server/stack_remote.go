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

	"github.com/submitqueue/submitqueue/forge/mirror/upload"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
	"github.com/submitqueue/submitqueue/workers/coordinator"
)

// Where runners on other machines find the server.
const (
	runnersPath = "/api/v4/"
	gitPath     = "/git/"
)

// openRemote lets runners on other machines work for the pool, as those in `submitqueue
// runners` may, and fetch the commits of their jobs.
func (s *Stack) openRemote(context.Context) (err error) {
	source, ok := s.pool.(workers.Source)
	if !ok { // somebody else builds
		return nil
	}
	o := s.o
	secrets, passed := map[string]string{}, map[string]string{}
	for _, x := range o.Secrets {
		secrets[x.Name] = x.Value
	}
	for _, name := range o.Pass {
		passed[name] = os.Getenv(name)
	}
	s.tokens = coordinator.NewRegistry(o.Data)
	c, err := coordinator.New(coordinator.Options{
		Source: source, Runners: s.tokens, Dir: filepath.Join(o.Data, "reports"), Server: o.Public, Secrets: secrets, Variables: passed, NoCaches: o.Caches.Bytes == 0, Log: o.Log,
		RepoURL: func(b queue.Build) string { return s.Base + gitPath + repositoryPath(b.Queue) + ".git" },
		Ref:     func(queue.Build) string { return upload.Ref },
		Files:   func(ctx context.Context, b queue.Build) (fs.FS, error) { return s.share.FS(ctx, b.Commit) },
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
	git, err := upload.New(upload.Options{Dir: filepath.Join(o.Data, "uploads"), Log: o.Log, Access: func(token string) (upload.Grant, bool) {
		job, ok := c.Job(token)
		return upload.Grant{Commit: job.Commit, Ends: job.Ends, Objects: func(ctx context.Context) (string, error) { return s.share.ObjectsOf(ctx, job.Commit) }}, ok
	}})
	if err != nil {
		return fmt.Errorf("git for runners: %w", err)
	}
	mounts := map[string]http.Handler{runnersPath: c, gitPath: http.StripPrefix(strings.TrimSuffix(gitPath, "/"), git)}
	maps.Copy(mounts, o.Mounts)
	s.o.Mounts = mounts
	return nil
}

// repositoryPath is the part of a queue's key that names its repository, as a path: runners
// keep their clones by it.
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
