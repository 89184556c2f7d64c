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
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// moduleRef begins the refs by which a cache keeps commits.
const moduleRef = "refs/modules/c"

// moduleIndex is git's index in a cache; each checkout on this machine writes it.
const moduleIndex = "submitqueue.index"

// moduleUsed is a file in a cache that each use writes, also one for runners on other machines.
const moduleUsed = "submitqueue.used"

// moduleAge is how long an unused cache stays.
const moduleAge = 30 * 24 * time.Hour

// moduleCache returns the repository in which the commits of an address are kept. Only
// the caller may use it until it calls unlock.
func (m *Worktrees) moduleCache(ctx context.Context, address string) (dir string, unlock func(), err error) {
	sum := sha256.Sum256([]byte(address))
	name := hex.EncodeToString(sum[:16])
	turn := m.turn(name)
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	dir = filepath.Join(m.repo.dir, "submodules", name)
	if err := m.openCache(ctx, dir); err != nil {
		<-turn
		return "", nil, fmt.Errorf("its cache: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, moduleUsed), nil, 0o644); err != nil {
		<-turn
		return "", nil, fmt.Errorf("its cache: %w", err)
	}
	now := time.Now()
	_ = os.Chtimes(filepath.Join(dir, moduleUsed), now, now) // writing nothing into an empty file need not change its time
	return dir, func() { <-turn }, nil
}

// turn returns the channel that a user of a cache holds.
func (m *Worktrees) turn(name string) chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.modules[name] == nil {
		m.modules[name] = make(chan struct{}, 1)
	}
	return m.modules[name]
}

// dropUnused removes the caches that no build has used for long.
func (m *Worktrees) dropUnused() error {
	dir := filepath.Join(m.repo.dir, "submodules")
	caches, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, c := range caches {
		used := lastUse(filepath.Join(dir, c.Name()))
		if used.IsZero() || time.Since(used) < moduleAge {
			continue // one without a HEAD is being made
		}
		turn := m.turn(c.Name())
		select {
		case turn <- struct{}{}:
			err = os.RemoveAll(filepath.Join(dir, c.Name()))
			<-turn
		default:
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lastUse returns when a cache was used last, or made; zero: it is being made. Caches of older
// versions have no file of their last use.
func lastUse(cache string) (at time.Time) {
	for _, name := range []string{"HEAD", moduleIndex, moduleUsed} {
		if info, err := os.Stat(filepath.Join(cache, name)); err == nil && info.ModTime().After(at) {
			at = info.ModTime()
		}
	}
	return at
}

// openCache makes the cache if there is none, and anew if it has become large.
func (m *Worktrees) openCache(ctx context.Context, dir string) error {
	kept, err := os.ReadDir(filepath.Join(dir, filepath.Dir(moduleRef)))
	if err == nil && len(kept) >= maxModuleRefs {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "HEAD")); err == nil {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if _, err := m.repo.inModule(ctx, dir, nil, "init", "--quiet", "--bare", "--template="); err != nil {
		return err
	}
	return m.dropUnused()
}

// inModule runs git on a cache, or on the mirror, and returns its standard output.
func (m *repository) inModule(ctx context.Context, git string, header []string, args ...string) ([]byte, error) {
	out, _, err := m.run(ctx, invocation{args: args, dir: git, env: []string{"GIT_DIR=" + git}, header: header})
	return out, err
}

// fetchModule fetches one commit without its history or, if the host does not give that,
// all branches and tags. ErrNotFound: the host has no such commit.
func (m *Worktrees) fetchModule(ctx context.Context, cache, address, commit string, header []string) error {
	fetch := func(args ...string) error {
		args = append([]string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"}, args...)
		_, err := m.repo.inModule(ctx, cache, header, args...)
		if err != nil {
			// A git that was killed, because its build was stopped, leaves its locks; it holds
			// shallow.lock for as long as the pack comes. Only this caller uses the cache.
			err = errors.Join(err, sweep(cache))
		}
		return err
	}
	err := fetch("--depth=1", "--", address, "+"+commit+":"+moduleRef+commit)
	if err == nil {
		return nil
	}
	said := stderrOf(err)
	switch {
	case strings.Contains(said, "unadvertised object"), strings.Contains(said, "shallow"):
		if err := fetch("--", address, "+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*"); err != nil {
			return remoteError(err)
		}
		if _, err := m.repo.inModule(ctx, cache, nil, "update-ref", moduleRef+commit, commit); err == nil {
			return nil
		}
	case !strings.Contains(said, "not our ref"):
		return remoteError(err)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: it has no commit %s: push it there, or have the repository name one that is there", forge.ErrNotFound, commit)
}

// isDenied reports whether a host says that a repository does not exist or is not for
// us; many hosts do not tell which.
func isDenied(err error) bool {
	said := stderrOf(err)
	return errors.Is(err, forge.ErrForbidden) || slices.ContainsFunc([]string{"not found", "does not appear to be a git repository", "error: 404"},
		func(words string) bool { return strings.Contains(said, words) })
}

func stderrOf(err error) string {
	var failed *GitError
	if errors.As(err, &failed) {
		return failed.Stderr
	}
	return ""
}

// placeModule writes the files of a commit into its empty folder.
func (m *Worktrees) placeModule(ctx context.Context, h holder) error {
	if err := os.Remove(h.index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, _, err := m.repo.run(ctx, invocation{args: []string{"read-tree", "--reset", "-u", "--no-recurse-submodules", h.commit}, dir: h.dir,
		env: []string{"GIT_DIR=" + h.git, "GIT_INDEX_FILE=" + h.index, "GIT_WORK_TREE=" + h.dir}})
	return err
}

// link is a submodule, with its entry in the tree and its address in .gitmodules.
type link struct {
	File
	url string // as written; "": there is none
}

// links returns the submodules of a commit, in the order of its tree.
func (m *Worktrees) links(ctx context.Context, h holder) ([]link, error) {
	out, err := m.repo.inModule(ctx, h.git, nil, "ls-tree", "-r", "-z", "-l", h.commit)
	if err != nil {
		return nil, err
	}
	var links []link
	listing := ""
	for entry := range strings.SplitSeq(string(out), "\x00") {
		head, path, _ := strings.Cut(entry, "\t")
		f := strings.Fields(head)
		switch {
		case len(f) != 4:
		case f[0] == "160000":
			if why := contained(path); why != "" {
				return nil, fmt.Errorf("a submodule is at %.120q, which %s", path, why)
			}
			links = append(links, link{File: File{Path: path, Mode: f[0], OID: f[2]}})
		case path == ".gitmodules":
			if listing, err = m.modulesFile(ctx, h, f); err != nil {
				return nil, err
			}
		}
	}
	known, err := modulesOf(listing)
	if err != nil {
		return nil, fmt.Errorf(".gitmodules: %w", err)
	}
	for i := range links {
		links[i].url = known[links[i].Path].url
	}
	return links, nil
}

// modulesFile reads a .gitmodules; entry is its mode, kind, id and size. .gitmodules is a
// regular file: git does not check out a commit where it is a symbolic link.
func (m *Worktrees) modulesFile(ctx context.Context, h holder, entry []string) (string, error) {
	if size, err := strconv.Atoi(entry[3]); err != nil || size > maxModuleFile {
		return "", fmt.Errorf(".gitmodules has %s bytes, and may have %d", entry[3], maxModuleFile)
	}
	text, err := m.repo.inModule(ctx, h.git, nil, "config", "--no-includes", "--blob", entry[2], "-z", "--list")
	if err != nil {
		return "", fmt.Errorf(".gitmodules cannot be read: %w", err)
	}
	return string(text), nil
}

// emptyFolder returns the folder of a submodule, with nothing in it and no symbolic link
// on the way to it: what a step has put in the place of a folder is removed, and not what a link
// there leads to.
func emptyFolder(dir, path string) (string, error) {
	for part := range strings.SplitSeq(path, "/") {
		dir = filepath.Join(dir, part)
		info, err := os.Lstat(dir)
		if err == nil && info.IsDir() {
			continue
		}
		if err == nil {
			err = os.Remove(dir)
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			err = os.Mkdir(dir, 0o755)
		}
		if err != nil {
			return "", err
		}
	}
	return dir, empty(dir)
}
