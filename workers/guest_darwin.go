package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/submitqueue/submitqueue/workers/cage"
)

const roomsHaveTmp = false

func claimUID(int) (io.Closer, error) { return nil, errNotRoot }

func guestsWork(UIDs) error { return errNotRoot }

func startGuest(*exec.Cmd, *guest) error { return errNotRoot }

func namespacesWork(UIDs) error { return cage.ErrNone }

func (session) endUser(time.Duration) int { return 0 }

// sandboxExec runs a command under a profile of the system's sandbox.
const sandboxExec = "/usr/bin/sandbox-exec"

// runCaged is run for a command in a sandbox.
func (c command) runCaged(ctx context.Context) (exit, error) {
	c.argv = append([]string{sandboxExec, "-p", c.guest.room.profile()}, c.argv...)
	c.guest = nil // its user is the user of this process
	return c.run(ctx)
}

// sandboxesWork says why steps cannot have a sandbox here, if so. It tries what a sandbox must
// forbid, and what it must permit.
func sandboxesWork() error {
	dir, err := os.MkdirTemp("", "submitqueue-sandbox")
	if err != nil {
		return err
	}
	defer func() { _ = RemoveAll(dir) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return err
	}
	hidden := filepath.Join(dir, "hidden")
	own := filepath.Join(hidden, "own")
	if err := errors.Join(os.MkdirAll(own, 0o700), os.WriteFile(filepath.Join(hidden, "secret"), []byte("x"), 0o600)); err != nil {
		return err
	}
	r := &room{hide: []string{hidden}, show: []cage.Shown{{From: own, Writable: true}}}
	var out limited
	c := command{dir: own, env: []string{"PATH=/usr/bin:/bin"}, guest: &guest{room: r}, timeout: time.Minute, grace: time.Second, out: &out,
		argv: []string{"/bin/sh", "-c", fmt.Sprintf("echo x > own && cat own && ! cat ../secret && ! echo x > ../new && ! echo x > ../../new && ! kill -0 %d", os.Getpid())}}
	e, err := c.run(context.Background())
	if err == nil && e.code != 0 {
		err = fmt.Errorf("%s %s", how(e), lastBytes(clean(out.String()), 200))
	}
	if err != nil {
		return fmt.Errorf("steps cannot have a sandbox: %w", err)
	}
	return nil
}
