package api

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// name returns what is known of the queue with a name; without a name, of the only queue.
func (s *Handlers) name(name string) (Brief, error) {
	names := s.o.Source.Queues()
	if name == "" {
		if len(names) != 1 {
			return Brief{}, &Problem{http.StatusBadRequest, whichQueue(names)}
		}
		name = names[0]
	}
	b, ok := s.o.Source.Brief(name)
	if !ok {
		return b, noQueue
	}
	return b, nil
}

// whichQueue says what to do where the caller has to name a queue, or there is none.
func whichQueue(names []string) string {
	if len(names) == 0 {
		return "This server has no queue yet. A repository gets one once the App is installed on it and its default branch has a .submitqueue.yml: /docs/install has the steps."
	}
	return "Say which queue, by ?queue=NAME or on the command line by --queue NAME: " + strings.Join(names[:min(len(names), 5)], ", ") + ". /api/queues lists all."
}

var noQueue = &Problem{http.StatusNotFound, "There is no such queue here. /api/queues lists the names."}

// Named returns a queue by name; without one, the only queue.
func (s *Handlers) Named(name string) (queue.QueueView, error) {
	b, err := s.name(name)
	if err != nil {
		return queue.QueueView{}, err
	}
	v, ok := s.o.Source.Queue(b.Name)
	if !ok {
		return v, noQueue
	}
	return v, nil
}

// ChangeNamed returns a change of a queue, which need not be named where it is the only one.
func (s *Handlers) ChangeNamed(name, id string) (Brief, queue.View, error) {
	q, err := s.name(name)
	if err != nil {
		return q, queue.View{}, err
	}
	if id == "" {
		return q, queue.View{}, &Problem{http.StatusBadRequest, "Say which change: add &id= with the number or the id of one."}
	}
	v, ok := s.o.Source.Change(q.Name, s.meantBy(q.Name, id))
	if !ok && q.Away != "" {
		return q, v, &Problem{http.StatusServiceUnavailable, "Changes cannot be shown now: " + q.Away + ". Try again in a moment."}
	}
	if !ok {
		text := "This queue knows no such change. It may have ended long ago"
		if s.o.Requests == nil {
			text += "; its " + s.in(q.Main.Branch, q.Mark).o.Words.Noun() + " still has the last word"
		}
		return q, v, &Problem{http.StatusNotFound, text + "."}
	}
	return q, v, nil
}

// meantBy returns the id of the change that a name means. On a forge without pull requests
// the name of a branch stands for a number: it means the change of that branch which is in
// the queue, else the one that was decided last. A number or an id stays what it is.
func (s *Handlers) meantBy(name, id string) string {
	if _, err := strconv.Atoi(id); err == nil || s.o.Requests == nil {
		return id
	}
	v, _ := s.o.Source.Queue(name)
	branch, found := strings.TrimPrefix(id, branchPrefix), ""
	for _, c := range v.Order {
		if string(c.Change.ID) == id {
			return id
		}
		if found == "" && c.Change.Branch == branch {
			found = string(c.Change.ID)
		}
	}
	for _, c := range v.Recent {
		if string(c.ID) == id {
			return id
		}
		if found == "" && c.Branch == branch {
			found = string(c.ID)
		}
	}
	return cmp.Or(found, id)
}
