package conflict

import (
	"path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// parts says where each file of a tree is hashed.
type parts struct {
	barrier []Entry // in every hash
	unowned []Entry // claimed by no target, nor ignored
	ignored []Entry // in no hash
	listed  []Entry // all but the ignored: what listings show
}

// spot is where a file is hashed.
type spot int

const (
	nowhere spot = iota // there is no such file
	inBarrier
	inTarget
	inUnowned
	inNothing // ignored
)

// placeOf says where a file is hashed. extra are the analyzer's barrier files.
func placeOf(s *config.Analysis, file string, extra map[string]bool, claimed bool) spot {
	switch {
	case extra[file] || builtinBarrier(file) || matches(s.Barrier, file):
		return inBarrier
	case claimed:
		return inTarget
	case matches(s.Ignore, file):
		return inNothing
	}
	return inUnowned
}

// partition sorts the files.
func partition(s *config.Analysis, extra map[string]bool, claims map[string]int32, files []Entry) parts {
	var p parts
	for _, e := range files {
		switch placeOf(s, e.Path, extra, claims[e.Path] > 0) {
		case inBarrier:
			p.barrier = append(p.barrier, e)
		case inNothing:
			p.ignored = append(p.ignored, e)
			continue
		case inUnowned:
			p.unowned = append(p.unowned, e)
		}
		p.listed = append(p.listed, e)
	}
	return p
}

// extraOf returns the paths of the analyzer's barrier files.
func extraOf(g *Graph) map[string]bool {
	extra := make(map[string]bool, len(g.Barrier))
	for _, e := range g.Barrier {
		extra[e.Path] = true
	}
	return extra
}

// directories returns the names in each directory of the sorted files, sorted.
// Each name tells files from directories.
func directories(files []Entry) map[string][]string {
	names := map[string][]string{"": nil}
	add := func(dir, name string) {
		if list := names[dir]; len(list) == 0 || list[len(list)-1] != name {
			names[dir] = append(list, name)
		}
	}
	for _, e := range files {
		dir, name := parent(e.Path)
		add(dir, name)
		for dir != "" {
			up, name := parent(dir)
			add(up, name+"/")
			dir = up
		}
	}
	for dir, list := range names {
		slices.Sort(list)
		names[dir] = slices.Compact(list)
	}
	return names
}

// listing digests the names in a directory.
func (f *framer) listing(names []string) sum { return f.reset("list2").texts(names).done() }

// parent splits a path into its directory, "" for the root, and its last name.
func parent(file string) (dir, name string) {
	if i := strings.LastIndexByte(file, '/'); i >= 0 {
		return file[:i], file[i+1:]
	}
	return "", path.Base(file)
}
