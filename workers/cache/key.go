package cache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Bounds on the files that select a cache by their content.
const (
	maxKeyFiles = 10_000
	maxKeyBytes = 256 << 20
)

// ID returns the name of a queue's cache for a commit. It depends on the paths of the cache,
// and on the content of the files of its key. files are exactly the files of the commit, so
// every machine computes the same ID. An error says that the key selects too many files or
// bytes.
func ID(files fs.FS, queue string, c config.Cache) (string, error) {
	key, err := Key(files, c)
	if err != nil {
		return "", err
	}
	paths := slices.Sorted(slices.Values(c.Paths))
	fields := append([]string{"cache1", queue, key, strconv.Itoa(len(paths))}, paths...)
	return string(digest.Of(fields...))[:32], nil
}

// Key returns the digest of the names and the content of the files that select a cache, ""
// for a cache that is one for all commits.
func Key(files fs.FS, c config.Cache) (string, error) {
	if len(c.Key) == 0 {
		return "", nil
	}
	var names []string
	for _, glob := range c.Key {
		err := doublestar.GlobWalk(files, glob, func(name string, _ fs.DirEntry) error {
			info, err := fs.Lstat(files, name)
			if err != nil || !info.Mode().IsRegular() { // a link has no content
				return err
			}
			if names = append(names, name); len(names) > maxKeyFiles {
				return fmt.Errorf("its key has more than %d files: name those that say what the cache is made of", maxKeyFiles)
			}
			return nil
		}, doublestar.WithNoFollow())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	slices.Sort(names)
	left := int64(maxKeyBytes)
	fields := []string{"key1"}
	for _, name := range slices.Compact(names) {
		sum, n, err := sumOf(files, name, left)
		if err != nil {
			return "", err
		}
		if left -= n; left < 0 {
			return "", fmt.Errorf("the files of its key have more than %d MiB: name those that say what the cache is made of", maxKeyBytes>>20)
		}
		fields = append(fields, name, sum)
	}
	return string(digest.Of(fields...)), nil
}

// sumOf returns the digest of a file. It reads at most one byte more than the limit.
func sumOf(files fs.FS, name string, limit int64) (sum string, n int64, err error) {
	f, err := files.Open(name)
	if err != nil {
		return "", 0, err
	}
	defer f.Close()
	h := sha256.New()
	n, err = io.Copy(h, io.LimitReader(f, limit+1))
	return hex.EncodeToString(h.Sum(nil)), n, err
}
