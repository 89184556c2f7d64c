package forgetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// transactHere carries out commands for update-ref if all of them are simple: creations
// and updates of loose refs, to commits that are loose objects. done says whether it
// did. As in git, a ref is written under a lock file of its name.
func (r *store) transactHere(orders string) (done bool, err error) {
	if _, err := os.Stat(filepath.Join(r.repo.dir, "packed-refs")); err == nil {
		return false, nil
	}
	type write struct{ ref, path, id, old string }
	var all []write
	for line := range strings.Lines(orders) {
		f := strings.Fields(line)
		if len(f) < 3 || f[0] != "update" || f[2] == zeroID || slices.ContainsFunc(all, func(w write) bool { return w.ref == f[1] }) {
			return false, nil
		}
		if _, err := r.readLoose("commit", f[2]); err != nil {
			return false, nil
		}
		path := filepath.Join(r.repo.dir, filepath.FromSlash(f[1]))
		if at, err := os.Lstat(path); err == nil && !at.Mode().IsRegular() {
			return false, nil
		}
		w := write{ref: f[1], path: path, id: f[2]}
		if len(f) > 3 {
			if w.old = f[3]; orZero(r.readRef(w.ref)) != w.old {
				return false, nil
			}
		}
		all = append(all, w)
	}
	for _, w := range all {
		if err := os.MkdirAll(filepath.Dir(w.path), 0o755); err != nil {
			return false, nil
		}
	}
	var locks []string
	defer func() {
		for _, lock := range locks {
			_ = os.Remove(lock)
		}
	}()
	for _, w := range all {
		lock := w.path + ".lock"
		file, err := os.OpenFile(lock, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return false, nil
		}
		locks = append(locks, lock)
		_, err = file.WriteString(w.id + "\n")
		if err = errors.Join(err, file.Close()); err != nil {
			return true, err
		}
		if w.old != "" && orZero(r.readRef(w.ref)) != w.old {
			return true, fmt.Errorf("cannot lock ref '%s': it has moved", w.ref)
		}
	}
	for _, w := range all {
		if err := os.Rename(w.path+".lock", w.path); err != nil {
			return true, err
		}
		locks = slices.DeleteFunc(locks, func(lock string) bool { return lock == w.path+".lock" }) // the lock file may belong to another process now
	}
	return true, nil
}

// eachRef lists all refs as "id name" lines sorted by name. packed says that git has
// packed some refs, and must be asked.
func (r *store) eachRef() (lines string, packed bool) {
	if _, err := os.Stat(filepath.Join(r.repo.dir, "packed-refs")); err == nil {
		return "", true
	}
	var names []string
	err := filepath.WalkDir(filepath.Join(r.repo.dir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(path, ".lock") {
			name, relErr := filepath.Rel(r.repo.dir, path)
			names, err = append(names, filepath.ToSlash(name)), relErr
		}
		return err
	})
	if err != nil {
		return "", true
	}
	slices.Sort(names)
	var text strings.Builder
	for _, name := range names {
		if id := r.readRef(name); len(id) == 40 {
			fmt.Fprintf(&text, "%s %s\n", id, name)
		}
	}
	return text.String(), false
}
