package server

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

	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"
)

// How long a server waits for one that was just ended to leave its data folder, and how often
// it looks.
const (
	folderWait = 3 * time.Second
	folderPoll = 20 * time.Millisecond
)

// takeFolder takes a data folder for this process until the file is closed, or the process
// ends. A second server of the folder would give the runners' files to users of its own before
// it found the address or a mirror in use, and no build of the first one could start.
func takeFolder(ctx context.Context, data string) (_ *os.File, err error) {
	f, err := os.OpenFile(filepath.Join(data, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, print.Documented(fmt.Errorf("the data folder cannot be used: %w", err), "operate#where-things-are")
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	end := time.NewTimer(folderWait)
	defer end.Stop()
	poll := time.NewTicker(folderPoll)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, fmt.Errorf("locking the data folder: %w", err)
		}
		select {
		case <-poll.C:
		case <-end.C:
			holder, _ := io.ReadAll(io.LimitReader(f, 20)) // for people only
			return nil, print.Documented(fmt.Errorf("the data folder %s is in use by another server (process %s): stop that one, or give this one a folder of its own with --data",
				data, strings.TrimSpace(string(holder))), "operate#where-things-are")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if err := f.Truncate(0); err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	if _, err := f.WriteAt(fmt.Appendln(nil, os.Getpid()), 0); err != nil {
		return nil, fmt.Errorf("locking the data folder: %w", err)
	}
	return f, nil
}
