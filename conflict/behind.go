package conflict

import (
	"context"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/queue/config"
)

// Files that no target owns may be read by any target, and one that is a link is read
// as what it leads to. So the file behind it is hashed where the link is: the link alone
// says no more than its name. The same holds for barrier files. A file that somebody has
// written down in `ignore` stays ignored.
//
// A link to a folder brings nothing. It gives whole packages another place, which
// analyzers follow by themselves, and all that is below it would be everybody's.

// behind are the files that links lead to.
type behind struct {
	files []Entry
	looks []string // the answer holds as long as nothing changes at or below these, and no link comes or goes above them
}

// mostLinks is how many links a path may lead through.
const mostLinks = 40

// behindLinks follows the links of a list. The tree's files are sorted. A link to a
// folder, out of the tree or in a circle leads to nothing.
func behindLinks(ctx context.Context, t Tree, s *config.Analysis, files, list []Entry) (behind, error) {
	var b behind
	for _, link := range list {
		if link.Mode != ModeLink {
			continue
		}
		goal, ok, err := b.goal(ctx, t, files, link.Path)
		if err != nil {
			return behind{}, err
		}
		if i := place(files, goal); ok && i < len(files) && files[i].Path == goal {
			b.files = append(b.files, files[i])
		}
	}
	b.files = canonical(slices.DeleteFunc(b.files, func(e Entry) bool { return matches(s.Ignore, e.Path) }))
	return b, nil
}

// declared returns what the files that a rule declares lead to: a target that reads a
// link reads what is behind the link, no matter which target owns that. Files that a rule
// names are read as the rule's author reads them: a link to a folder stands for all below
// it, and a rule may name files by a path through a link.
func (b *behind) declared(ctx context.Context, t Tree, r *rule, files, own []Entry) ([]Entry, error) {
	found := map[string]Entry{}
	todo := slices.Clone(own)
	for _, glob := range r.Files {
		base, _ := doublestar.SplitPattern(glob)
		if !strings.ContainsAny(glob, `*?[{\`) {
			base = glob
		}
		if base = path.Clean(base); base == "." {
			continue
		}
		goal, ok, err := b.goal(ctx, t, files, base)
		if err != nil {
			return nil, err
		}
		if !ok || goal == base {
			continue
		}
		for _, e := range below(files, goal) {
			if doublestar.MatchUnvalidated(glob, base+e.Path[len(goal):]) {
				found[e.Path] = e
				todo = append(todo, e)
			}
		}
	}
	for ; len(todo) > 0; todo = todo[1:] {
		if todo[0].Mode != ModeLink {
			continue
		}
		goal, ok, err := b.goal(ctx, t, files, todo[0].Path)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for _, e := range below(files, goal) {
			if _, known := found[e.Path]; !known {
				found[e.Path] = e
				todo = append(todo, e)
			}
		}
	}
	return canonical(slices.Collect(maps.Values(found))), nil
}

// below returns the file at a path, or all files below it.
func below(files []Entry, at string) []Entry {
	from := place(files, at)
	if from < len(files) && files[from].Path == at {
		return files[from : from+1]
	}
	from = place(files, at+"/")
	return files[from:place(files, at+"0")] // "0" is next after "/"
}

// goal returns where a path leads once its links are followed, false if nowhere
// in the tree.
func (b *behind) goal(ctx context.Context, t Tree, files []Entry, at string) (string, bool, error) {
	for range mostLinks {
		link, ok := crossed(files, at)
		if !ok {
			return at, true, nil
		}
		if link.Mode == ModeSubmodule {
			return link.Path, true, nil
		}
		to, err := t.Blob(ctx, link.OID)
		if err != nil {
			return "", false, err
		}
		dir, _ := parent(link.Path)
		if at = path.Join(dir, string(to), at[len(link.Path):]); path.IsAbs(string(to)) || at == "." || at == ".." || strings.HasPrefix(at, "../") {
			return "", false, nil
		}
		b.looks = append(b.looks, at)
	}
	return "", false, nil
}

// crossed returns the link or submodule that a path leads through or to.
func crossed(files []Entry, at string) (Entry, bool) {
	for ; at != ""; at, _ = parent(at) {
		if i := place(files, at); i < len(files) && files[i].Path == at && files[i].crosses() {
			return files[i], true
		}
	}
	return Entry{}, false
}

// crosses reports whether the files below the entry's path are elsewhere.
func (e *Entry) crosses() bool { return e.Mode == ModeLink || e.Mode == ModeSubmodule }

func place(files []Entry, at string) int {
	return sort.Search(len(files), func(i int) bool { return files[i].Path >= at })
}

// moves reports whether changes may lead links elsewhere, or to other files.
func (b *behind) moves(files []FileChange) bool {
	for _, look := range b.looks {
		for i := range files {
			at := files[i].Path
			if at == look || strings.HasPrefix(at, look+"/") ||
				strings.HasPrefix(look, at+"/") && (files[i].From.crosses() || files[i].To.crosses()) {
				return true
			}
		}
	}
	return false
}
