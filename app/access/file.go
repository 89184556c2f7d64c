package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFile takes a lock that ends with the file, or with the process. It waits for other
// processes, which hold the lock for as long as a small file takes to write.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600) // root may write in a folder that belongs to another user
	if err != nil {
		return nil, fmt.Errorf("the tokens cannot be changed: %w", err)
	}
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); {
		case err == nil:
			return f, ofFolder(path)
		case !errors.Is(err, syscall.EINTR):
			return nil, errors.Join(fmt.Errorf("the tokens cannot be locked: %w", err), f.Close())
		}
	}
}

// writeFile replaces a file as a whole.
func writeFile(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = ofFolder(f.Name())
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it may be incomplete
	}
	return err
}

// ofFolder gives a file to the owner of its folder: root may have made the file for a server
// that does not run as root.
func ofFolder(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return err
	}
	of, ok := info.Sys().(*syscall.Stat_t)
	if !ok || of.Uid == 0 {
		return nil
	}
	return os.Lchown(path, int(of.Uid), int(of.Gid))
}
