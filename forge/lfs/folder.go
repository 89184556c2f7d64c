package lfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Folder is the path of the folder where git-lfs keeps contents for a repository on this
// machine: lfs/objects in its git directory.
type Folder string

func (f Folder) fetch(ctx context.Context, want []Pointer, put func(Pointer, io.Reader) error) error {
	for _, p := range want {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := f.one(p, put); err != nil {
			return err
		}
	}
	return nil
}

func (f Folder) one(p Pointer, put func(Pointer, io.Reader) error) error {
	file, err := os.Open(filepath.Join(string(f), p.OID[:2], p.OID[2:4], p.OID))
	if errors.Is(err, fs.ErrNotExist) {
		return &MissingError{Pointer: p, Words: "the repository does not have it: push it there (git lfs push --all origin)"}
	}
	if err != nil {
		return err
	}
	defer file.Close()
	return put(p, file)
}
