package bazel

import (
	"context"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// kept is a record with the digests of all its inputs. It is valid for each
// tree in which these are the same: if all loaded files are as they were, the
// same files are loaded again.
type kept struct {
	boundary queue.Digest // which packages are inside of the package
	names    queue.Digest // which files it has; empty if no glob looks
	states   []string     // of the loaded files
	record   *record
}

// maxVariants is how many records of one BUILD file are kept: those of pending
// changes to the files that it loads.
const maxVariants = 8

// repoFile is a common input of all packages, from Bazel 7 on.
const repoFile = "REPO.bazel"

// key names the records of one BUILD file.
func (s *scanned) key(p *place) string {
	return string(digest.Of("package1", s.version, s.workspace, s.layout.state(repoFile), p.dir, p.build, s.layout.state(p.build)))
}

// recall returns the record of a package, nil if it is not known.
func (a *Analyzer) recall(s *scanned, p *place) *record {
	list, _ := a.records.Get(s.key(p))
	for _, k := range list {
		if k.boundary != p.boundary || k.names != "" && k.names != p.names {
			continue
		}
		if slices.EqualFunc(k.record.loaded, k.states, func(label, state string) bool { return s.loadState(label) == state }) {
			return k.record
		}
	}
	return nil
}

// remember keeps a new record.
func (a *Analyzer) remember(ctx context.Context, s *scanned, p *place, r *record) error {
	slices.Sort(r.loaded)
	r.loaded = slices.Compact(r.loaded)
	src, err := a.source(ctx, s, p.build)
	if err != nil {
		return err
	}
	r.globs = src.globs
	k := &kept{boundary: p.boundary, record: r}
	for _, name := range r.loaded {
		k.states = append(k.states, s.loadState(name))
		l, _ := parseLabel(name, s.workspace)
		if l.repo != "" {
			r.globs = r.globs || l.repo != toolsRepo
			continue
		}
		src, err := a.source(ctx, s, l.file())
		if err != nil {
			return err
		}
		r.globs = r.globs || src.globs
		r.settings, r.platform = append(r.settings, src.settings...), append(r.platform, src.platform...)
	}
	if r.globs {
		k.names = p.names
	}
	key := s.key(p)
	list, _ := a.records.Get(key)
	list = append([]*kept{k}, list...)
	a.records.Add(key, list[:min(len(list), maxVariants)])
	return nil
}

// loadState is a digest of the file that a label of a .bzl file stands for.
func (s *scanned) loadState(name string) string {
	l, _ := parseLabel(name, s.workspace)
	if l.repo != "" {
		return string(s.externals.digest(s.layout, l.repo))
	}
	owner, _ := s.layout.owner(l.file()) // not l.dir for a file behind a link, or one that cannot be loaded
	return string(digest.Of(owner, s.layout.state(l.file())))
}
