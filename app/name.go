package app

import (
	"slices"
	"strings"
)

// A queue's key says where it is in the store, in the marker of its comments and in
// links to it; it never changes. Its name is what people see and type: the present
// names of the repository and of the target branch. A rename changes the name and
// nothing else.

// Called returns the queue's name by now, e.g. "acme/shop@main". It waits for nothing.
func (o *Owner) Called() string { return o.name(o.window.brief.Load().Main.Branch) }

// Renamed takes in the present name of the repository.
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

// name makes the queue's name from the target branch's present name. Where no name of
// the repository is known, it is the queue's key.
func (o *Owner) name(branch string) string {
	if names := *o.names.Load(); len(names) > 0 {
		return o.Site + names[len(names)-1] + "@" + branch
	}
	return o.Queue
}

// owner returns the queue that a name means: the queue with that key; else the one with
// that name now; else the only one of that repository; else the one that had the name.
// Where the name fits two queues, it is nil. A queue with a site before its names is
// not found by its key where another queue has that name.
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

// Means reports whether a name, of a queue or of a repository, is the queue's key or name, or was
// its name.
func (o *Owner) Means(name string) bool {
	called := o.Called()
	repository, branch, whole := strings.Cut(name, "@")
	return name == o.Queue || name == called ||
		!whole && (name == repositoryOf(o.Queue) || strings.EqualFold(name, repositoryOf(called))) ||
		o.Had(repository) && (!whole || o.landsOn(branch))
}

// Had reports whether the repository has, or had, a name.
func (o *Owner) Had(repository string) bool {
	return slices.ContainsFunc(*o.names.Load(), func(n string) bool { return strings.EqualFold(n, repository) })
}

// landsOn reports whether branch is the target branch's name, or was it when the queue began.
func (o *Owner) landsOn(branch string) bool {
	_, first, _ := strings.Cut(o.Queue, "@")
	return branch == first || branch == o.Brief().Main.Branch
}

// repositoryOf returns the repository's part of a queue's key or name.
func repositoryOf(queue string) string {
	repository, _, _ := strings.Cut(queue, "@")
	return repository
}
