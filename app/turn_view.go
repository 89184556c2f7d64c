package app

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue"
)

// Bounds of the cost of views to a queue that makes turns. The next view is made after viewShare
// times as long as the last view took, but never before viewEach or after viewPause. While nobody
// reads, a view is made every viewPause.
const (
	viewShare = 50
	viewEach  = 250 * time.Millisecond
	viewPause = time.Second
	readFor   = 5 * time.Second // how long after the last look somebody still counts as reading
)

// untilShow is how long it takes until another view may be made.
func (w *window) untilShow() time.Duration {
	each := viewPause
	if at := w.read.Load(); at != nil && time.Since(*at) < readFor {
		each = min(max(viewShare*w.took, viewEach), viewPause)
	}
	return each - time.Since(w.ended)
}

// publish shows readers the result of a turn, or another change of the owner's state.
// The caller is on Run's goroutine and holds turning.
func (o *Owner) publish() {
	b := &briefly{api.Brief{Mark: o.Texts.Words.Mark, Main: queue.Main{Branch: o.Branch}, Away: o.away()}, o.ready}
	if o.core != nil {
		b.Main = o.core.State().Main
	}
	o.window.brief.Store(b)
	o.window.behind.Store(true)
	if last := o.window.last.Load(); o.window.untilShow() <= 0 || b.Away != last.view.Away {
		o.show()
	}
	o.window.signal()
}

// show publishes a view of the queue. The caller is on Run's goroutine and holds turning.
func (o *Owner) show() {
	w := &o.window
	began := time.Now()
	p := &shown{view: queue.QueueView{Name: o.Called(), Main: queue.Main{Branch: o.Branch}}, owned: o.core != nil}
	if o.core != nil {
		p.view = o.core.Queue(o.Called())
		o.gauge(p.view)
		p.view.Trouble = trouble(o.core.State().Actions)
		p.details = o.details(nil, began)
		o.stood, o.until = p.view, began
	}
	away := o.away()
	switch {
	case o.core != nil:
	case !o.until.IsZero() && errors.As(o.ready, new(stopped)):
		p.view = o.stood
		o.gauge(p.view)
		away += "; it is shown as it stood at " + o.until.UTC().Format("15:04:05 MST")
	case o.gauged != "": // another server shows how the queue stands from here on, or none does
		o.Metrics.EndQueue(o.gauged)
	}
	p.view.Key, p.view.Away, p.view.Default = o.Queue, away, defaultText(p.view.Main)
	p.view.Web, p.view.Mark = o.Texts.RepoURL, o.Texts.Words.Mark
	if old := w.last.Load(); old != nil {
		p.view.Version = old.view.Version
	}
	p.view.Version++
	w.put(p)
	w.behind.Store(false)
	w.ended = time.Now()
	w.took = w.ended.Sub(began)
}

// gauge sets the gauges, under the queue's present name: those under its former name end.
func (o *Owner) gauge(v queue.QueueView) {
	if o.gauged != v.Name && o.gauged != "" {
		o.Metrics.Forget(o.gauged)
	}
	o.gauged = v.Name
	o.Metrics.SetQueue(v)
}

// serve publishes the results of turns, when it is time for that, and adds to the shown
// view the details that somebody wants and it does not have. The caller is on Run's
// goroutine.
func (o *Owner) serve() {
	o.turning.Lock()
	defer o.turning.Unlock()
	if w := &o.window; w.behind.Load() && w.untilShow() <= 0 || w.last.Load().view.Name != o.Called() {
		o.show()
	}
	p := *o.window.last.Load()
	p.details = o.details(p.details, time.Now())
	o.window.mu.Lock()
	wanted := o.window.ledger
	o.window.ledger = false
	o.window.mu.Unlock()
	if wanted && p.ledger == nil {
		p.ledger = ledgerFactsOf(o.core.State())
	}
	o.window.put(&p)
}

// details makes the details that are wanted and not made yet.
func (o *Owner) details(made map[string]detailed, now time.Time) map[string]detailed {
	out := maps.Clone(made)
	for _, id := range o.window.watched(now) {
		if _, ok := out[id]; ok {
			continue
		}
		if out == nil {
			out = map[string]detailed{}
		}
		out[id] = o.detail(id)
	}
	return out
}

func (o *Owner) detail(id string) (d detailed) {
	if d.view, d.ok = o.core.View(queue.ChangeID(id)); d.ok {
		return d
	}
	if n, err := strconv.Atoi(id); err == nil {
		d.view, d.ok = o.core.PullView(n)
	}
	return d
}

// watched returns the changes that somebody has looked at lately, and forgets the others.
func (w *window) watched(now time.Time) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.wants, func(_ string, at time.Time) bool { return now.Sub(at) > readFor })
	return slices.Collect(maps.Keys(w.wants))
}

// put shows p, and wakes the readers that wait for it.
func (w *window) put(p *shown) {
	p.next = make(chan struct{})
	if old := w.last.Swap(p); old != nil {
		close(old.next)
	}
}
