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
	"time"

	"github.com/submitqueue/submitqueue/forge"
)

// What a healing calls the mirrors that are not the mirror.
const (
	newSuffix     = ".new"     // that is being made
	damagedSuffix = ".damaged" // that was replaced, until it is removed
)

// quietTime is how long a healing waits for merges under way before it swaps.
const quietTime = 30 * time.Second

// Generation counts how often the mirror was made again, or found sound by Examine.
// When it has changed, what was known to be in the mirror may have to be made again.
// Where there is no mirror, it is 0.
func (m *Mirror) Generation() int64 {
	if m == nil {
		return 0
	}
	return m.generation.Load()
}

// Heal makes the mirror again beside the damaged one, from a remote, and puts it in
// its place. All else goes on meanwhile, as far as the damage allows; whatever was
// begun on the old mirror may fail. branches and heads are fetched before the swap,
// as far as the remote has them; everything else comes when it is asked for. What only
// the mirror had is gone, and made again from the same inputs is the same. An error
// leaves the mirror as it was: *Transient as in FetchBranch.
func (m *Mirror) Heal(ctx context.Context, r forge.Remote, branches []string, heads []HeadRef) error {
	m.maintaining.Lock()
	defer m.maintaining.Unlock()
	if err := m.owned(); err != nil {
		return err
	}
	if err := os.RemoveAll(m.dir + newSuffix); err != nil {
		return fmt.Errorf("healing the mirror: %w", err)
	}
	next, err := openAlone(ctx, m.dir+newSuffix)
	if err != nil {
		return fmt.Errorf("healing the mirror: %w", err)
	}
	err = next.fillAnew(ctx, r, branches, heads)
	if err == nil {
		err = m.replace(ctx, next)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("healing the mirror: %w", err), next.Close(), os.RemoveAll(next.dir))
	}
	_ = os.RemoveAll(m.dir + damagedSuffix) // what is left of it goes at the next start
	return nil
}

// fillAnew fetches what is there of branches and heads.
func (m *Mirror) fillAnew(ctx context.Context, r forge.Remote, branches []string, heads []HeadRef) error {
	for _, b := range branches {
		if _, err := m.FetchBranch(ctx, r, b); err != nil && !errors.Is(err, forge.ErrNotFound) {
			return err
		}
	}
	if len(heads) > 0 {
		if _, err := m.FetchHeads(ctx, r, heads); err != nil {
			return err
		}
	}
	return m.Flush(ctx)
}

// owned reports whether nobody else has made a mirror in the place of ours, after
// our folder was taken away.
func (m *Mirror) owned() error {
	there, err := os.Stat(filepath.Join(m.dir, ownerFile))
	if err != nil {
		return nil
	}
	if ours, err := m.lock.Load().Stat(); err == nil && os.SameFile(ours, there) {
		return nil
	}
	return fmt.Errorf("healing the mirror: %w (%s is not ours): stop it, or restart this server", ErrBusy, m.dir)
}

// replace puts another mirror in this one's place, and forgets what was known of the
// old one.
func (m *Mirror) replace(ctx context.Context, next *Mirror) error {
	for _, h := range append(slices.Collect(maps.Values(next.sources)), next.reader, next.refs, next.merger.helper) {
		h.stop()
	}
	defer m.quiet(ctx)()
	m.keeping.Lock()
	defer m.keeping.Unlock()
	for _, turn := range []chan struct{}{m.fresh.flushing, m.reader.turn, m.refs.turn, m.merger.helper.turn} {
		select {
		case turn <- struct{}{}:
			defer func() { <-turn }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := writeInfo(next.attributesPath(), m.attributes); err != nil {
		return err
	}
	if err := swapFolders(m.dir, next.dir); err != nil {
		return err
	}
	for _, h := range []*helper{m.reader, m.refs, m.merger.helper} {
		h.end()
	}
	m.former = append(m.former, m.lock.Swap(next.lock.Load())) // a git that is just being started inherits it
	m.branches = next.branches
	m.named = nil
	m.fresh.clear()
	m.forgetAll()
	m.prunedAt = time.Now()
	return nil
}

// quiet waits until nobody is in the middle of merges, and lets nobody begin one
// before done is called. It gives up after a while: what is in memory of a merge then
// may name what the new mirror lacks, which is one more damage to heal.
func (m *Mirror) quiet(ctx context.Context) (done func()) {
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

// swapFolders puts the folder next in the place of dir, with what dir holds that is
// not git's. A crash in between leaves no mirror, which the next start makes.
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
