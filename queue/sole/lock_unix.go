//go:build unix

package sole

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks a file for this process, and reports whether that was possible: it is not while
// another process has the lock.
func lockFile(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return false, nil
	}
	return err == nil, err
}
