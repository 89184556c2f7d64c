package mirror

import (
	"context"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// Touched returns the paths that differ between two trees, and the topmost
// directories that only the first has, both in byte order.
func (m *Objects) Touched(ctx context.Context, from, to queue.TreeID) (paths, gone []string, err error) {
	deltas, err := m.Diff(ctx, from, to)
	if err != nil {
		return nil, nil, err
	}
	return m.TouchedBy(ctx, deltas, to)
}

// TouchedBy is Touched where the differences from the second tree are known (Diff).
func (m *Objects) TouchedBy(ctx context.Context, deltas []Delta, to queue.TreeID) (paths, gone []string, err error) {
	there := map[string]string{"": string(to)} // directory → its tree; "" where it is not one
	for _, d := range deltas {
		paths = append(paths, d.Path)
		if d.New != "" {
			continue
		}
		for at, dir := 0, ""; ; {
			n := strings.IndexByte(d.Path[at:], '/')
			if n < 0 {
				break
			}
			name := d.Path[at : at+n]
			up := dir
			dir, at = d.Path[:at+n], at+n+1
			id, seen := there[dir]
			if !seen {
				if id, err = m.directoryIn(ctx, there[up], name); err != nil {
					return nil, nil, err
				}
				if there[dir] = id; id == "" {
					gone = append(gone, dir)
				}
			}
			if id == "" {
				break
			}
		}
	}
	slices.Sort(gone)
	return paths, gone, nil
}

// directoryIn returns the tree of a directory of a tree, "" where there is none.
func (m *Objects) directoryIn(ctx context.Context, tree, name string) (string, error) {
	listed, err := m.directories(ctx, tree)
	if err != nil {
		return "", err
	}
	for _, e := range listed[0] {
		if e.name == name && e.dir() {
			return e.id, nil
		}
	}
	return "", nil
}
