package mirror

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// A git process that is killed while it moves a branch leaves a lock file, and git lets
// nobody move that branch until a person removes it. A git process holds a lock for
// milliseconds, unless a hook takes long or somebody has stopped the process.
const (
	lockOrphaned = 15 * time.Second // age of a lock if no git process works in its repository
	lockForsaken = 10 * time.Minute // age of a lock if this cannot be told
)

// takeStaleLock removes the lock because of which a push to a repository on this machine
// was refused, if no process holds it any more, and returns its path; else "".
func takeStaleLock(r forge.Remote, ref, stderr string) string {
	dir := strings.TrimPrefix(r.URL, "file://")
	if !filepath.IsAbs(dir) || !strings.Contains(stderr, "File exists") {
		return ""
	}
	for _, name := range []string{ref, "HEAD", "packed-refs"} {
		lock := filepath.Join(dir, filepath.FromSlash(name)+".lock")
		if !strings.Contains(stderr, filepath.Base(lock)) {
			continue
		}
		before, err := os.Lstat(lock)
		if err != nil || !before.Mode().IsRegular() {
			continue
		}
		age := time.Since(before.ModTime())
		if age < lockOrphaned || age < lockForsaken && !deserted(dir, age) {
			continue
		}
		if now, err := os.Lstat(lock); err == nil && os.SameFile(before, now) && os.Remove(lock) == nil {
			return lock
		}
	}
	return ""
}

// deserted reports whether it is known that no git process that may hold a lock of this age works
// in a repository of this machine: each git process that writes there has it as its working
// directory.
func deserted(dir string, age time.Duration) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return false
	}
	known := false
	for _, p := range processes {
		comm, err := os.ReadFile(filepath.Join("/proc", p.Name(), "comm"))
		if err != nil {
			continue
		}
		known = true
		if !strings.HasPrefix(string(comm), "git") {
			continue
		}
		cwd, err := os.Readlink(filepath.Join("/proc", p.Name(), "cwd"))
		if err != nil && !os.IsNotExist(err) && err != syscall.ESRCH {
			return false // of another user: it may be there
		}
		if (cwd == dir || strings.HasPrefix(cwd, dir+string(filepath.Separator))) && !harmless(p.Name(), age) {
			return false
		}
	}
	return known
}

// harmless reports whether a git process does not hold a lock of this age: a reader of objects has
// no locks, and our own process for refs (Store) is ended if it holds one for updateWithin. Both
// stay in the repository for as long as the server runs.
func harmless(pid string, age time.Duration) bool {
	line, err := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	if err != nil {
		return os.IsNotExist(err)
	}
	args := strings.Split(string(line), "\x00")
	switch {
	case len(args) < 3:
		return false
	case args[1] == "cat-file":
		return true
	case args[1] != "update-ref" || age < 2*updateWithin:
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
	if err != nil {
		return os.IsNotExist(err)
	}
	after := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // its state, and its parent
	return len(after) > 1 && after[1] == strconv.Itoa(os.Getpid())
}
