// Package mirror is git: the bare repository of a queue (Mirror), in which main and the
// heads of pull requests are fetched, all merging is done, commits are checked out for
// builds, and from which main is pushed.
//
// A mirror can be lost: all of it is fetched, or follows from what is fetched. Damage is
// suspected by what git says (Suspect), looked into (Examine), and mended by a new mirror
// in the place of the old one (Heal).
package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/forge/lfs"
	"github.com/submitqueue/submitqueue/queue"
)

// Sentinel errors of the mirror.
var (
	// ErrHeadMoved: the pull request's ref no longer leads to the head that is wanted.
	ErrHeadMoved = errors.New("forge: the head has moved")
	// ErrBusy: another process owns the mirror.
	ErrBusy = errors.New("forge: the mirror is in use by another process")
)

// Identity is the author and committer of the commits that the mirror makes.
type Identity struct {
	Name  string
	Email string
}

// Mirror is a bare git repository in which the queue merges. It belongs to one
// process at a time; its methods may be called from several goroutines.
//
// What it makes is a function of its inputs alone: the same picks have the same
// commit ids in every mirror. Commits that must outlive the next Maintain are
// named by Keep or reachable from a fetched branch.
type Mirror struct {
	// Identity is who makes the commits. Set it before the first merge; whoever shall
	// make the same commits has the same Identity.
	Identity Identity
	// Signer signs the commits, where it is not nil. The same holds for it.
	Signer Signer
	// LooseLimit is the number of loose objects from which Maintain packs.
	LooseLimit int

	dir     string
	lock    atomic.Pointer[os.File]
	durable bool // objects are on the disk before a ref names them

	reader  *helper // cat-file
	refs    *helper // update-ref
	merger  *merger
	fetches chan struct{} // one fetch at a time

	commits  *lru[queue.CommitID, commitInfo]
	merges   *lru[mergeKey, merged]
	trees    *lru[string, []treeEntry]
	fresh    *fresh
	signed   *lru[string, string] // commits with their signatures, by the id that they would have without
	listings *lru[queue.TreeID, []File]
	nearby   *lru[queue.TreeID, queue.TreeID] // a tree from which a merged tree differs little

	ancestries ancestries

	kept    *lru[queue.CommitID, keptness]
	keeping sync.Mutex              // held while refs that keep commits move
	named   map[queue.CommitID]bool // which of kept have such a ref

	generation atomic.Int64
	crowded    chan struct{}
	newPacks   atomic.Int64 // since the last repack, and
	newLoose   atomic.Int64
	merging    sync.RWMutex // read by whoever adds to what is in memory only

	maintaining sync.Mutex
	prunedAt    time.Time // guarded by maintaining

	mu         sync.Mutex
	branches   map[string]queue.CommitID // refs/submitqueue/remote/ as far as known
	checkouts  map[string]bool           // directories in use
	exchanges  map[string]*exchange      // fetches of heads that can still be joined
	sources    map[string]*helper        // cat-file of repositories on this machine, by directory
	attributes string                    // what info/attributes says
	modules    map[string]chan struct{}  // whose turn it is with a submodule's cache
	ruled      int                       // how often attributes has changed
	former     []*os.File                // locks of mirrors that were replaced
	mend       func(context.Context, int64, error, []queue.CommitID) bool

	lfs    *lfs.Store
	remade string
}

// Open opens the bare mirror in dir and makes it if there is none. What a
// killed owner left behind (lock files, half-written objects) is removed; while
// its git processes still run, Open waits for them, up to ten seconds. A
// mirror that is damaged at a glance is begun anew, empty; see Remade.
// ErrBusy: a live process owns it.
func Open(ctx context.Context, dir string) (*Mirror, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m, err := openAlone(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, left := range []string{newSuffix, damagedSuffix} { // by a healing that was killed
		if err := os.RemoveAll(dir + left); err != nil {
			return nil, errors.Join(fmt.Errorf("mirror: %w", err), m.Close())
		}
	}
	return m, nil
}

// openAlone opens the mirror in dir and looks at nothing beside it.
func openAlone(ctx context.Context, dir string) (*Mirror, error) {
	m := &Mirror{
		Identity:   Identity{Name: "SubmitQueue", Email: "submitqueue@localhost"},
		LooseLimit: 6000,
		dir:        dir,
		fetches:    make(chan struct{}, 1),
		crowded:    make(chan struct{}, 1),
		commits:    newLRU[queue.CommitID, commitInfo](commitBytes),
		merges:     newLRU[mergeKey, merged](mergeBytes),
		trees:      newLRU[string, []treeEntry](treeBytes),
		fresh:      newFresh(),
		signed:     newLRU[string, string](signedBytes),
		listings:   newLRU[queue.TreeID, []File](listingBytes),
		nearby:     newLRU[queue.TreeID, queue.TreeID](20_000),
		kept:       newLRU[queue.CommitID, keptness](50_000),
		branches:   map[string]queue.CommitID{},
		checkouts:  map[string]bool{},
		exchanges:  map[string]*exchange{},
		sources:    map[string]*helper{},
		modules:    map[string]chan struct{}{},
		ancestries: ancestries{by: map[string]*ancestry{}},
		lfs:        lfs.NewStore(filepath.Join(dir, "lfs")),
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	if err := checkVersion(ctx, m); err != nil {
		return nil, err
	}
	lock, err := lockMirror(ctx, dir)
	if err != nil {
		return nil, err
	}
	m.lock.Store(lock)
	if err := m.prepare(ctx); err != nil {
		lock.Close()
		return nil, err
	}
	m.reader = m.helper("cat-file", "--batch-command")
	m.refs = m.helper("update-ref", "-z", "--stdin")
	m.merger = newMerger(m)
	return m, nil
}

func (m *Mirror) prepare(ctx context.Context) error {
	if err := sweep(m.dir); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(m.dir, "objects"))
	_, err2 := os.Stat(filepath.Join(m.dir, "HEAD"))
	empty := errors.Is(err, os.ErrNotExist) && errors.Is(err2, os.ErrNotExist)
	if !empty {
		m.remade = m.unsound(ctx)
	}
	if m.remade != "" {
		if err := m.clearAway(); err != nil {
			return fmt.Errorf("removing a damaged mirror (%s): %w", m.remade, err)
		}
	}
	if empty || m.remade != "" {
		if _, err := m.git(ctx, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", m.dir); err != nil {
			return fmt.Errorf("making the mirror: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(m.dir, "info"), 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(m.attributesPath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	m.attributes = string(text)
	return nil
}

// Close ends the mirror's git processes and gives up the mirror.
func (m *Mirror) Close() error {
	flushed := m.Flush(context.Background())
	m.reader.stop()
	m.refs.stop()
	m.merger.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, h := range m.sources {
		h.stop()
	}
	for _, f := range m.former {
		f.Close()
	}
	return errors.Join(flushed, m.lock.Load().Close())
}

// Remade says what of the mirror was damaged when it was opened, so that it was begun
// anew, or "". It has nothing then but what is fetched, and merges made anew.
func (m *Mirror) Remade() string { return m.remade }

// Dir returns the directory of the bare repository.
func (m *Mirror) Dir() string { return m.dir }

// checkVersion refuses a git that lacks what the mirror stands on.
func checkVersion(ctx context.Context, m *Mirror) error {
	out, err := m.git(ctx, "version")
	if err != nil {
		return fmt.Errorf("git 2.38 or newer must be on the PATH: %w", err)
	}
	words := strings.Fields(string(out))
	if len(words) < 3 {
		return fmt.Errorf("git 2.38 or newer must be on the PATH: `git version` says %q", strings.TrimSpace(string(out)))
	}
	parts := strings.Split(words[2], ".")
	if len(parts) >= 2 {
		major, err1 := strconv.Atoi(parts[0])
		minor, err2 := strconv.Atoi(parts[1])
		if err1 == nil && err2 == nil && (major > 2 || major == 2 && minor >= 38) {
			return nil
		}
	}
	return fmt.Errorf("git 2.38 or newer must be on the PATH (for merge-tree --write-tree): found %s", words[2])
}

// isID reports whether s is a full object id in lower-case hexadecimal. Nothing
// else is ever given to git as a revision.
func isID(s string) bool {
	if len(s) != 40 && len(s) != 64 {
		return false
	}
	for i := 0; i < len(s); i++ {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
