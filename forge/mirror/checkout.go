package mirror

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/forge/lfs"
	"github.com/submitqueue/submitqueue/queue"
)

// Worktrees are directories in which commits are checked out, with submodules and files
// of LFS where they are wanted.
type Worktrees struct {
	repo    *repository
	objects *Objects
	lfs     *lfs.Store

	mu        sync.Mutex
	checkouts map[string]bool          // directories in use
	modules   map[string]chan struct{} // full while a build has a submodule's cache; by the cache's name
}

// Checkout makes dir hold exactly the files of a commit, for a build. In a
// directory that an earlier Checkout of this mirror filled, only files that differ
// are written: every file that a build changed, made or removed there is restored,
// ignored files included. The directory is no git repository: programs that run in
// it cannot reach the mirror. Submodules are empty directories, and files that Git
// LFS keeps are pointers: see Checkouts.Fill.
//
// The directory is the caller's until release, which leaves its content for
// the next Checkout. Taking a directory that is in use is an error.
func (m *Mirror) Checkout(ctx context.Context, commit queue.CommitID, dir string) (release func() error, err error) {
	err = m.mending(ctx, func() error {
		release, err = m.Worktrees.checkout(ctx, commit, dir)
		return err
	}, commit)
	return release, err
}

func (m *Worktrees) checkout(ctx context.Context, commit queue.CommitID, dir string) (release func() error, err error) {
	info, err := m.objects.info(ctx, commit)
	if err != nil {
		return nil, fmt.Errorf("checking out: %w", err)
	}
	if err = m.objects.Flush(ctx); err == nil {
		if err = os.MkdirAll(dir, 0o755); err == nil {
			dir, err = realPath(dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("checking out: %w", err)
	}
	if !m.take(dir) {
		return nil, fmt.Errorf("checking out: %s is in use", dir)
	}
	release = sync.OnceValue(func() error {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.checkouts, dir)
		return nil
	})
	if err := m.fill(ctx, info.tree, dir); err != nil {
		return nil, errors.Join(fmt.Errorf("checking out %s: %w", commit, err), release())
	}
	return release, nil
}

// realPath returns a folder's absolute path without symbolic links.
func realPath(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	return dir, err
}

func (m *Worktrees) take(dir string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.checkouts[dir] {
		return false
	}
	m.checkouts[dir] = true
	return true
}

// fill brings the files of a tree into dir. After a failure in a directory that
// was used before it tries once more with an empty one.
func (m *Worktrees) fill(ctx context.Context, tree queue.TreeID, dir string) error {
	index := m.indexOf(dir)
	if err := os.MkdirAll(filepath.Dir(index), 0o755); err != nil {
		return err
	}
	_, err := os.Stat(index)
	if err == nil {
		var own *ContentError
		if err = m.refill(ctx, tree, dir, index); err == nil || ctx.Err() != nil || errors.As(err, &own) {
			return err
		}
	}
	if err := empty(dir); err != nil {
		return err
	}
	for _, path := range []string{index, index + ".lock"} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return m.refill(ctx, tree, dir, index)
}

// indexOf returns the path of git's index of a checkout.
func (m *Worktrees) indexOf(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(m.repo.dir, "checkouts", hex.EncodeToString(sum[:8]))
}

// refill first removes all files that the index does not name, so that no file that
// a build left, for example a symbolic link in the place of a directory, is in
// git's way.
func (m *Worktrees) refill(ctx context.Context, tree queue.TreeID, dir, index string) error {
	env := []string{"GIT_INDEX_FILE=" + index, "GIT_WORK_TREE=" + dir}
	clean := []string{"clean", "-ffdxq"}
	steps := [][]string{clean, {"read-tree", "--reset", "-u", "--no-recurse-submodules", string(tree)}}
	_, err := os.Stat(m.filledMark(dir))
	filled := err == nil
	if filled {
		// A former submodule is in no index if the tree has none there.
		steps = append(steps, clean)
	}
	for _, args := range steps {
		if _, _, err := m.repo.run(ctx, invocation{args: args, env: env, dir: dir}); err != nil {
			return contentError(err)
		}
	}
	files, err := m.objects.files(ctx, tree)
	if err != nil {
		return err
	}
	for _, f := range files {
		if f.Mode == "160000" {
			if err := empty(filepath.Join(dir, filepath.FromSlash(f.Path))); err != nil {
				return err
			}
		}
	}
	if filled {
		return os.Remove(m.filledMark(dir))
	}
	return nil
}

// Restore takes a directory into which a commit was checked out. It restores the files of
// the commit that have changed, returns their names, and leaves all other files alone. A
// file that looks as it did when it was written, including its inode and times, is not read
// again.
func (m *Worktrees) Restore(ctx context.Context, commit queue.CommitID, dir string) (changed []string, err error) {
	info, err := m.objects.info(ctx, commit)
	if err == nil {
		dir, err = realPath(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("restoring: %w", err)
	}
	env := []string{"GIT_INDEX_FILE=" + m.indexOf(dir), "GIT_WORK_TREE=" + dir}
	if changed, err = m.differs(ctx, dir, env); err != nil || len(changed) == 0 {
		return nil, err
	}
	args := []string{"read-tree", "--reset", "-u", "--no-recurse-submodules", string(info.tree)}
	if _, _, err := m.repo.run(ctx, invocation{args: args, env: env, dir: dir}); err != nil {
		return nil, fmt.Errorf("restoring %s: %w", commit, err)
	}
	left, err := m.differs(ctx, dir, env)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("restoring %s: %.200q is not what it is in the commit", commit, left[0])
	}
	return changed, err
}

// differs returns the files in dir that differ from its index. It reads the content of a
// file only if the file's other data differ from the index.
func (m *Worktrees) differs(ctx context.Context, dir string, env []string) ([]string, error) {
	out, _, err := m.repo.run(ctx, invocation{args: []string{"update-index", "--ignore-submodules", "--really-refresh"}, env: env, dir: dir})
	var failed *GitError
	if err == nil || !errors.As(err, &failed) || failed.ExitCode != 1 {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		if name, ok := strings.CutSuffix(strings.TrimSuffix(line, "\n"), ": needs update"); ok {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, err
	}
	return names, nil
}

// empty makes a directory empty, even if a build has removed permissions in it.
func empty(dir string) error {
	err := removeAll(dir)
	if err != nil {
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o755)
			}
			return nil
		})
		err = removeAll(dir)
	}
	return err
}

// removeAll removes the content of a directory but not the directory itself, which
// may be a mount point or somebody's working directory.
func removeAll(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}
