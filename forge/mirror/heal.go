package mirror

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// Suffixes of the folders of the other two mirrors during a healing.
const (
	newSuffix     = ".new"     // the mirror that is being made
	damagedSuffix = ".damaged" // the mirror that was replaced, until it is removed
)

// quietTime is how long a healing waits for merges under way before it swaps.
const quietTime = 30 * time.Second

// Generation counts how often the mirror was made again, or found sound by Examine.
// When it has changed, objects known to be in the mirror may have to be made again.
// It is 0 without a mirror.
func (m *Mirror) Generation() int64 {
	if m == nil {
		return 0
	}
	return m.repo.generation.Load()
}

// Heal makes a new mirror beside the damaged one, from a remote, and puts it in the
// damaged one's place. All other work goes on meanwhile, as far as the damage allows;
// calls begun on the old mirror may fail. branches and heads are fetched before the
// swap, as far as the remote has them; everything else is fetched when it is asked
// for. Commits that only the mirror had are gone; commits made again from the same
// inputs are the same. An error leaves the mirror as it was: *Transient as in
// FetchBranch.
func (m *Mirror) Heal(ctx context.Context, r forge.Remote, branches []string, heads []HeadRef) error {
	m.maintaining.Lock()
	defer m.maintaining.Unlock()
	if err := m.repo.owned(); err != nil {
		return err
	}
	if err := os.RemoveAll(m.repo.dir + newSuffix); err != nil {
		return fmt.Errorf("healing the mirror: %w", err)
	}
	next, err := openAlone(ctx, m.repo.dir+newSuffix)
	if err != nil {
		return fmt.Errorf("healing the mirror: %w", err)
	}
	err = next.fillAnew(ctx, r, branches, heads)
	if err == nil {
		err = m.replace(ctx, next)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("healing the mirror: %w", err), next.Close(), os.RemoveAll(next.repo.dir))
	}
	_ = os.RemoveAll(m.repo.dir + damagedSuffix) // the next start removes the rest
	return nil
}

// fillAnew fetches those branches and heads that the remote has.
func (m *Mirror) fillAnew(ctx context.Context, r forge.Remote, branches []string, heads []HeadRef) error {
	for _, b := range branches {
		if _, err := m.Remotes.FetchBranch(ctx, r, b); err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
	}
	if len(heads) > 0 {
		if _, err := m.Remotes.FetchHeads(ctx, r, heads); err != nil {
			return err
		}
	}
	return m.Objects.Flush(ctx)
}

// owned returns an error if another process has made a mirror in the place of ours,
// after our folder was taken away.
func (m *repository) owned() error {
	there, err := os.Stat(filepath.Join(m.dir, ownerFile))
	if err != nil {
		return nil
	}
	if ours, err := m.lock.Load().Stat(); err == nil && os.SameFile(ours, there) {
		return nil
	}
	return fmt.Errorf("healing the mirror: %w (%s is not ours): stop it, or restart this server", ErrBusy, m.dir)
}

// replace puts another mirror in this one's place, and forgets all that was known of
// the old one.
func (m *Mirror) replace(ctx context.Context, next *Mirror) error {
	for _, h := range append(slices.Collect(maps.Values(next.Remotes.sources)), next.Objects.reader, next.Refs.refs, next.Merges.merger.helper) {
		h.stop()
	}
	defer m.Merges.quiet(ctx)()
	m.Refs.keeping.Lock()
	defer m.Refs.keeping.Unlock()
	for _, turn := range []chan struct{}{m.Objects.fresh.flushing, m.Objects.reader.turn, m.Refs.refs.turn, m.Merges.merger.helper.turn} {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for _, mu := range []*sync.Mutex{&m.mu, &m.Merges.mu, &m.History.mu} {
		mu.Lock()
		defer mu.Unlock()
	}
	if err := writeInfo(next.Merges.attributesPath(), m.Merges.attributes); err != nil {
		return err
	}
	if err := swapFolders(m.repo.dir, next.repo.dir); err != nil {
		return err
	}
	for _, h := range []*helper{m.Objects.reader, m.Refs.refs, m.Merges.merger.helper} {
		h.end()
	}
	m.former = append(m.former, m.repo.lock.Swap(next.repo.lock.Load())) // a git process that is starting now inherits the old lock
	m.History.branches = next.History.branches
	m.Refs.named = nil
	m.Objects.fresh.clear()
	m.forgetAll()
	m.prunedAt = time.Now()
	return nil
}

// quiet waits until no merge is under way, and lets none begin before done is called.
// It gives up after a while: then an object of a merge in memory may name an object
// that the new mirror lacks, which is further damage to heal.
func (m *Merges) quiet(ctx context.Context) (done func()) {
	wait, cancel := context.WithTimeout(ctx, quietTime)
	defer cancel()
	poll := time.NewTicker(2 * time.Millisecond)
	defer poll.Stop()
	for !m.merging.TryLock() {
		select {
		case <-poll.C:
		case <-wait.Done():
			return func() {}
		}
	}
	return m.merging.Unlock
}

// swapFolders puts the folder next in the place of dir, together with the folders
// of dir that are not git's. A crash in between leaves no mirror; the next start
// makes one.
func swapFolders(dir, next string) error {
	old := dir + damagedSuffix
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	for _, name := range beside {
		err := os.Rename(filepath.Join(dir, name), filepath.Join(next, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(next, dir)
}

func writeInfo(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
