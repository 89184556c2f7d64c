package bazel

import (
	"fmt"
	"path"
	"strings"
)

// label is a parsed label: @repo//dir:name, with an empty repo for targets and
// files of the tree.
type label struct{ repo, dir, name string }

// parseLabel reads a label as Bazel prints it. For labels of the tree, newer
// versions print @// and @@//, older ones the workspace's own name.
func parseLabel(s, workspace string) (label, bool) {
	before, after, ok := strings.Cut(s, "//")
	if !ok {
		return label{}, false
	}
	var l label
	l.repo = strings.TrimLeft(before, "@")
	if l.repo == workspace {
		l.repo = ""
	}
	l.dir, l.name, ok = strings.Cut(after, ":")
	if !ok {
		l.name = path.Base(l.dir)
	}
	return l, l.name != ""
}

// String returns the label as targets are named by it.
func (l label) String() string {
	if l.repo != "" {
		return "@" + l.repo + "//" + l.dir + ":" + l.name
	}
	return "//" + l.dir + ":" + l.name
}

// file returns the path of the file that a label of the tree would name.
func (l label) file() string { return path.Join(l.dir, l.name) }

// maxLabel bounds the names of targets.
const maxLabel = 500

// plain refuses labels that could not stand in lists and messages.
func (l label) plain() error {
	s := l.String()
	if len(s) > maxLabel || strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return fmt.Errorf("the label %.200q is too long or not made of plain characters", s)
	}
	return nil
}

// askable reports whether a folder can be asked for in a query as it is. Of the
// other folders, only those with a quote could be packages for Bazel.
func askable(dir string) bool {
	for name := range strings.SplitSeq(dir, "/") {
		if strings.Trim(name, ".") == "" && dir != "" {
			return false
		}
	}
	return len(dir) <= maxLabel && !strings.ContainsFunc(dir, func(r rune) bool {
		return r > '~' || r < ' ' || strings.ContainsRune("\"\\:", r)
	})
}
