package conflict

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue/config"
)

// filing says where the files of a snapshot are hashed, for a snapshot that is
// made from it. It never changes.
type filing struct {
	extra   map[string]bool   // the analyzer's barrier files
	claims  layered[int32]    // how many reached targets own a file
	dirs    layered[[]string] // the names in a directory; none: no such directory
	unowned []Entry           // sorted
	inputs  []inputs          // of each rule of the settings
	behind  behind            // the files that unowned links lead to, with where links of the barrier lead
}

// filedBytes is roughly what a path takes in a filing.
const filedBytes = 80

// size returns roughly how many bytes it does not share with the filing that it
// was made from.
func (f *filing) size() int {
	n := (f.claims.own + f.dirs.own) * filedBytes
	for i := range f.inputs {
		n += f.inputs[i].size()
	}
	return n
}

// refiling is a filing that is being made from another.
type refiling struct {
	*filing
	inputs  []inputs
	s       *config.Analysis
	claimed map[string]int32 // new counts
	entries map[string]Entry // of files that are as they were, where known
	names   map[string][]string
	gone    []string         // paths that are no longer unowned, or have another file
	came    map[string]Entry // unowned now
	folds   bool             // a name that came or went differs from another in its case alone
}

func (f *filing) edit(s *config.Analysis) *refiling {
	return &refiling{filing: f, inputs: f.inputs, s: s, claimed: map[string]int32{}, entries: map[string]Entry{},
		names: map[string][]string{}, came: map[string]Entry{}}
}

// claim counts the files that a target owns, by +1, or that it owned, by -1.
func (r *refiling) claim(sources []Entry, by int32) {
	for _, e := range sources {
		n, ok := r.claimed[e.Path]
		if !ok {
			n = r.claims.get(e.Path)
		}
		r.claimed[e.Path] = n + by
		r.entries[e.Path] = e
	}
}

// barred reports whether a file is in every hash.
func (r *refiling) barred(file string) bool {
	return placeOf(r.s, file, r.extra, true) == inBarrier
}

// move sorts in again each file that has changed, or has other owners. It
// reports whether the files that are in every hash stay as they were.
func (r *refiling) move(files []FileChange) bool {
	changed := make(map[string]*FileChange, len(files))
	for i := range files {
		if r.barred(files[i].Path) {
			return false
		}
		changed[files[i].Path] = &files[i]
	}
	for path, now := range r.claimed {
		if _, ok := changed[path]; !ok && (now > 0) != (r.claims.get(path) > 0) {
			e := r.entries[path]
			changed[path] = &FileChange{Path: path, From: e, To: e}
		}
	}
	for path, c := range changed {
		now, ok := r.claimed[path]
		if !ok {
			now = r.claims.get(path)
		}
		from, to := r.place(path, c.From, r.claims.get(path) > 0), r.place(path, c.To, now > 0)
		if from == inUnowned || to == inUnowned {
			if r.s.Unowned != config.UnownedTarget || c.From.Mode == ModeLink || c.To.Mode == ModeLink {
				return false
			}
			if from == inUnowned {
				r.gone = append(r.gone, path)
			}
			if to == inUnowned {
				r.came[path] = c.To
			}
		}
		if was, is := from != nowhere && from != inNothing, to != nowhere && to != inNothing; was != is {
			r.enlist(path, is)
		}
	}
	return !r.folds
}

func (r *refiling) place(path string, e Entry, claimed bool) spot {
	if e.Path == "" {
		return nowhere
	}
	return placeOf(r.s, path, r.extra, claimed)
}

// enlist writes a path into the listing of its directory, or takes it out.
func (r *refiling) enlist(path string, in bool) {
	for path != "" {
		dir, name := parent(strings.TrimSuffix(path, "/"))
		if strings.HasSuffix(path, "/") {
			name += "/"
		}
		names, ok := r.names[dir]
		if !ok {
			names = r.dirs.get(dir)
		}
		at, there := slices.BinarySearch(names, name)
		if there == in {
			return
		}
		if r.folds = r.folds || collides(names, name); r.folds {
			return // the rest is not used
		}
		was := len(names)
		if names = slices.Clone(names); in {
			names = slices.Insert(names, at, name)
		} else {
			names = slices.Delete(names, at, at+1)
		}
		r.names[dir] = names
		if dir == "" || was > 0 && len(names) > 0 {
			return
		}
		path = dir + "/"
	}
}

// done returns the new filing, and whether the unowned files are other ones.
func (r *refiling) done() (f *filing, unowned bool) {
	f = &filing{extra: r.extra, unowned: r.filing.unowned, inputs: r.inputs, behind: r.behind}
	f.claims, f.dirs = r.claims.with(r.claimed), r.dirs.with(r.names)
	if len(r.gone)+len(r.came) == 0 {
		return f, false
	}
	kept := make([]Entry, 0, len(f.unowned)+len(r.came))
	slices.Sort(r.gone)
	for _, e := range f.unowned {
		if _, out := slices.BinarySearch(r.gone, e.Path); !out {
			kept = append(kept, e)
		}
	}
	for _, e := range r.came {
		kept = append(kept, e)
	}
	f.unowned = canonical(kept)
	return f, true
}
