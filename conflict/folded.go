package conflict

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Two names of a directory that differ in their case alone are one file where a disk takes no
// notice of case, as those of most Macs: a checkout there has the content of one of them, and is
// no checkout of the tree. Changes that each add one of the two affect no common target. So
// such names are in every hash.

// folded returns a name as such a disk compares it.
func folded(name string) string {
	return strings.ToLower(strings.ToUpper(strings.TrimSuffix(name, "/")))
}

// cased reports whether a name may differ from another one in its case alone.
func cased(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || 'A' <= r && r <= 'Z' })
}

// collisions returns the names that differ from others of their directory in their case alone,
// with the directories, sorted. Of two names, at least one is cased.
func collisions(dirs map[string][]string) []string {
	var list []string
	for _, dir := range slices.Sorted(maps.Keys(dirs)) {
		if !slices.ContainsFunc(dirs[dir], cased) {
			continue
		}
		first := make(map[string]string, len(dirs[dir]))
		for _, name := range dirs[dir] {
			key := folded(name)
			if other, ok := first[key]; ok {
				list = append(list, dir+"/"+other, dir+"/"+name)
			} else {
				first[key] = name
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// collides reports whether one of the names of a directory differs from a name in its case
// alone.
func collides(names []string, name string) bool {
	key, plain := folded(name), ascii(name)
	return slices.ContainsFunc(names, func(other string) bool {
		if plain && ascii(other) && len(strings.TrimSuffix(other, "/")) != len(key) {
			return false
		}
		return other != name && (cased(other) || cased(name)) && folded(other) == key
	})
}

func ascii(name string) bool {
	return !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
}
