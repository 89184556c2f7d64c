// Package mirror is git: the bare repository of a queue (Mirror), in which main and the
// heads of pull requests are fetched, all merging is done, commits are checked out for
// builds, and from which main is pushed.
//
// A Mirror is opened, looked after and healed as a whole; its work is in its parts,
// each of which knows only those before it:
//
//	repository  git.go       runs git in a folder; helpers that stay (helper.go)
//	Objects     object.go    reads commits, trees and files; adds new objects (fresh.go, pack.go)
//	History     history.go   how commits follow: ancestors, lines, own commits of a head
//	Merges      merge.go     makes commits: merge, squash, replay, revert, rollup; signs them
//	Worktrees   checkout.go  checks commits out, with submodules and files of LFS
//	Refs        ref.go       says which commits are kept
//	Remotes     fetch.go     fetches branches and heads (head.go), pushes (push.go, heads.go, own.go), no more than the host wants (pace.go, width.go)
//	Mirror      mirror.go    is packed (maintain.go), suspected, examined (damage.go) and healed (heal.go)
//
// # A worked example
//
// A pull request's head is fetched together with the heads that other callers wait for
// (Remotes.FetchHeads), from a repository on this machine without git (near.go). It is merged into main
// (Merges.MergeWave): their common past is found in memory (History, ancestry.go), and the
// trees are merged in memory where each entry was changed by one side only (entry.go); all
// other merges are made by one git process that stays (merger.go). Merges stay in memory
// until git must see them, since most are speculative (fresh.go), and become one pack then.
// Builds check the merge out (Mirror.Checkout); main moves to it (Remotes.Push).
//
// # What our own merge buys
//
// Each of these pieces could be left to git. To measure a piece, it was left out of a whole
// server that lands changes; it stays because of the cost of leaving it out. The table
// shows the CPU of the server with its git processes, in % of the CPU with all pieces, as
// medians of one to four runs that took turns on two cores with other load (git 2.39).
// Single runs differ by up to a third.
//
//	A: submitqueue bench land --changes 400 --open 24 --recent
//	B: submitqueue bench land --changes 100 --areas 50
//	C: submitqueue bench land --changes 100 --areas 1
//	D: submitqueue bench land --changes 1500 --open 50
//	E: as B, with 20 areas, on Go's own sources: 11,500 files, 61 commits (there is no flag for it)
//
//	in place of our own piece                      A     B     C     D     E
//	every merge by one git merge-tree (entry.go)   138   159   166   -     151
//	a file for each object (pack.go)               120   170   166   -     127
//	the same, written at once (fresh.go)           142   205   195   -     -
//	git fetch from this machine (near.go)          108   111    98   110   147
//	merge bases by date alone (ancestry.go)         89   119   108   180   -
//	all of the above by git                        140   179   163   -     -
//
// With all pieces A takes 43 ms of CPU for a landing, B 28, C 36, D 61 and E 187. The
// server's memory is the same either way (80 MB in B, 140 in A, 510 in E). Loose objects
// are expensive because they have to be packed: the mirror then has 2 or 3 packs at the end,
// and 20 to 90 with our own packs; Pack bounds their number at about 120.
//
// A fetch by git costs more time than CPU: as B with 20 areas, six runs each, it takes
// 111 % of the CPU and 136 % of the time to the last landing. An index by git index-pack in
// place of ours takes 109 % and 120 %.
//
// The ancestry is for branches that began long ago (D): the search by date visits all
// commits that have landed since. The search by date (base.go) is for branches that began
// before the server did, in a history of more than 50,000 commits: without it B takes 115 %
// there, since git has to merge. If git has to merge everything, and has a process for each
// wave in place of one that stays (merger.go), B takes 133 %.
//
// To measure a piece again, make it answer that it cannot do its work (mergeHere: not ok;
// copyHeads: false; put: write) and run the commands in turns.
//
// A mirror can be lost: all of its content is fetched, or follows from fetched content.
// Damage is suspected from git's messages (Suspect), examined (Examine), and mended by a new
// mirror in the place of the old one (Heal).
package mirror

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
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
// Its results are a function of its inputs alone: the same picks have the same
// commit ids in every mirror. Commits that must outlive the next Maintain are
// named by Refs.Keep or reachable from a fetched branch.
//
// Its parts read (Objects, History), make (Merges), check out (Worktrees), exchange with
// remotes (Remotes) and keep (Refs); the Mirror itself is opened, looked after and healed.
type Mirror struct {
	Objects   *Objects
	History   *History
	Merges    *Merges
	Worktrees *Worktrees
	Remotes   *Remotes
	Refs      *Refs
	// LooseLimit is the number of loose objects from which Maintain packs.
	LooseLimit int

	repo        *repository
	maintaining sync.Mutex
	prunedAt    time.Time // guarded by maintaining
	remade      string

	mu     sync.Mutex
	former []*os.File // locks of mirrors that were replaced
	mend   func(context.Context, int64, error, []queue.CommitID) bool
}

// Open opens the bare mirror in dir and makes it if there is none. Leftovers of
// a killed owner (lock files, half-written objects) are removed; while its git
// processes still run, Open waits for them, up to ten seconds. A mirror that is
// damaged at a glance is begun anew, empty; see Remade. ErrBusy: a live process
// owns it.
func Open(ctx context.Context, dir string) (*Mirror, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	m, err := openAlone(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, left := range []string{newSuffix, damagedSuffix} { // of a healing that was killed
		if err := os.RemoveAll(dir + left); err != nil {
			return nil, errors.Join(fmt.Errorf("mirror: %w", err), m.Close())
		}
	}
	return m, nil
}

// openAlone opens the mirror in dir, and leaves the folders beside it alone.
func openAlone(ctx context.Context, dir string) (*Mirror, error) {
	m := newMirror(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("mirror: %w", err)
	}
	if err := checkVersion(ctx, m.repo); err != nil {
		return nil, err
	}
	lock, err := lockMirror(ctx, dir)
	if err != nil {
		return nil, err
	}
	m.repo.lock.Store(lock)
	if err := m.prepare(ctx); err != nil {
		lock.Close()
		return nil, err
	}
	return m, nil
}

// newMirror returns a mirror without a look at its folder.
func newMirror(dir string) *Mirror {
	repo := &repository{dir: dir}
	objects := newObjects(repo)
	history := &History{repo: repo, objects: objects, branches: map[string]queue.CommitID{}, ancestries: ancestries{by: map[string]*ancestry{}}}
	merges := &Merges{
		Identity: Identity{Name: "SubmitQueue", Email: "submitqueue@localhost"},
		repo:     repo, objects: objects, history: history, merger: newMerger(repo),
		merges: newLRU[mergeKey, merged](mergeBytes), signed: newLRU[string, string](signedBytes),
	}
	names := newRefs(repo, objects)
	return &Mirror{
		LooseLimit: 6000,
		repo:       repo, Objects: objects, History: history, Merges: merges, Refs: names,
		Worktrees: &Worktrees{repo: repo, objects: objects, checkouts: map[string]bool{}, modules: map[string]chan struct{}{}, lfs: lfs.NewStore(filepath.Join(dir, "lfs"))},
		Remotes: &Remotes{repo: repo, objects: objects, history: history, merges: merges, names: names,
			width: newWidth(dir), fetches: make(chan struct{}, 1), exchanges: map[string]*exchange{}, sources: map[string]*helper{}},
	}
}

func (m *Mirror) prepare(ctx context.Context) error {
	if err := sweep(m.repo.dir); err != nil {
		return err
	}
	_, err := os.Stat(filepath.Join(m.repo.dir, "objects"))
	_, err2 := os.Stat(filepath.Join(m.repo.dir, "HEAD"))
	empty := errors.Is(err, os.ErrNotExist) && errors.Is(err2, os.ErrNotExist)
	if !empty {
		m.remade = m.repo.unsound(ctx)
	}
	if m.remade != "" {
		if err := m.repo.clearAway(); err != nil {
			return fmt.Errorf("removing a damaged mirror (%s): %w", m.remade, err)
		}
	}
	if empty || m.remade != "" {
		if _, err := m.repo.git(ctx, "init", "--quiet", "--bare", "--template=", "--initial-branch=main", m.repo.dir); err != nil {
			return fmt.Errorf("making the mirror: %w", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(m.repo.dir, "info"), 0o755); err != nil {
		return err
	}
	text, err := os.ReadFile(m.Merges.attributesPath())
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	m.Merges.attributes = string(text)
	return nil
}

// Close ends the mirror's git processes and gives up the mirror.
func (m *Mirror) Close() error {
	flushed := m.Objects.Flush(context.Background())
	m.Objects.reader.stop()
	m.Refs.refs.stop()
	m.Merges.merger.stop()
	m.Remotes.stop()
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.former {
		f.Close()
	}
	return errors.Join(flushed, m.repo.lock.Load().Close())
}

// Remade says how the mirror was damaged when it was opened, so that it was begun anew, or
// "". Such a mirror has only commits that were fetched since, and merges that were made since.
func (m *Mirror) Remade() string { return m.remade }

// Dir returns the directory of the bare repository.
func (m *Mirror) Dir() string { return m.repo.dir }

// checkVersion refuses a git that lacks the features that the mirror needs.
func checkVersion(ctx context.Context, repo *repository) error {
	const wants = "git 2.38 or newer must be on the PATH (for merge-tree --write-tree)"
	out, err := repo.git(ctx, "version")
	if err != nil {
		return fmt.Errorf("%s: %w", wants, err)
	}
	var major, minor int
	if _, err := fmt.Sscanf(string(out), "git version %d.%d", &major, &minor); err != nil || major < 2 || major == 2 && minor < 38 {
		return fmt.Errorf("%s: `git version` says %.100q", wants, strings.TrimSpace(string(out)))
	}
	return nil
}

// isID reports whether s is a full object id in lower-case hexadecimal. Git gets
// revisions in no other form.
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
