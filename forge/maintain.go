package forge

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// packLimit is the number of packs from which Maintain makes one of them.
const packLimit = 20

// Forget empties what the mirror holds in memory. Its results do not change.
func (m *Mirror) Forget() {
	m.merges.clear()
	m.commits.clear()
	m.listings.clear()
	m.nearby.clear()
}

// Maintain packs the mirror when it has LooseLimit loose objects or many packs,
// and removes what nothing has reached for two days: commits that are neither
// kept nor on a fetched branch. It may run beside all else; call it now and then.
func (m *Mirror) Maintain(ctx context.Context) error {
	loose, packs, err := m.count()
	if err != nil {
		return fmt.Errorf("mirror: %w", err)
	}
	if loose < m.LooseLimit && packs < packLimit {
		return nil
	}
	repack := []string{"repack", "-d", "-l", "-q"}
	if packs >= packLimit {
		repack = []string{"repack", "-A", "-d", "-l", "-q", "--unpack-unreachable=2.days.ago"}
	}
	for _, args := range [][]string{
		{"pack-refs", "--all"},
		repack,
		{"prune", "--expire=2.days.ago"},
		{"commit-graph", "write", "--reachable", "--no-progress"},
	} {
		if _, err := m.git(ctx, args...); err != nil {
			return fmt.Errorf("packing the mirror: %w", err)
		}
	}
	// What was made long ago and not kept is gone; it is made again when asked for.
	m.Forget()
	return nil
}

func (m *Mirror) count() (loose, packs int, err error) {
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
