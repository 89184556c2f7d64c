package workers

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copySeed fills a new home. The copies belong to the guest; the seed itself cannot be
// changed from there.
func (f slotFiles) copySeed() error {
	return filepath.WalkDir(f.seed, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(f.seed, path)
		if err != nil || name == "." {
			return err
		}
		to := filepath.Join(f.home, name)
		switch kind := d.Type(); {
		case d.IsDir():
			err = os.Mkdir(to, 0o700)
		case kind.IsRegular():
			err = copyFile(to, path, d)
		case kind&fs.ModeSymlink != 0:
			var target string
			if target, err = os.Readlink(path); err == nil {
				err = os.Symlink(target, to)
			}
		default: // a socket or a device is nobody's cache
			return nil
		}
		if err != nil {
			return err
		}
		return f.give(to)
	})
}

// copyFile copies a file with its time, which build tools go by.
func copyFile(to, from string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, info.Mode().Perm()|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in) // shares the blocks where the file system can
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}
