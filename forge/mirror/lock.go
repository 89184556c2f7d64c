package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// ownerFile is locked by the owner of a mirror, and names that owner.
const ownerFile = "submitqueue.owner"

// lockMirror takes the mirror in dir for this process. The lock ends with the
// process and its git children, however they end.
func lockMirror(ctx context.Context, dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, ownerFile), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	// A mirror that this process has just closed is still held by a child of any kind between its
	// fork and its exec.
	closed := time.NewTimer(2 * time.Second)
	defer closed.Stop()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			break
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking the mirror: %w", err)
		}
		text := make([]byte, 32)
		n, _ := f.ReadAt(text, 0)
		owner := strings.TrimSpace(string(text[:n]))
		busy := fmt.Errorf("%w (process %s, %s): stop it, or use another directory", ErrBusy, owner, dir)
		wait := deadline.C
		switch {
		case owner == strconv.Itoa(os.Getpid()):
			wait = closed.C
		case alive(owner):
			f.Close()
			return nil, busy
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, ctx.Err()
		case <-wait:
			f.Close()
			return nil, busy
		case <-poll.C:
		}
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(fmt.Appendf(nil, "%d\n", os.Getpid()), 0)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("locking the mirror: %w", err)
	}
	return f, nil
}

func alive(pid string) bool {
	var n int
	if _, err := fmt.Sscanf(pid, "%d", &n); err != nil || n <= 0 {
		return false
	}
	return !errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}

// sweep removes files that a dead owner left in a mirror that is ours now: lock
// files, temporary files, packs without an index, and empty loose objects, which a
// power failure leaves where data was not yet written.
func sweep(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name := d.Name()
		stale := strings.HasSuffix(name, ".lock") || name == "gc.pid" ||
			strings.HasPrefix(name, "tmp_") || strings.HasPrefix(name, ".tmp-")
		if !stale && isID(filepath.Base(filepath.Dir(path))+name) {
			info, err := d.Info()
			stale = err == nil && info.Size() == 0
		}
		if pack, ok := strings.CutSuffix(path, ".pack"); ok && !stale {
			_, err := os.Stat(pack + ".idx")
			stale = errors.Is(err, fs.ErrNotExist)
		}
		if stale {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("mirror: %w", err)
			}
		}
		return nil
	})
}
