package conflict

import (
	"strings"

	"github.com/submitqueue/submitqueue/conflict/internal/sorted"
)

// Bounds of the number and depth of paths that are kept: a small pull request
// may hold folders within folders a thousand levels down.
const (
	maxTouched = 1000
	maxLevels  = 50
)

// TouchedPaths returns the paths that a footprint holds for a change that
// differs from main in the given files. gone are the directories that main has
// and the change has not. A path that is too deep is replaced by a directory
// that it is in, and so are the deepest of too many, up to "", the root: a
// change of everything touches everything.
func TouchedPaths(files, gone []string) []string {
	var paths []string
	for _, list := range [][]string{files, gone} {
		for _, p := range list {
			paths = append(paths, strings.ToValidUTF8(shallow(p), "\uFFFD"))
		}
	}
	paths = sorted.Names(paths)
	for depth := deepest(paths); len(paths) > maxTouched; depth-- {
		var up []string
		for _, p := range paths {
			if strings.Count(p, "/") == depth {
				p, _ = parent(p)
			}
			up = append(up, p)
		}
		paths = sorted.Names(up)
	}
	return paths
}

// shallow replaces a path that is too deep by a directory that it is in.
func shallow(path string) string {
	levels := 0
	for i := range len(path) {
		if path[i] == '/' {
			if levels++; levels > maxLevels {
				return path[:i]
			}
		}
	}
	return path
}

func deepest(paths []string) int {
	most := 0
	for _, p := range paths {
		most = max(most, strings.Count(p, "/"))
	}
	return most
}
