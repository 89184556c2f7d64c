//go:build unix

package redisstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	lockWait = 3 * time.Second // for the server of a process that was just killed to end
	lockPoll = 20 * time.Millisecond
)

// lockDir locks a folder for this process until the file is closed. Where
// another one holds it, the error names that process.
func lockDir(ctx context.Context, dir string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("redisstore: locking the data folder: %w", err)
	}
	poll := time.NewTicker(lockPoll)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("redisstore: locking the data folder: %w", err), f.Close())
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			holder, _ := io.ReadAll(io.LimitReader(f, 20)) // for people only
			return nil, errors.Join(fmt.Errorf("redisstore: %s is in use by another server (process %s)",
				dir, strings.TrimSpace(string(holder))), f.Close())
		}
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("redisstore: locking the data folder: %w", err), f.Close())
	}
	if _, err := f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("redisstore: locking the data folder: %w", err), f.Close())
	}
	return f, nil
}
