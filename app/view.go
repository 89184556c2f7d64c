package app

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
)

// What reading may cost a queue that makes turns: a view is made of the core while no
// turn is, and so the next one waits until landing has had viewShare times as long as
// the last one took, but not longer than viewPause. Pages and JSON are made of each, so
// there is one in viewEach.
const (
	viewShare = 50
	viewEach  = 250 * time.Millisecond
	viewPause = time.Second
)

// showing is the view of a queue that all readers share: it is made when somebody asks,
// once for all who ask, and never for a version that nobody asks for.
type showing struct {
	version atomic.Int64 // of the queue; grows with whatever is shown, under the owner's lock
	brief   atomic.Pointer[api.Brief]
	last    atomic.Pointer[shown]

	mu    sync.Mutex
	under chan struct{} // closed when the view under way is made or given up; nil: none is

	took  time.Duration // of the last view; this and the next belong to whoever makes one
	ended time.Time
}

// shown is an immutable view.
type shown struct {
	version int64
	view    queue.QueueView
}

// Brief returns the queue's name, branch and whether it is shown as it is now. It waits
// for nothing.
func (o *Owner) Brief() api.Brief { return *o.showing.brief.Load() }

// View returns the queue as it stands, or as it stood at any moment after the call
// began. Nobody may change what it returns.
func (o *Owner) View() queue.QueueView {
	s := &o.showing
	for want := s.version.Load(); ; {
		if p := s.last.Load(); p != nil && p.version >= want {
			return p.view
		}
		s.mu.Lock()
		under, leads := s.under, s.under == nil
		if leads {
			under = make(chan struct{})
			s.under = under
		}
		s.mu.Unlock()
		if leads {
			o.show()
		}
		<-under
	}
}

// show makes the view of the present version, when it is time for one.
func (o *Owner) show() {
	s := &o.showing
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.under)
		s.under = nil
	}()
	if p := s.last.Load(); p != nil && p.version == s.version.Load() {
		return // whoever led before has made it
	}
	time.Sleep(min(max(viewShare*s.took, viewEach), viewPause) - time.Since(s.ended))
	o.mu.Lock()
	defer o.mu.Unlock()
	began := time.Now()
	v := queue.QueueView{Name: o.Queue, Main: queue.Main{Branch: o.Branch}} // another server owns it, or none yet
	if o.core != nil {
		v = o.core.Queue(o.Queue)
		v.Trouble = trouble(o.core.State().Actions)
	}
	v.Away, v.Version = o.away(), s.version.Load()
	v.Default = defaultText(v.Main)
	s.ended = time.Now()
	s.took = s.ended.Sub(began)
	s.last.Store(&shown{v.Version, v})
}

// news notes that what is shown may be another; the caller holds mu.
func (o *Owner) news() {
	b := api.Brief{Name: o.Queue, Main: queue.Main{Branch: o.Branch}, Away: o.away()}
	if o.core != nil {
		b.Main = o.core.State().Main
	}
	o.showing.brief.Store(&b)
	o.showing.version.Add(1)
}

// Brief implements Source.
func (q *Queues) Brief(name string) (api.Brief, bool) {
	o := q.owner(name)
	if o == nil {
		return api.Brief{}, false
	}
	return o.Brief(), true
}

// Queue implements Source.
func (q *Queues) Queue(name string) (queue.QueueView, bool) {
	o := q.owner(name)
	if o == nil {
		return queue.QueueView{}, false
	}
	v := o.View()
	v.Waits = o.Waits() // of the forge and of the mirror the queue knows nothing
	v.Trouble = slices.Concat(v.Trouble, o.Notify.Trouble(o.Queue))
	if mending := o.health.mending(); mending != "" {
		v.Trouble = append([]string{mending}, v.Trouble...)
	}
	return v, true
}

// Read calls f with the queue's core while no turn is made; f is not called
// while this server does not own the queue, and ok is false then.
func (o *Owner) Read(f func(*speculation.Core)) (ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.core == nil {
		return false
	}
	f(o.core)
	return true
}
