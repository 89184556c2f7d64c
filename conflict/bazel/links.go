package bazel

import (
	"path"
	"strings"

	"github.com/submitqueue/submitqueue/conflict"
)

// maxLinks is how many links are followed in a row.
const maxLinks = 40

// inside returns where a link in a folder leads: "." for the tree's root, "" if
// not into the tree.
func inside(dir, goal string) string {
	if goal == "" || goal[0] == '/' || strings.ContainsRune(goal, 0) {
		return ""
	}
	to := path.Join(dir, goal)
	if to == ".." || strings.HasPrefix(to, "../") {
		return ""
	}
	return to
}

// resolve returns the file that a path leads to through links.
func (l *layout) resolve(file string) (conflict.Entry, bool) {
	to, ok := l.follow(file)
	e, there := l.byPath[to]
	return e, ok && there && e.Mode != conflict.ModeLink
}

// follow returns the path without links that a path stands for.
func (l *layout) follow(file string) (string, bool) {
	if len(l.goals) == 0 {
		return file, true
	}
	for range maxLinks {
		link := ""
		for at := file; at != ""; at = folder(at) {
			if _, ok := l.goals[at]; ok {
				link = at
			}
		}
		if link == "" {
			return file, true
		}
		if l.goals[link] == "" {
			return "", false
		}
		file = path.Join(l.goals[link], strings.TrimPrefix(file, link))
	}
	return "", false
}

// maxBehind bounds how many files packages have behind links: a few links to
// large folders stand for more than memory holds.
const maxBehind = 1 << 20

// listBehind adds what a glob finds behind a link, and links there, and returns
// how many files that are.
func (l *layout) listBehind(p *place, link string) int {
	n := 0
	seen := map[string]bool{}
	for todo := []string{link}; len(todo) > 0 && n <= maxBehind; {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		to, ok := l.follow(at)
		if !ok {
			continue
		}
		p.listing = append(p.listing, at, to)
		p.border = append(p.border, at, to)
		if seen[to] {
			continue
		}
		seen[to] = true
		for _, f := range l.under(to) {
			n++
			l.list(p, f)
			p.dirs = append(p.dirs, folder(f.Path))
			if f.Mode == conflict.ModeLink {
				todo = append(todo, f.Path)
			}
		}
	}
	return n
}
