// Package sole gives a folder to one process at a time.
package sole

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Taken is the error of Take for a folder that another process has.
type Taken struct {
	Dir     string
	Process string // its number, for people only; empty where it is not known
}

// Error implements error.
func (t *Taken) Error() string {
	return fmt.Sprintf("%s is in use by another process (%s)", t.Dir, t.Process)
}

// How long Take waits for a process that was just ended to leave a folder, and how often it looks.
const (
	wait = 3 * time.Second
	poll = 20 * time.Millisecond
)

// Take takes a folder for the caller until it closes the returned file, or its process ends. A
// child process that is given the file has the folder, too. Take waits three seconds for another
// process to leave; the error is then a *Taken, as it is when ctx ends before. On a system without
// flock each caller gets the folder.
func Take(ctx context.Context, dir string) (_ *os.File, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		free, err := lockFile(f)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		if free {
			break
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			process, _ := io.ReadAll(io.LimitReader(f, 20))
			return nil, &Taken{dir, strings.TrimSpace(string(process))}
		}
	}
	if err := f.Truncate(0); err != nil {
		return nil, err
	}
	if _, err := f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0); err != nil {
		return nil, err
	}
	return f, nil
}
