package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/submitqueue/submitqueue/queue/digest"
)

// Sole says that the caller serves the repository from now on, until Stop; who is for people.
// Where a server with another store does so already, Sole returns the name that the other one
// gave: both would follow the same requests, and neither would know what people told the other.
// Servers that share a store take turns, and Sole returns "".
func (f *Forge) Sole(store, who string) (other string, err error) {
	path, mine := filepath.Join(f.path, "submitqueue.lock"), true
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if errors.Is(err, fs.ErrPermission) { // a server of another user has made it
		mine = false
		file, err = os.Open(path)
	}
	if err != nil {
		return "", fmt.Errorf("local: marking the repository as served: %w", err)
	}
	mark := string(digest.Of("store1", store)) // a store's address may have a password
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		said, err := io.ReadAll(io.LimitReader(file, 4<<10))
		theirs, other, _ := strings.Cut(string(said), "\n")
		if theirs == mark {
			other = ""
		}
		return strings.TrimSpace(other), errors.Join(err, file.Close())
	} else if err != nil {
		return "", errors.Join(fmt.Errorf("local: marking the repository as served: %w", err), file.Close())
	}
	f.sole = file
	if !mine {
		return "", nil
	}
	if err := file.Truncate(0); err != nil {
		return "", fmt.Errorf("local: marking the repository as served: %w", err)
	}
	if _, err := file.WriteAt([]byte(mark+"\n"+who+"\n"), 0); err != nil {
		return "", fmt.Errorf("local: marking the repository as served: %w", err)
	}
	return "", nil
}
