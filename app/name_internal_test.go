package app

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/memstore"
)

// A queue is meant by its key, by its name and by its repository's, as they are now and as they
// were before they changed.
func TestNamesOfAQueue(t *testing.T) {
	o := NewOwner(OwnerOptions{Queue: "github:77@main", Branch: "trunk", Called: []string{"acme/store"}, Store: memstore.New(time.Now), Now: time.Now})
	o.Renamed("acme/shop")
	if o.Called() != "acme/shop@trunk" {
		t.Fatal(o.Called())
	}
	for name, want := range map[string]bool{"acme/shop": true, "acme/shop@trunk": true, "Acme/Shop@trunk": true, "acme/shop@main": true, "acme/store": true, "acme/store@main": true,
		"github:77": true, "github:77@main": true,
		"acme/shop@next": false, "acme/shopping": false, "github:7": false, "github:77@trunk": false, "acme": false, "": false} {
		if got := o.Means(name); got != want {
			t.Errorf("%q means it: %t", name, got)
		}
	}
}

// A person who says the name of a queue gets that one and no other: by what it is called
// now, by its key, by its repository alone, or by what it was called; where two are meant,
// none. What is submitted so is in that queue's inbox.
func TestQueueIsMeantByItsName(t *testing.T) {
	store := memstore.New(time.Now)
	owner := func(key, branch string, called ...string) *Owner {
		return NewOwner(OwnerOptions{Queue: key, Branch: branch, Called: called, Store: store, Now: time.Now})
	}
	first := owner("github:77@main", "main", "acme/shop")
	second := owner("github:77@next", "next", "acme/shop")
	till := owner("acme/till@trunk", "trunk", "acme/till") // of a version before
	plain := owner("tools@main", "main")
	q := NewQueues(store, nil, time.Now, first, second, till, plain)
	names := func(want ...string) {
		t.Helper()
		if got := q.Queues(); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("the queues are %v, want %v", got, want)
		}
		for _, name := range q.Queues() {
			if q.owner(name) == nil {
				t.Errorf("nobody is meant by %s", name)
			}
		}
	}
	means := func(want map[string]*Owner) {
		t.Helper()
		for name, o := range want {
			if got := q.owner(name); got != o {
				t.Errorf("%s does not mean what it should", name)
			}
		}
	}
	names("acme/shop@main", "acme/shop@next", "acme/till@trunk", "tools@main")
	means(map[string]*Owner{"acme/shop@main": first, "github:77@next": second, "Acme/Shop@next": second, "acme/shop": nil, "acme/shop@trunk": nil,
		"acme/till": till, "tools": plain, "tools@main": plain, "acme": nil, "": nil, "@main": nil})

	first.Renamed("acme/store")
	second.Renamed("acme/store")
	till.Renamed("globex/till")
	names("acme/store@main", "acme/store@next", "globex/till@trunk", "tools@main")
	means(map[string]*Owner{"acme/store@main": first, "acme/shop@main": first, "acme/shop@next": second, "acme/till@trunk": till, "acme/till": till, "acme/shop": nil})

	third := owner("github:91@main", "main", "acme/shop")
	q.Add(third)
	names("acme/shop@main", "acme/store@main", "acme/store@next", "globex/till@trunk", "tools@main")
	means(map[string]*Owner{"acme/shop@main": third, "acme/shop": third, "acme/store@main": first, "acme/shop@next": second})

	third.Renamed("acme/store") // nobody has heard yet what became of the other
	names("acme/store@next", "github:77@main", "github:91@main", "globex/till@trunk", "tools@main")
	means(map[string]*Owner{"acme/store@main": nil, "github:91@main": third, "github:77@main": first})

	if err := q.Submit(t.Context(), "acme/till", queue.Event{ID: "1", Body: queue.Tick{}}); err != nil {
		t.Error(err)
	}
	if got, err := store.Inbox(t.Context(), "acme/till@trunk", "", 10, 0); err != nil || len(got) != 1 {
		t.Errorf("%v %v", got, err)
	}
	if err := q.Submit(t.Context(), "acme/store@main", queue.Event{ID: "1", Body: queue.Tick{}}); !errors.Is(err, api.ErrNotOwned) {
		t.Errorf("somebody's inbox has it: %v", err)
	}
}
