package checkout

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"github.com/submitqueue/submitqueue/conflict"
)

// plan is the files and folders that a directory must hold.
type plan struct {
	files map[string]conflict.Entry // regular files and links
	dirs  map[string]bool           // folders of those, and submodules
	order []string                  // of files
	goals map[string]string         // of links
}

// newPlan refuses entries that cannot be files side by side, and leaves out
// the links that lead out of the tree.
func newPlan(ctx context.Context, t conflict.Tree, entries []conflict.Entry, folds bool) (*plan, error) {
	p := &plan{files: make(map[string]conflict.Entry, len(entries)), dirs: map[string]bool{}, goals: map[string]string{}}
	for _, e := range entries {
		if why := badPath(e.Path); why != "" {
			return nil, fmt.Errorf("%w: the path %q %s", ErrTree, clip(e.Path), why)
		}
		for dir := parent(e.Path); dir != "" && !p.dirs[dir]; dir = parent(dir) {
			p.dirs[dir] = true
		}
		switch e.Mode {
		case conflict.ModeSubmodule:
			p.dirs[e.Path] = true
			continue
		case conflict.ModeLink:
			goal, err := t.Blob(ctx, e.OID)
			if err != nil {
				return nil, err
			}
			p.goals[e.Path] = string(goal)
		case "100644", "100755":
		default:
			return nil, fmt.Errorf("%w: %q has the mode %q", ErrTree, clip(e.Path), e.Mode)
		}
		if _, twice := p.files[e.Path]; twice {
			return nil, fmt.Errorf("%w: it has %q twice", ErrTree, clip(e.Path))
		}
		p.files[e.Path] = e
		p.order = append(p.order, e.Path)
	}
	if err := p.collisions(folds); err != nil {
		return nil, err
	}
	p.leaveOut(folds)
	return p, nil
}

// badPath says what is wrong with a path.
func badPath(path string) string {
	if len(path) > 3000 {
		return "is too long"
	}
	if strings.ContainsRune(path, 0) {
		return "has a zero byte"
	}
	for name := range strings.SplitSeq(path, "/") {
		switch {
		case name == "" || name == "." || name == "..":
			return "is not made of names"
		case len(name) > 255:
			return "has a name that is too long"
		case gitDir(name):
			return "goes into git's own folder"
		}
	}
	return ""
}

// gitDir reports whether some file system takes the name for .git.
func gitDir(name string) bool {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // some file systems ignore them
			return -1
		}
		return unicode.ToLower(r)
	}, name)
	name, _, _ = strings.Cut(name, ":")
	name = strings.TrimRight(name, ". ")
	return name == ".git" || name == "git~1"
}

func (p *plan) collisions(folds bool) error {
	for _, path := range p.order {
		if p.dirs[path] {
			return fmt.Errorf("%w: %q is a file and a folder", ErrTree, clip(path))
		}
	}
	if !folds {
		return nil
	}
	seen := make(map[string]string, len(p.order))
	check := func(path string) error {
		low := strings.ToLower(path)
		if other, ok := seen[low]; ok && other != path {
			return fmt.Errorf("%w: %q and %q differ in case only, which this file system does not tell apart", ErrTree, clip(other), clip(path))
		}
		seen[low] = path
		return nil
	}
	for dir := range p.dirs {
		if err := check(dir); err != nil {
			return err
		}
	}
	for _, path := range p.order {
		if err := check(path); err != nil {
			return err
		}
	}
	return nil
}

// leaveOut takes out the links that lead out of the tree.
func (p *plan) leaveOut(folds bool) {
	if len(p.goals) == 0 {
		return
	}
	links := make(map[string]string, len(p.goals))
	for path, goal := range p.goals {
		links[fold(path, folds)] = goal
	}
	kept := p.order[:0]
	for _, path := range p.order {
		if goal, link := p.goals[path]; link && outside(path, goal, links, folds) {
			delete(p.files, path)
			continue
		}
		kept = append(kept, path)
	}
	p.order = kept
}

func fold(path string, folds bool) string {
	if folds {
		return strings.ToLower(path)
	}
	return path
}

// outside reports whether a link leads out of the tree, or in a circle.
func outside(path, goal string, links map[string]string, folds bool) bool {
	const most = 40 // as Linux follows
	var at []string
	if dir := parent(path); dir != "" {
		at = strings.Split(dir, "/")
	}
	if badGoal(goal) {
		return true
	}
	todo := strings.Split(goal, "/")
	for followed := 0; len(todo) > 0; {
		name := todo[0]
		todo = todo[1:]
		switch name {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return true
			}
			at = at[:len(at)-1]
			continue
		}
		at = append(at[:len(at):len(at)], name)
		next, ok := links[fold(strings.Join(at, "/"), folds)]
		if !ok {
			continue
		}
		if followed++; followed > most || badGoal(next) {
			return true
		}
		at = at[:len(at)-1]
		todo = append(strings.Split(next, "/"), todo...)
	}
	return false
}

// badGoal reports whether a link can lead nowhere in a tree.
func badGoal(goal string) bool {
	return goal == "" || goal[0] == '/' || len(goal) > 3000 || strings.ContainsRune(goal, 0)
}

func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

func clip(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}
