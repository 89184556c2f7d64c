package mirror

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// packLimit is the number of packs from which Maintain packs them into few.
const packLimit = 20

// pruneEach is how often the whole mirror is packed anew, which removes unreachable
// objects; in between only small packs and loose objects are packed together.
const pruneEach = 24 * time.Hour

// Forget empties what the mirror holds in memory. Its results do not change.
func (m *Mirror) Forget() {
	m.Merges.merges.clear()
	m.Objects.commits.clear()
	m.Objects.trees.clear()
	m.Objects.listings.clear()
	m.Objects.fresh.written.clear()
	m.Objects.nearby.clear()
}

// Most packs and loose objects since the last Pack before Crowded asks for the
// next.
const (
	packsCrowd = 100
	looseCrowd = 2000
)

// Crowded returns a channel that gets a value when packs and loose objects have
// become many: Pack is due.
func (m *Mirror) Crowded() <-chan struct{} { return m.Objects.crowded }

// wrote counts the packs and loose objects that were added to the mirror.
func (m *Objects) wrote(packs, loose int) {
	if m.newPacks.Add(int64(packs)) < packsCrowd && m.newLoose.Add(int64(loose)) < looseCrowd {
		return
	}
	select {
	case m.crowded <- struct{}{}:
	default:
	}
}

// Pack makes few packs of many small ones and of loose objects, and removes no object.
// Large packs are left alone until the small ones are as large together, so that the
// cost is the size of the additions since the last time, times a logarithm. It may run
// beside all other work.
func (m *Mirror) Pack(ctx context.Context) error {
	m.maintaining.Lock()
	defer m.maintaining.Unlock()
	m.Objects.newPacks.Store(0)
	m.Objects.newLoose.Store(0)
	if _, err := m.repo.git(ctx, geometric...); err != nil {
		return fmt.Errorf("packing the mirror: %w", err)
	}
	return nil
}

// geometric is a repack after which each pack is at least twice as large as all
// smaller ones together. Unreachable objects stay, in packs.
var geometric = []string{"repack", "--geometric=2", "-d", "-l", "-n", "-q"}

// Maintain packs the mirror when it has LooseLimit loose objects or many packs. The
// first time and once a day, it also removes objects that were unreachable for two
// days: commits that are neither kept nor on a fetched branch. It may run beside
// all other work; call it now and then.
func (m *Mirror) Maintain(ctx context.Context) error {
	m.maintaining.Lock()
	defer m.maintaining.Unlock()
	loose, packs, err := m.repo.count()
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	if loose < m.LooseLimit && packs < packLimit {
		return nil
	}
	repack := geometric
	whole := m.prunedAt.IsZero() || time.Since(m.prunedAt) > pruneEach
	if whole {
		repack = []string{"repack", "--cruft", "--cruft-expiration=2.days.ago", "-d", "-l", "-q"}
	}
	m.Objects.newPacks.Store(0)
	m.Objects.newLoose.Store(0)
	if err := m.Objects.Flush(ctx); err != nil {
		return err
	}
	if err := m.Refs.name(ctx); err != nil {
		return fmt.Errorf("naming what is kept: %w", err)
	}
	for _, args := range [][]string{
		{"pack-refs", "--all"},
		repack,
		{"prune", "--expire=2.days.ago"},
		{"commit-graph", "write", "--reachable", "--no-progress"},
	} {
		if _, err := m.repo.git(ctx, args...); err != nil {
			return fmt.Errorf("packing the mirror: %w", err)
		}
	}
	if whole {
		m.prunedAt = time.Now()
	}
	// Commits made long ago and not kept are gone; they are made again when asked
	// for.
	m.Forget()
	return nil
}

func (m *repository) count() (loose, packs int, err error) {
	dirs, err := os.ReadDir(filepath.Join(m.dir, "objects"))
	if err != nil {
		return 0, 0, err
	}
	for _, d := range dirs {
		switch {
		case len(d.Name()) == 2:
			entries, err := os.ReadDir(filepath.Join(m.dir, "objects", d.Name()))
			if err != nil {
				return 0, 0, err
			}
			loose += len(entries)
		case d.Name() == "pack":
			found, err := filepath.Glob(filepath.Join(m.dir, "objects", "pack", "*.pack"))
			if err != nil {
				return 0, 0, err
			}
			packs = len(found)
		}
	}
	return loose, packs, nil
}
