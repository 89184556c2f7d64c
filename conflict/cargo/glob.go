package cargo

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// match returns the directories that a pattern of workspace members stands
// for, and the listings of the directories that it looks at.
func (l *folders) match(root, pattern string) (dirs, reads []string) {
	if path.IsAbs(pattern) {
		return nil, nil
	}
	dirs = []string{root}
	for _, elem := range strings.Split(path.Clean(pattern), "/") {
		var next []string
		for _, d := range dirs {
			reads = append(reads, conflict.ListingOf(d))
			next = append(next, l.step(d, elem)...)
		}
		slices.Sort(next)
		dirs = slices.Compact(next)
		if elem == "**" {
			for _, d := range dirs {
				reads = append(reads, conflict.ListingOf(d))
			}
		}
	}
	return dirs, reads
}

// step returns the paths to which one element of a pattern leads from a
// directory. An element without a wildcard leads to a path even if nothing is
// there.
func (l *folders) step(dir, elem string) []string {
	switch {
	case elem == "**":
		all := []string{dir}
		for i := 0; i < len(all); i++ {
			for sub := range l.dirs[all[i]] {
				all = append(all, file(all[i], sub))
			}
		}
		return all
	case strings.ContainsAny(elem, "*?["):
		var list []string
		for _, sub := range append(slices.Sorted(maps.Keys(l.dirs[dir])), l.links[dir]...) {
			if ok, err := path.Match(elem, sub); ok && err == nil {
				list = append(list, file(dir, sub))
			}
		}
		return list
	}
	if to, ok := layout.Join(dir, elem); ok {
		return []string{to}
	}
	return nil
}
