package app

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// Neighbors connects the queues of one server: a pull request of one queue may name a
// pull request of another that it is to land after ("depends on owner/repo#7"). When
// something happens to that one, Neighbors tells the pull requests that wait for it.
// What it remembers of that is lost with the server; the queues also ask on their own
// from time to time.
type Neighbors struct {
	mu      sync.Mutex
	owners  []*Owner
	waiting map[queue.PullRef]map[waiter]bool // by the pull request that is waited for, with its repository
	waits   int                               // in all of them
	nudges  int
}

// waiter is a pull request of a queue.
type waiter struct {
	owner  *Owner
	number int
}

// maxWaits bounds how many waits are remembered.
const maxWaits = 10000

// NewNeighbors returns the neighbors of a server that has no queue yet.
func NewNeighbors() *Neighbors { return &Neighbors{waiting: map[queue.PullRef]map[waiter]bool{}} }

// join adds a queue, until leave is called.
func (n *Neighbors) join(o *Owner) (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.owners = append(n.owners, o)
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.owners = slices.DeleteFunc(n.owners, func(x *Owner) bool { return x == o })
	}
}

// repository returns the repository of a queue as references to its pull requests name it.
func (o *Owner) repository() string {
	return strings.ToLower(strings.TrimPrefix(repositoryOf(o.Called()), o.Site))
}

// of returns the queues of a repository.
func (n *Neighbors) of(repository string) (out []*Owner) {
	n.mu.Lock()
	all := slices.Clone(n.owners)
	n.mu.Unlock()
	for _, o := range all {
		if o.repository() == repository {
			out = append(out, o)
		}
	}
	return out
}

// await notes that a pull request waits for another.
func (n *Neighbors) await(ref queue.PullRef, w waiter) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waits >= maxWaits || n.waiting[ref][w] {
		return
	}
	if n.waiting[ref] == nil {
		n.waiting[ref] = map[waiter]bool{}
	}
	n.waiting[ref][w] = true
	n.waits++
}

// awaitAll notes the pull requests that the parked changes of a queue's stored state wait for.
func (n *Neighbors) awaitAll(o *Owner, s *queue.State) {
	for _, ch := range s.Changes {
		for _, ref := range dependsOf(ch, o.repository()) {
			n.await(ref, waiter{o, ch.Number})
		}
	}
}

// stirred has the pull requests looked at again that wait for a given one: something
// has happened to it.
func (n *Neighbors) stirred(ref queue.PullRef) {
	n.mu.Lock()
	who := n.waiting[ref]
	delete(n.waiting, ref)
	n.waits -= len(who)
	n.mu.Unlock()
	for w := range who {
		n.nudge(w)
	}
}

// nudge has a pull request looked at again, without waiting for its queue. A queue that
// has too much to do looks at it later on its own.
func (n *Neighbors) nudge(w waiter) {
	n.mu.Lock()
	n.nudges++
	id := fmt.Sprintf("depends/%s/%d", w.owner.Name, n.nudges)
	n.mu.Unlock()
	select {
	case w.owner.events <- w.owner.stamp(queue.Event{ID: id, Body: queue.Stirred{Number: w.number}}):
	default:
	}
}

// tell tells the neighbors what a turn means to pull requests that wait: which pull
// requests have entered, ended, or been closed at the forge.
func (n *Neighbors) tell(o *Owner, events []queue.Event, notes []queue.Note) {
	repository := o.repository()
	for _, x := range notes {
		if queue.Phase(x.What).Final() || x.What == "entered" || x.What == "returned" {
			n.stirred(queue.PullRef{Repository: repository, Number: x.Number})
		}
	}
	for _, e := range events {
		if b, is := e.Body.(queue.Closed); is {
			n.stirred(queue.PullRef{Repository: repository, Number: b.Number})
		}
	}
}

// dependsOf returns the pull requests, with their repositories, that a change waits for because
// its description names them.
func dependsOf(ch *queue.Change, repository string) (out []queue.PullRef) {
	if ch.Phase != queue.Parked {
		return nil
	}
	for _, q := range ch.Reason.Unmet {
		if q.Kind != queue.RequireLanded || len(q.Names) == 0 {
			continue
		}
		if ref, ok := queue.ParsePullRef(q.Names[0]); ok {
			out = append(out, within(ref, repository))
		}
	}
	return out
}

// within adds the repository to a reference in a description of one of its pull requests, where
// it names none.
func within(ref queue.PullRef, repository string) queue.PullRef {
	if ref.Repository == "" {
		ref.Repository = repository
	}
	return ref
}

// maxCircle bounds how many pull requests are looked at for a circle.
const maxCircle = 200

// circle returns the way on which a pull request waits for itself, from one of first to itself;
// nil: there is none, as far as the queues know. A change on the way that does not know of the
// circle yet is looked at again.
func (n *Neighbors) circle(self queue.PullRef, first []queue.PullRef) []queue.PullRef {
	from := map[queue.PullRef]queue.PullRef{}
	told := map[queue.PullRef]bool{}
	on := map[queue.PullRef]waiter{}
	var left []queue.PullRef
	see := func(from map[queue.PullRef]queue.PullRef, next, before queue.PullRef) {
		if _, seen := from[next]; !seen {
			from[next] = before
			left = append(left, next)
		}
	}
	for _, ref := range first {
		see(from, ref, queue.PullRef{})
	}
	for looked := 0; len(left) > 0 && looked < maxCircle; looked++ {
		at := left[0]
		left = left[1:]
		if at == self {
			var way []queue.PullRef
			for ; at != (queue.PullRef{}); at = from[at] {
				way = append(way, at)
				if w, is := on[at]; is && at != self && !told[at] {
					n.nudge(w)
				}
			}
			slices.Reverse(way)
			return way
		}
		for _, o := range n.of(at.Repository) {
			o.Read(func(c *speculation.Core) {
				s := c.State()
				p := s.Pulls[at.Number]
				if p == nil || s.Changes[p.Active] == nil {
					return
				}
				ch := s.Changes[p.Active]
				on[at] = waiter{o, at.Number}
				told[at] = slices.ContainsFunc(ch.Reason.Unmet, func(q queue.Requirement) bool {
					return q.Kind == queue.RequireLanded && len(q.Names) > 1 && q.Names[1] == queue.DependsCircle
				})
				for _, ref := range dependsOf(ch, at.Repository) {
					see(from, ref, at)
				}
				if ch.Parent != 0 {
					see(from, queue.PullRef{Repository: at.Repository, Number: ch.Parent}, at)
				}
			})
		}
	}
	return nil
}
