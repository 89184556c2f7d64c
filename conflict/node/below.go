package node

import "strings"

// below returns a file as seen from a directory, and whether it is below it.
func below(dir, file string) (string, bool) {
	if dir == "" {
		return file, true
	}
	rest, ok := strings.CutPrefix(file, dir)
	if !ok || len(rest) < 2 || rest[0] != '/' {
		return "", false
	}
	return rest[1:], true
}

// installed reports whether a path is in a folder of installed packages.
func installed(file string) bool {
	return strings.HasPrefix(file, "node_modules/") || strings.Contains(file, "/node_modules/")
}
