package app

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// window is what an owner shows. Only Run's goroutine puts something into it
// (turn_view.go). Readers take the present content, and wait neither for a turn nor for
// the store.
type window struct {
	brief   atomic.Pointer[briefly]
	last    atomic.Pointer[shown]
	read    atomic.Pointer[time.Time] // when somebody last took a view
	writing atomic.Pointer[time.Time] // since when a turn is being stored; nil: none is
	wanted  chan struct{}             // holds one value while somebody wants something that last does not have

	mu      sync.Mutex // guards the fields below; held for moments
	changed chan struct{}
	wants   map[string]time.Time // when a change was last asked for, by its id or pull request's number
	ledger  bool                 // somebody wants it

	behind atomic.Bool   // turns were made since last
	took   time.Duration // of the last view; this and the fields below belong to Run's goroutine
	ended  time.Time
}

// briefly is what each turn publishes at no cost.
type briefly struct {
	api.Brief
	ready error
}

// shown is the queue after a certain turn. Nobody changes it.
type shown struct {
	view    queue.QueueView
	owned   bool                // false: the view is of when this server last owned the queue, or empty
	details map[string]detailed // of the changes that somebody looks at, as wants names them
	ledger  *ledgerFacts        // nil: nobody has asked for it
	next    chan struct{}       // closed when the next one is there
}

// detailed is one change with all that is known of it; ok is false where the queue knows
// no change of that name.
type detailed struct {
	view queue.View
	ok   bool
}

// Bounds of the waits of readers. They wait for the results of turns that are not
// published yet, so that people see what they have done. Readers wait for the
// details of a change that nobody has looked at lately, and for the ledger: these are
// made between two turns. While storing a turn takes long, nobody waits.
const (
	freshWait  = 300 * time.Millisecond
	detailWait = 250 * time.Millisecond
	ledgerWait = 2 * time.Second
	writeSoon  = 50 * time.Millisecond // a turn that is not stored by then takes long
	writeLong  = 2 * time.Second       // people are told of a turn that is not stored by then

	wantsMost = 64 // changes that have their details published
)

func newWindow() window {
	return window{wanted: make(chan struct{}, 1), changed: make(chan struct{}), wants: map[string]time.Time{}}
}

// Brief returns the queue's name and branch, after the last turn, and whether its
// present state is shown. It waits for nothing.
func (o *Owner) Brief() api.Brief {
	b := o.window.brief.Load().Brief
	b.Name = o.name(b.Main.Branch)
	return b
}

// Ready reports why the queue cannot be worked on at the moment, or nil. It
// cannot before the state is loaded and the target branch is read.
func (o *Owner) Ready() error { return o.window.brief.Load().ready }

// Away says why this server does not show the queue's present state, or "".
func (o *Owner) Away() string { return o.Brief().Away }

// Target returns the branch that the queue lands on, as it is called by now.
func (o *Owner) Target() string { return o.Brief().Main.Branch }

// View returns the queue as it was last published: after the last turn, or, while many
// are made, at most about viewPause before that. It waits for nothing. Nobody may change
// the returned view.
func (o *Owner) View() queue.QueueView { return o.take().view }

// Fresh returns the queue as it stood at some moment after the call began, where that
// is published in time; else it is View.
func (o *Owner) Fresh() queue.QueueView {
	began, asked := o.take().view.Version, false
	p, _ := o.wait(freshWait, func(p *shown) bool {
		if !o.window.behind.Load() || p.view.Version > began {
			return true
		}
		if !asked { // once: where it is too early for another view, the loop knows when to make it
			asked = true
			o.window.wake()
		}
		return false
	})
	return p.view
}

// Change returns one change of the queue, by its id or its pull request's number. It has
// the conflicts and the outlook of a change that was looked at lately; of another one,
// they are waited for, but not for long.
func (o *Owner) Change(id string) (queue.View, bool) {
	var d detailed
	p, made := o.wait(detailWait, func(p *shown) (made bool) {
		d, made = p.details[id]
		o.window.want(id, !made)
		return made
	})
	if made {
		return d.view, d.ok
	}
	return p.change(id)
}

// take returns the shown view, and notes that somebody reads.
func (o *Owner) take() *shown {
	now := time.Now()
	o.window.read.Store(&now)
	return o.window.last.Load()
}

// wait takes the shown view once it has what the caller wants; made is false where that
// takes too long, or this server does not own the queue.
func (o *Owner) wait(most time.Duration, has func(*shown) bool) (p *shown, made bool) {
	limit := time.NewTimer(most)
	defer limit.Stop()
	for {
		p = o.take()
		if !p.owned {
			return p, false
		}
		if has(p) {
			return p, true
		}
		if o.stuck() >= writeSoon {
			return p, false
		}
		select {
		case <-p.next:
		case <-limit.C:
			return p, false
		}
	}
}

// stuck is for how long the store has been taking the present turn; 0: it takes none.
func (o *Owner) stuck() time.Duration {
	if since := o.window.writing.Load(); since != nil {
		return time.Since(*since)
	}
	return 0
}

// unstored says for people that the shown view is old because the store does not
// answer, or "".
func (o *Owner) unstored() string {
	since := o.window.writing.Load()
	if since == nil || time.Since(*since) < writeLong {
		return ""
	}
	return "the store has not answered since " + since.UTC().Format("15:04:05 MST") + "; the queue is shown as it was then, and goes on by itself"
}

// want notes that somebody looks at a change, so its details are to be made, or kept fresh.
func (w *window) want(id string, missing bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.wants[id]; !known && len(w.wants) >= wantsMost {
		oldest := ""
		for other, at := range w.wants {
			if oldest == "" || at.Before(w.wants[oldest]) {
				oldest = other
			}
		}
		delete(w.wants, oldest)
	}
	w.wants[id] = time.Now()
	if missing {
		w.wake()
	}
}

// wantLedger notes that somebody waits for the ledger.
func (w *window) wantLedger() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ledger = true
	w.wake()
}

func (w *window) wake() {
	select {
	case w.wanted <- struct{}{}:
	default:
	}
}

// change returns a change as the view of the queue has it.
func (p *shown) change(id string) (queue.View, bool) {
	is := func(c queue.Change) bool { return string(c.ID) == id || c.Number != 0 && strconv.Itoa(c.Number) == id }
	for _, v := range p.view.Order {
		if is(v.Change) {
			return v, true
		}
	}
	for _, c := range p.view.Recent {
		if is(c) {
			return queue.View{Change: c}, true
		}
	}
	return queue.View{}, false
}

// Changed returns a channel that is closed when the queue changes, and when another view
// of it is published.
func (o *Owner) Changed() <-chan struct{} {
	o.window.mu.Lock()
	defer o.window.mu.Unlock()
	return o.window.changed
}

// signal wakes the watchers of the queue.
func (w *window) signal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}
