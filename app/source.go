package app

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
)

// Queues is what pages and the JSON API read: the queues of this server.
type Queues struct {
	mu      sync.Mutex
	owners  []*Owner
	joined  chan struct{} // owners has changed
	store   queue.Store
	workers workers.Controller
	now     func() time.Time
	changed chan chan struct{}
}

var _ api.Source = (*Queues)(nil)

// NewQueues returns the source of pages for the given owners, which share a
// store and workers. Watch must run for Changed to work.
func NewQueues(store queue.Store, w workers.Controller, now func() time.Time, owners ...*Owner) *Queues {
	return &Queues{owners: owners, joined: make(chan struct{}, 1), store: store, workers: w, now: now, changed: make(chan chan struct{})}
}

// Add adds a queue to those that are shown.
func (q *Queues) Add(o *Owner) { q.change(func(list []*Owner) []*Owner { return append(list, o) }) }

// Remove takes a queue off those that are shown.
func (q *Queues) Remove(o *Owner) {
	q.change(func(list []*Owner) []*Owner {
		return slices.DeleteFunc(list, func(other *Owner) bool { return other == o })
	})
}

func (q *Queues) change(f func([]*Owner) []*Owner) {
	q.mu.Lock()
	q.owners = f(slices.Clone(q.owners))
	q.mu.Unlock()
	select {
	case q.joined <- struct{}{}:
	default:
	}
}

// all returns the owners; nobody changes the returned slice.
func (q *Queues) all() []*Owner {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.owners
}

// Watch joins the changes of all queues into one signal, until ctx ends.
func (q *Queues) Watch(ctx context.Context) {
	any := make(chan struct{}, 1)
	var wg sync.WaitGroup
	defer wg.Wait()
	watched := map[*Owner]context.CancelFunc{}
	watch := func() {
		owners := q.all()
		for o, cancel := range watched {
			if !slices.Contains(owners, o) {
				cancel()
				delete(watched, o)
			}
		}
		for _, o := range owners {
			if watched[o] == nil {
				ctx, cancel := context.WithCancel(ctx)
				watched[o] = cancel
				wg.Go(func() { watchOwner(ctx, o, any) })
			}
		}
	}
	watch()
	signal := make(chan struct{})
	for {
		select {
		case q.changed <- signal:
		case <-q.joined:
			watch()
			close(signal)
			signal = make(chan struct{})
		case <-any:
			close(signal)
			signal = make(chan struct{})
		case <-ctx.Done():
			close(signal)
			return
		}
	}
}

// watchOwner signals each change of a queue on any, until ctx ends.
func watchOwner(ctx context.Context, o *Owner, any chan<- struct{}) {
	changed := o.Changed()
	for {
		select {
		case <-changed:
			changed = o.Changed() // before it is told: nothing falls between
			select {
			case any <- struct{}{}:
			default:
			}
		case <-ctx.Done():
			return
		}
	}
}

// Changed implements Source.
func (q *Queues) Changed() <-chan struct{} {
	select {
	case c := <-q.changed:
		return c
	case <-time.After(time.Second):
		c := make(chan struct{}) // nobody watches (any more)
		return c
	}
}

// Queues implements Source.
func (q *Queues) Queues() []string {
	var names []string
	for _, o := range q.all() {
		if name := o.Called(); q.owner(name) == o {
			names = append(names, name)
		} else { // another queue's name, too, until we hear what became of that queue
			names = append(names, o.Queue)
		}
	}
	slices.Sort(names)
	return names
}

// Brief implements Source.
func (q *Queues) Brief(name string) (api.Brief, bool) {
	o := q.owner(name)
	if o == nil {
		return api.Brief{}, false
	}
	b := o.Brief()
	b.Away = cmp.Or(b.Away, o.unstored())
	return b, true
}

// Queue implements Source.
func (q *Queues) Queue(name string) (queue.QueueView, bool) {
	o := q.owner(name)
	if o == nil {
		return queue.QueueView{}, false
	}
	v := o.Fresh()
	v.Waits = o.Waits() // the queue itself knows nothing of the forge, the mirror and the store
	v.Trouble = slices.Concat(v.Trouble, o.Notify.Trouble(o.Queue))
	for _, why := range []string{o.health.mending(), o.unstored()} {
		if why != "" {
			v.Trouble = append([]string{why}, v.Trouble...)
		}
	}
	return v, true
}

// Change implements Source.
func (q *Queues) Change(name, id string) (queue.View, bool) {
	o := q.owner(name)
	if o == nil {
		return queue.View{}, false
	}
	return o.Change(id)
}

// Bounds of questions to the store for a request.
const (
	historyWait = time.Second
	storeWait   = 5 * time.Second
)

var errUnstored = errors.New("the store does not answer")

// History implements Source.
func (q *Queues) History(ctx context.Context, name string, max int) ([]queue.Note, error) {
	o := q.owner(name)
	switch {
	case o == nil:
		return nil, api.ErrNotOwned
	case o.unstored() != "":
		return nil, errUnstored
	}
	ctx, cancel := context.WithTimeout(ctx, historyWait)
	defer cancel()
	return q.store.History(ctx, o.Queue, max)
}

// BuildLog implements Source.
func (q *Queues) BuildLog(id string, after int64) (data []byte, next int64, done, ok bool) {
	l, err := q.workers.Log(queue.BuildID(id))
	for _, o := range q.all() {
		if err != nil {
			l, err = o.Workers.Log(queue.BuildID(id)) // of the queue's own CI
		}
	}
	if err != nil {
		return nil, 0, false, false
	}
	if after < 0 {
		return lastOf(l, -after)
	}
	chunk, err := l.Read(after)
	if err != nil {
		return nil, 0, false, false
	}
	return []byte(chunk.Text), chunk.Next, chunk.End, true
}

// lastOf returns the last n bytes of a log, which is bounded.
func lastOf(l workers.Log, n int64) (data []byte, next int64, done, ok bool) {
	for {
		chunk, err := l.Read(next)
		if err != nil {
			return nil, 0, false, false
		}
		data = append(data, chunk.Text...)
		if over := int64(len(data)) - n; over > 0 {
			data = data[over:]
		}
		next = chunk.Next
		if chunk.End || chunk.Text == "" {
			return data, next, chunk.End, true
		}
	}
}

// Submit implements Source.
func (q *Queues) Submit(ctx context.Context, name string, e queue.Event) error {
	o := q.owner(name)
	if o == nil {
		return api.ErrNotOwned
	}
	e.At = queue.At(q.now())
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return q.store.Append(ctx, o.Queue, e)
}

// Ready reports why no queue can be worked on, or nil: a queue that cannot be worked on
// does not keep the others from being served.
func (q *Queues) Ready() error {
	var first error
	for _, o := range q.all() {
		err := o.Ready()
		if err == nil {
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

var (
	_ api.Ledgers = (*Queues)(nil)
	_ api.Pasts   = (*Queues)(nil)
)

// Rows implements api.Pasts.
func (q *Queues) Rows(ctx context.Context, name, place string, max int) ([]queue.Row, string, error) {
	o, past, err := q.past(name)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return past.Rows(ctx, o.Queue, place, max)
}

// Keep implements api.Pasts.
func (q *Queues) Keep(ctx context.Context, name string, rows []queue.Row) error {
	o, past, err := q.past(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	return past.Keep(ctx, o.Queue, rows)
}

// past returns the owner of a queue, and the store's event archive.
func (q *Queues) past(name string) (*Owner, queue.Past, error) {
	o := q.owner(name)
	past, ok := q.store.(queue.Past)
	switch {
	case o == nil:
		return nil, nil, api.ErrNotOwned
	case !ok || o.unstored() != "":
		return nil, nil, errUnstored
	}
	return o, past, nil
}

// Ledger looks into the ledger of a queue: see Owner.Ledger.
func (q *Queues) Ledger(ctx context.Context, name, what string, most int) (api.LedgerView, error) {
	if o := q.owner(name); o != nil {
		return o.Ledger(ctx, what, most)
	}
	return api.LedgerView{}, api.ErrNotOwned
}

// Flakes returns the flaky targets of a queue: see Owner.Flakes.
func (q *Queues) Flakes(ctx context.Context, name string) ([]api.FlakyTarget, error) {
	if o := q.owner(name); o != nil {
		return o.Flakes(ctx)
	}
	return nil, api.ErrNotOwned
}

// Forgetting says what forgetting would do in a queue.
func (q *Queues) Forgetting(ctx context.Context, name string, f queue.Forgotten) (api.ForgetView, error) {
	if o := q.owner(name); o != nil {
		return o.Forgetting(ctx, f)
	}
	return api.ForgetView{}, api.ErrNotOwned
}
