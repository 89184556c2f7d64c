package app

import (
	"slices"
	"strings"
)

// A queue's key says where it is in the store, in the marker of its comments and in
// links to it; it never changes. Its name is what people see and type: that of the
// repository by now, and of the target branch by now. A rename changes the name and
// nothing else.

// Called returns the queue's name by now, e.g. "acme/shop@main". It waits for nothing.
func (o *Owner) Called() string { return o.name(o.window.brief.Load().Main.Branch) }

// Renamed takes in what the repository is called by now.
func (o *Owner) Renamed(repository string) {
	o.naming.Lock()
	defer o.naming.Unlock()
	was := *o.names.Load()
	if repository == "" || len(was) > 0 && was[len(was)-1] == repository {
		return
	}
	names := append(slices.DeleteFunc(slices.Clone(was), func(n string) bool { return n == repository }), repository)
	o.names.Store(&names)
	o.window.wake()
	o.window.signal()
}

// name makes the queue's name of the target branch by now: without a repository's,
// that is its key.
func (o *Owner) name(branch string) string {
	if names := *o.names.Load(); len(names) > 0 {
		return o.Site + names[len(names)-1] + "@" + branch
	}
	return o.Queue
}

// owner returns the queue that somebody means: the one of that key; else of that name
// by now; else the only one of that repository; else the one that had the name. Where
// two could be meant, it is nil. A queue whose names bear a site is not meant by its key
// where another one is called so.
func (q *Queues) owner(name string) *Owner {
	repository, branch, whole := strings.Cut(name, "@")
	owners := q.all()
	for _, means := range []func(o *Owner) bool{
		func(o *Owner) bool {
			return o.Queue == name && (o.Site == "" || !slices.ContainsFunc(owners, func(x *Owner) bool { return x != o && x.Called() == name }))
		},
		func(o *Owner) bool { return o.Called() == name },
		func(o *Owner) bool { return !whole && strings.EqualFold(repositoryOf(o.Called()), repository) },
		func(o *Owner) bool { return o.Had(repository) && (!whole || o.landsOn(branch)) },
	} {
		var meant []*Owner
		for _, o := range owners {
			if means(o) {
				meant = append(meant, o)
			}
		}
		switch {
		case len(meant) == 1:
			return meant[0]
		case len(meant) > 1:
			return nil
		}
	}
	return nil
}

// Had reports whether the repository has, or had, a name.
func (o *Owner) Had(repository string) bool {
	return slices.ContainsFunc(*o.names.Load(), func(n string) bool { return strings.EqualFold(n, repository) })
}

// landsOn reports whether the target branch has a name, or had it when the queue began.
func (o *Owner) landsOn(branch string) bool {
	_, first, _ := strings.Cut(o.Queue, "@")
	return branch == first || branch == o.Brief().Main.Branch
}

// repositoryOf returns the repository's part of a queue's key or name.
func repositoryOf(queue string) string {
	repository, _, _ := strings.Cut(queue, "@")
	return repository
}
