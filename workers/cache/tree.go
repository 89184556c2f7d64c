package cache

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/submitqueue/submitqueue/queue/digest"
)

// split returns the parts of a path of a cache.
func split(path string) []string { return strings.Split(path, "/") }

// nameOf returns the name of a path in a cache: a plain name for any path.
func nameOf(path string) string { return "p" + string(digest.Of("path1", path))[:32] }

// block is the least space, in bytes, that a file or a folder takes on a disk.
const block = 4 << 10

// sizeOf returns how many bytes of a disk a tree takes, estimated from the sizes of its files.
// It stops when that is more than limit. It makes folders readable that their owner cannot
// read.
func sizeOf(tree string, limit int64) (bytes int64, err error) {
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		bytes += block
		if d.IsDir() {
			if err := readable(path, d); err != nil {
				return err
			}
		}
		if d.Type().IsRegular() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			bytes += max(0, (info.Size()-1)/block*block)
		}
		if bytes > limit {
			return fs.SkipAll
		}
		return nil
	})
	return bytes, err
}

func readable(path string, d fs.DirEntry) error {
	const needed = 0o500
	info, err := d.Info()
	if err != nil || info.Mode().Perm()&needed == needed {
		return err
	}
	return os.Chmod(path, info.Mode().Perm()|needed)
}

// Size writes a number of bytes for people.
func Size(bytes int64) string {
	switch {
	case bytes < 1<<20:
		return fmt.Sprintf("%d KiB", (bytes+1<<10-1)>>10)
	case bytes < 10<<30:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d GiB", bytes>>30)
}
