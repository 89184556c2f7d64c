package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/alicebob/miniredis/v2"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/sole"
)

// InMemory begins the description of a Redis that Auto runs inside this process:
// its data are lost when the process ends.
const InMemory = "Redis inside this process"

// AutoOptions say what Auto may use.
type AutoOptions struct {
	URL     string // of the Redis to use; "": one of our own
	DataDir string // where our own keeps its files; needed without a URL
	Past    queue.PastBounds
	Logger  *slog.Logger // nil: slog.Default
}

// Auto opens the Redis at the URL, or without one starts a private redis-server
// (or valkey-server) that keeps everything in DataDir/redis, or where the
// machine has none uses a Redis inside this process, which a restart empties:
// it warns of that. description says for people which Redis is used.
//
// The private server loses nothing that was acknowledged. It is started again
// when it dies and ends with this process, also when that is killed. A second
// process on the same DataDir gets an error that says so. ctx can end only the
// start; close ends the store and the server.
func Auto(ctx context.Context, opts AutoOptions) (s *Store, close func() error, description string, err error) {
	if opts.Logger == nil {
		opts.Logger = slog.Default()
	}
	if opts.URL != "" {
		s, err := Open(ctx, Options{URL: opts.URL, Logger: opts.Logger, Past: opts.Past})
		if err != nil {
			return nil, nil, "", err
		}
		return s, s.Close, s.describe("Redis") + " at " + hostOf(opts.URL), nil
	}
	if opts.DataDir == "" {
		return nil, nil, "", errors.New("redisstore: neither the URL of a Redis nor a data folder is given")
	}
	dir, err := filepath.Abs(filepath.Join(opts.DataDir, "redis"))
	if err != nil {
		return nil, nil, "", fmt.Errorf("redisstore: data folder: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, "", fmt.Errorf("redisstore: data folder: %w", err)
	}
	lock, err := sole.Take(ctx, dir)
	if taken := (*sole.Taken)(nil); errors.As(err, &taken) {
		return nil, nil, "", fmt.Errorf("redisstore: %s is in use by another server (process %s)", dir, taken.Process)
	}
	if err != nil {
		return nil, nil, "", fmt.Errorf("redisstore: locking the data folder: %w", err)
	}
	start, description := startMemory, InMemory+": a restart empties it"
	if program := findServer(); program != "" {
		start = func(log *slog.Logger) (owned, error) {
			return startPrivate(ctx, &private{program: program, dir: dir, lock: lock, log: log})
		}
		description = ""
	} else {
		opts.Logger.Warn("there is no redis-server on this machine: everything is kept in memory, and a restart empties it")
	}
	server, err := start(opts.Logger)
	if err != nil {
		return nil, nil, "", errors.Join(err, lock.Close())
	}
	s, err = Open(ctx, Options{URL: server.url, Logger: opts.Logger, Past: opts.Past})
	if err != nil {
		return nil, nil, "", errors.Join(err, server.close(), lock.Close())
	}
	if description == "" {
		description = s.describe("private Redis") + " with its data in " + dir
	}
	return s, func() error { return errors.Join(s.Close(), server.close(), lock.Close()) }, description, nil
}

// owned is a server that is ours to end.
type owned struct {
	url   string
	close func() error
}

// startMemory runs a Redis inside this process. It listens on a port of the
// loopback interface, so it asks for a password.
func startMemory(*slog.Logger) (owned, error) {
	m := miniredis.NewMiniRedis()
	password := rand.Text()
	m.RequireAuth(password)
	m.ClockTTL(true)
	if err := m.Start(); err != nil {
		return owned{}, fmt.Errorf("redisstore: starting a Redis inside this process: %w", err)
	}
	u := url.URL{Scheme: "redis", User: url.UserPassword("", password), Host: m.Addr()}
	return owned{url: u.String(), close: func() error { m.Close(); return nil }}, nil
}

// findServer returns the path of a server program, or "".
func findServer() string {
	if !privateWorks {
		return ""
	}
	for _, name := range []string{"redis-server", "valkey-server"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// describe names the store's Redis with its version, where it is known.
func (s *Store) describe(what string) string {
	if s.version == "" {
		return what
	}
	return what + " " + s.version
}

// hostOf returns the part of a URL that may be shown.
func hostOf(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "an unreadable URL"
	case u.Host == "":
		return u.Path
	}
	return u.Host
}
