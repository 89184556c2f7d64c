package cargo

import (
	"path"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/conflict/internal/layout"
)

// folders is the tree by path and by directory.
type folders struct {
	*layout.Layout
	dirs  map[string]map[string]bool // the directories directly in a directory
	links map[string][]string        // the links and submodules there
}

func newFolders(files []conflict.Entry) *folders {
	l := &folders{layout.New(files), map[string]map[string]bool{"": {}}, map[string][]string{}}
	for _, e := range files {
		if e.Mode == conflict.ModeLink || e.Mode == conflict.ModeSubmodule {
			l.links[layout.Dir(e.Path)] = append(l.links[layout.Dir(e.Path)], path.Base(e.Path))
		}
		for d := layout.Dir(e.Path); l.dirs[d] == nil; d = layout.Dir(d) {
			l.dirs[d] = map[string]bool{}
		}
	}
	for d := range l.dirs {
		if d != "" {
			l.dirs[layout.Dir(d)][path.Base(d)] = true
		}
	}
	return l
}

// At returns the entries at a path, as layout.Layout does: mostly there are none, since most
// words of a source name no file.
func (l *folders) At(p string) []conflict.Entry {
	if _, file := l.ByPath[p]; !file && l.dirs[p] == nil {
		return nil
	}
	return l.Layout.At(p)
}

// within reports whether a path is a directory or below it.
func within(file, dir string) bool {
	return dir == "" || file == dir || strings.HasPrefix(file, dir) && file[len(dir)] == '/'
}

// modules reports whether a folder of a directory holds modules of a root file
// that lies beside the folder, as build.rs does: "mod help;" is help.rs, with
// help/, or help/mod.rs.
func (l *folders) modules(dir, folder string) bool {
	_, inside := l.ByPath[file(dir, folder+"/mod.rs")]
	_, beside := l.ByPath[file(dir, folder+".rs")]
	return inside || beside
}

// file returns the path of a file in a directory.
func file(dir, name string) string { return strings.TrimPrefix(dir+"/"+name, "/") }
