package app

import (
	"context"
	"errors"
	"slices"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
)

// protects returns the paths that match some globs and that one of several commits
// changes, compared with the commit before it, in order; at most queue.ProtectedMost.
func (p *ground) protects(ctx context.Context, globs []string, commits ...queue.CommitID) (out []string, err error) {
	for i := 1; i < len(commits) && len(globs) > 0; i++ {
		deltas, err := p.Mirror.Objects.Changed(ctx, commits[i-1], commits[i])
		if err != nil {
			return nil, err
		}
		for _, d := range deltas {
			if !slices.Contains(out, d.Path) && (anyMatch(globs, d.Path) || leads(d) && anyBelow(globs, d.Path)) {
				out = append(out, d.Path)
			}
			if len(out) == queue.ProtectedMost {
				slices.Sort(out)
				return out, nil
			}
		}
	}
	slices.Sort(out)
	return out, nil
}

func anyMatch(globs []string, path string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		ok, err := doublestar.Match(glob, path)
		return err == nil && ok
	})
}

// leads reports whether a path is, or was, a symbolic link or a submodule: files that
// are read below it are somewhere else, under another path or in another repository.
func leads(d mirror.Delta) bool {
	elsewhere := func(mode string) bool { return mode == "120000" || mode == "160000" }
	return elsewhere(d.OldMode) || elsewhere(d.Mode)
}

// anyBelow reports whether one of some globs names something below a path. A glob that
// holds in every directory is left out: it also holds at the place that a link leads
// to.
func anyBelow(globs []string, path string) bool {
	return slices.ContainsFunc(globs, func(glob string) bool {
		for at, c := range glob {
			if c == '/' && glob[:at] != "**" && anyMatch([]string{glob[:at]}, path) {
				return true
			}
		}
		return false
	})
}

// taken returns the protected paths that commits of a link create with a content that
// none of its picks' own commits has there. Where a change moves a file, git's merge
// puts the target branch's edits of the file into the new place. Where the path was
// there before, both sides of its merge were approved for that path.
func (p *ground) taken(ctx context.Context, globs []string, l *queue.Link, picks ...queue.Pick) (out []string, err error) {
	if len(l.Protected) == 0 {
		return nil, nil
	}
	at := l.Parent
	for _, commit := range append(slices.Clone(l.Between), l.Commit) {
		deltas, err := p.Mirror.Objects.Changed(ctx, at, commit)
		if err != nil {
			return nil, err
		}
		var added []string
		for _, d := range deltas {
			if d.Old == "" && anyMatch(globs, d.Path) && !slices.Contains(out, d.Path) {
				added = append(added, d.Path)
			}
		}
		if added, err = p.foreign(ctx, added, commit, picks); err != nil {
			return nil, err
		}
		out, at = append(out, added...), commit
	}
	slices.Sort(out)
	return out[:min(len(out), queue.ProtectedMost)], nil
}

// foreign returns, of some paths of a commit, those with a content there that is neither in
// a pick's head nor in a commit on the way to one.
func (p *ground) foreign(ctx context.Context, paths []string, commit queue.CommitID, picks []queue.Pick) ([]string, error) {
	without := func(seen queue.CommitID) error {
		deltas, err := p.Mirror.Objects.Changed(ctx, seen, commit)
		paths = slices.DeleteFunc(paths, func(path string) bool {
			return !slices.ContainsFunc(deltas, func(d mirror.Delta) bool { return d.Path == path })
		})
		return err
	}
	for _, k := range picks {
		if len(paths) == 0 {
			return nil, nil
		}
		if err := without(k.Head); err != nil {
			return nil, err
		}
		if len(paths) == 0 || !k.Method.Replays() {
			continue
		}
		own, err := p.Mirror.History.Own(ctx, commit, k.Head)
		if err != nil && !errors.Is(err, mirror.ErrTooMany) { // more commits than may land this way
			return nil, err
		}
		for _, c := range own {
			if err := without(c.Commit); err != nil {
				return nil, err
			}
		}
	}
	return paths, nil
}
