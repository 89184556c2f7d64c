package workers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// ErrTaken: another process uses a folder.
var ErrTaken = errors.New("in use by another process")

// How long TakeFolder waits for a process that was just ended to leave a folder, and how often it
// looks.
const (
	takeWait = 3 * time.Second
	takePoll = 20 * time.Millisecond
)

// TakeFolder takes a folder for the caller until it closes what TakeFolder returns, or its process
// ends. An error that is ErrTaken names the process that has it.
func TakeFolder(ctx context.Context, dir string) (_ io.Closer, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	end := time.NewTimer(takeWait)
	defer end.Stop()
	poll := time.NewTicker(takePoll)
	defer poll.Stop()
	for {
		free, err := lockFile(f)
		if err != nil {
			return nil, fmt.Errorf("locking %s: %w", f.Name(), err)
		}
		if free {
			break
		}
		select {
		case <-poll.C:
		case <-end.C:
			holder, _ := io.ReadAll(io.LimitReader(f, 20)) // for people only
			return nil, fmt.Errorf("%s is %w (%s)", dir, ErrTaken, strings.TrimSpace(string(holder)))
		case <-ctx.Done():
			return nil, ctx.Err()
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

// takeSlots takes the folder of the slots. A second process there would give the slots to users
// of its own, end the steps that run in them, and build in the same checkouts. Without slots
// there is nothing to take.
func (o *PoolOptions) takeSlots() error {
	if o.Slots == 0 {
		return nil
	}
	if err := os.MkdirAll(o.SlotsDir, 0o711); err != nil {
		return fmt.Errorf("workers: slots: %w", err)
	}
	taken, err := TakeFolder(context.Background(), o.SlotsDir)
	if err != nil {
		return fmt.Errorf("workers: the folder of checkouts: %w: end that one, or name another folder (--dir of a runner, --slots-dir of a server)", err)
	}
	o.taken = taken
	return nil
}
