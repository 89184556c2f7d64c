package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/submitqueue/submitqueue/app/notify"
	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/forge/mirror"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/speculation/predict"
	"github.com/submitqueue/submitqueue/workers"
)

// OwnerOptions are what the owner of one queue works with. All fields but
// Called, Metrics, Observer, Notify, Missed, Moved, Progress, Model, Neighbors and Learner are required.
type OwnerOptions struct {
	Queue     string   // its key, e.g. "github:77@main": it keeps the key when the repository or the branch is renamed
	Site      string   // prefix of the queue's names, so that no two queues have one name; "": none
	Called    []string // names that the repository had, as far as they are known, the present one last; none: the queue is called by its key
	Branch    string
	Follow    bool   // nobody chose the branch, it is the repository's default branch: where it is renamed, the queue goes along
	Name      string // of this server, unique among those that share the store; the same after a restart, if it can be
	Store     queue.Store
	Archive   queue.Archive // of the same store; nil: Store itself, where it is one, else passes expire though they are used
	Forge     forge.Forge
	Mirror    *mirror.Mirror
	Workers   workers.Controller
	Analyzers Analyzers
	Texts     texts.Options // without Now
	Now       func() time.Time
	Metrics   *Metrics
	Log       *slog.Logger
	Observer  func(speculation.Turn) // sees each committed turn; nil: nobody
	Notify    *notify.Notifier       // tells people what the queue notes; nil: nobody is told
	Missed    time.Duration          // how often the forge is asked for events of webhooks that may be lost; default 5 min
	Again     time.Duration          // when failed deliveries that were asked for are looked at first, then later each time; default 20 s
	Moved     func(now forge.Place)  // hears where the repository is, when that has been read; nil: nobody
	Targets   func() []string        // branches that the queues of the repository land on, as far as this server knows; nil: it has no others
	Progress  time.Duration          // how soon a pull request is told of mere progress; each next time later. Default 30 s
	Model     predict.Model          // predicts results of changes before they are built; nil: predict.Default
	Neighbors *Neighbors             // the queues of the server; nil: it has no other
	Learner   *Learner               // of the server, where its queues learn one after the other; nil: the queue has its own
}

// Owner owns one queue while it holds the queue's lease: it takes events in,
// makes turns, stores them, and carries out their actions. Many Owners of the
// same queue may run; one of them owns it at a time.
type Owner struct {
	OwnerOptions
	judge  *judge
	events chan queue.Event // results of actions and builds, of this process
	kept   []queue.Event    // of these, folded by a turn that could not be stored

	turning sync.Mutex        // held for a turn and its way to the store, and by readers of core: reading fills its caches
	core    *speculation.Core // nil while not owning; its readers hold turning; no code that answers a request reads it (view.go)
	window  window            // the part of it that readers see
	again   chan struct{}     // the forge is to be asked for missed events now

	naming sync.Mutex               // held to store names
	names  atomic.Pointer[[]string] // of the repository, the present one last
	gauged string                   // the name under which the gauges were last set; of Run
	stood  queue.QueueView          // the queue as this server last owned it; of Run
	until  time.Time                // of stood; zero: it has not owned the queue

	owning  atomic.Bool // the queue is being worked on, or about to be
	ready   error       // of Run, which publishes it
	fenced  bool        // tokens of this server's lives before this one are worth nothing; of Run
	reached int64       // the newest version that was seen in the store; of Run
	health  health      // of the mirror
}

// Times of an owner.
const (
	leaseTTL   = 5 * time.Second // how long a queue stands still after its owner was killed
	leaseRenew = leaseTTL / 3
	inboxBatch = 256
	retryPause = 500 * time.Millisecond
	missedEach = 5 * time.Minute
	missedSoon = 20 * time.Second // until the forge is asked again after it did not answer
	lostKept   = 72 * time.Hour   // for so long, GitHub keeps deliveries that failed

	missedLeast = 24 * time.Hour              // of what was said before an ownership begins, so much is read at least
	missedMost  = queue.SeenFor - 6*time.Hour // and so much at most: stores know ids of events for a bit longer
)

// NewOwner returns an owner that does not run yet.
func NewOwner(o OwnerOptions) *Owner {
	if o.Metrics == nil {
		o.Metrics = NewMetrics()
	}
	if a, is := o.Store.(queue.Archive); is && o.Archive == nil {
		o.Archive = a
	}
	if o.Model == nil {
		o.Model = predict.Default
	}
	if o.Learner == nil {
		o.Learner = NewLearner()
	}
	if o.Neighbors == nil {
		o.Neighbors = NewNeighbors()
	}
	o.Missed = orDefault(o.Missed, missedEach)
	o.Again = orDefault(o.Again, missedSoon)
	o.Progress = orDefault(o.Progress, progressPace)
	owner := &Owner{OwnerOptions: o, judge: newJudge(o.Mirror, o.Analyzers), events: make(chan queue.Event, 1024),
		window: newWindow(), again: make(chan struct{}, 1), ready: errors.New("starting: the store has not been asked yet")}
	owner.names.Store(&o.Called)
	owner.publish()
	return owner
}

// Run takes the lease whenever it can be had and owns the queue while it has it, until
// ctx ends. It returns nil then: the next owner carries on from the stored state.
func (o *Owner) Run(ctx context.Context) error {
	if f := o.Forge.Capabilities().Limited; f != nil {
		defer o.Metrics.watchLimits(f)()
	}
	defer o.Neighbors.join(o)()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { o.pumpBuilds(ctx) })
	began := o.Now()
	for ctx.Err() == nil {
		token, err := o.acquire(ctx)
		switch {
		case errors.Is(err, queue.ErrNotOwner) && o.Now().Sub(began) < 2*leaseTTL:
			o.setReady(errors.New("starting: waiting for the lease of the previous owner"))
		case errors.Is(err, queue.ErrNotOwner):
			o.setReady(nil) // standing by: a lease that is renewed belongs to a living server
		case err != nil:
			if o.setReady(stopped{"the store does not answer; the queue goes on by itself when it does", err}) {
				o.Log.Warn("the lease cannot be asked for; trying again", "queue", o.Called(), "error", err)
			}
			o.Metrics.RecordStoreError("acquire")
		default:
			if err := o.own(ctx, token); err != nil && ctx.Err() == nil {
				o.setReady(stopped{"the queue has stopped and starts again from what is stored", err})
				o.Log.Warn("turns stopped; starting again from the stored state", "queue", o.Called(), "error", err)
			}
			release, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			if err := o.Store.Release(release, o.Queue, token); err != nil {
				o.Log.Warn("the lease could not be released; it ends by itself", "queue", o.Called(), "error", err)
			}
			cancel()
		}
		pause(ctx, retryPause)
	}
	return nil
}

// away says why this server does not show the queue's present state, or "". The caller
// holds turning.
func (o *Owner) away() string {
	why := stopped{}
	switch {
	case errors.As(o.ready, &why):
		return why.words
	case o.ready != nil:
		return o.ready.Error()
	case o.core == nil:
		return "another server owns this queue and shows it"
	case o.core.State().Main.Away != "":
		return "waiting: " + texts.OneLine(o.core.State().Main.Away, 400)
	}
	return ""
}

// stopped is why no turns are made. The cause is for the operator: it may name
// hosts, and tells people nothing.
type stopped struct {
	words string
	cause error
}

// Error implements error, for the operator: with the cause.
func (s stopped) Error() string { return s.words + ": " + s.cause.Error() }

// Unwrap returns the cause.
func (s stopped) Unwrap() error { return s.cause }

// setReady publishes whether the queue can be worked on, and reports whether this is news.
// Only Run's goroutine calls it.
func (o *Owner) setReady(err error) bool {
	if fmt.Sprint(err) == fmt.Sprint(o.ready) {
		return false
	}
	o.ready = err
	o.publishCore(o.core)
	return true
}

// own loads the state and makes turns until the lease or the store is lost.
// Events of this process that no turn has stored are kept for the next try:
// they are facts, and folding them twice is harmless.
func (o *Owner) own(ctx context.Context, token int64) error {
	ctx, cancel := context.WithCancel(ctx)
	o.owning.Store(true) // before Stands is asked: a report that was dropped until now is in its answer
	defer o.owning.Store(false)
	o.dropReports()
	var wg sync.WaitGroup
	do := newPerformer(o, ownership{token, ctx.Done()})
	defer func() {
		cancel() // before waiting: an action may be far from done
		do.wait()
		wg.Wait()
	}()

	core, version, err := o.load(ctx)
	if err != nil {
		return err
	}
	lost := make(chan error, 1)
	wg.Go(func() { o.renew(ctx, token, lost) })
	arrived := make(chan []queue.Arrived)
	wg.Go(func() { o.readInbox(ctx, arrived, lost) })
	reached := core.Reached() // before the first turn
	wg.Go(func() { o.watchMissed(ctx, reached, do.passes.locate) })
	wg.Go(func() { do.heal.keepUp(ctx) })
	o.Mirror.SetMend(do.heal.mendFor)
	defer o.Mirror.SetMend(nil)
	wg.Go(func() { do.passes.keepPasses(ctx) })
	t := &turns{Owner: o, core: core, version: version, token: token, do: do}
	o.Neighbors.awaitAll(o, core.State())
	o.publishCore(core)
	defer o.publishCore(nil)
	wg.Go(func() { o.Notify.Run(ctx, o.Queue, o) })
	o.setReady(fmt.Errorf("starting: reading %s", core.State().Main.Branch))
	if s, ok := o.Workers.(workers.Sweeper); ok {
		s.Sweep(liveBuilds(core.State()))
	}
	do.start(ctx, slices.Collect(mapValues(core.State().Actions)))
	first := []queue.Event{o.stamp(queue.Event{ID: "start", Body: queue.MainMoved{Branch: core.State().Main.Branch}})}
	if s, ok := o.Workers.(workers.Standing); ok { // the stored state may be older than these reports
		for i, b := range s.Stands() {
			first = append(first, o.stamp(queue.Event{ID: fmt.Sprintf("stands/%d", i), Body: b}))
		}
	}
	first = append(first, o.kept...)
	o.kept = nil
	if err := t.make(ctx, first, nil); err != nil {
		return err
	}
	return t.run(ctx, arrived, lost)
}

// dropReports drops what the workers have said of themselves and no turn of an earlier ownership
// has taken in: later reports may have been dropped since, and the answer of Stands comes first.
func (o *Owner) dropReports() {
	for range len(o.events) {
		if e := <-o.events; !o.toldAnew(e.Body) { // nobody else receives: there are as many
			o.kept = append(o.kept, e)
		}
	}
}

// liveBuilds returns the builds that a queue has asked for and that have not ended, as far as
// it knows.
func liveBuilds(s *queue.State) []queue.BuildID {
	live := slices.Collect(maps.Keys(s.Builds))
	for _, h := range s.Hosts {
		if h.Bench != nil && h.Bench.Probe != nil {
			live = append(live, h.Bench.Probe.ID)
		}
	}
	return live
}

func (o *Owner) load(ctx context.Context) (*speculation.Core, int64, error) {
	records, version, err := o.Store.Load(ctx, o.Queue)
	if err != nil {
		o.Metrics.RecordStoreError("load")
		return nil, 0, fmt.Errorf("loading the queue: %w", err)
	}
	if version < o.reached {
		o.Metrics.RecordStoreError("lost")
		o.Log.Error("the store has lost what it had acknowledged; the queue goes on from what is left, and asks the forge for the rest. changes that were asked for long ago may have to be asked for again",
			"queue", o.Called(), "turns lost", o.reached-version, "turns left", version)
	}
	o.reached = version
	s := queue.NewState(o.Branch)
	for _, r := range records {
		if err := s.Load(r); err != nil {
			return nil, 0, err
		}
	}
	if s.Main.Under != "" { // since this server has looked where the branch is kept
		kept, err := Under(ctx, o.Store, o.Queue, o.Branch)
		if err != nil {
			return nil, 0, err
		}
		if kept != o.Queue {
			return nil, 0, fmt.Errorf("the branch %s is served by the queue %s since another branch was renamed to it; start this server again, and it finds that one", o.Branch, kept)
		}
	}
	o.branchIn(&s.Main)
	return speculation.Resume(s, queue.At(o.Now()), o.Model), version, nil
}

func (o *Owner) readInbox(ctx context.Context, out chan<- []queue.Arrived, lost chan<- error) {
	after := ""
	for ctx.Err() == nil {
		batch, err := o.Store.Inbox(ctx, o.Queue, after, inboxBatch, 5*time.Second)
		if err != nil {
			if ctx.Err() == nil {
				o.Metrics.RecordStoreError("inbox")
				report(lost, fmt.Errorf("reading the inbox: %w", err))
			}
			return
		}
		if len(batch) == 0 {
			continue
		}
		after = batch[len(batch)-1].Cursor
		select {
		case out <- batch:
		case <-ctx.Done():
			return
		}
	}
}

// pumpBuilds hands on the reports of builds, for as long as this process lives. Reports of the
// workers about themselves are dropped while the queue is not owned: own asks for them
// (workers.Standing). A server that stands by takes none in, and workers that several queues share
// would wait here for ever.
func (o *Owner) pumpBuilds(ctx context.Context) {
	n := 0
	for {
		select {
		case b, ok := <-o.Workers.Events():
			if !ok {
				return
			}
			if o.toldAnew(b) && !o.owning.Load() {
				continue
			}
			n++
			o.emit(ctx, queue.Event{ID: fmt.Sprintf("build/%s/%d", o.Name, n), Body: b})
		case <-ctx.Done():
			return
		}
	}
}

// toldAnew reports whether each ownership begins with being told the like of an event of this
// process, so that it need not be kept for one.
func (o *Owner) toldAnew(b queue.Body) bool {
	switch b.(type) {
	case queue.MainMoved:
		return true
	case queue.Fleet, queue.Capacity: // what workers say of themselves
		_, stands := o.Workers.(workers.Standing)
		return stands
	}
	return false
}

func (o *Owner) emit(ctx context.Context, e queue.Event) {
	select {
	case o.events <- o.stamp(e):
	case <-ctx.Done():
	}
}

func (o *Owner) stamp(e queue.Event) queue.Event {
	e.At = queue.At(o.Now())
	return e
}

// publishCore has readers see another core. Only Run's goroutine calls it.
func (o *Owner) publishCore(core *speculation.Core) {
	o.turning.Lock()
	defer o.turning.Unlock()
	o.core = core
	o.window.ended = time.Time{} // at once: this does not come often
	o.publish()
}

// Read calls f with the queue's core while no turn is made; f is not called
// while this server does not own the queue, and ok is false then. It waits for a turn
// that is being stored: no request may.
func (o *Owner) Read(f func(*speculation.Core)) (ok bool) {
	o.turning.Lock()
	defer o.turning.Unlock()
	if o.core == nil {
		return false
	}
	f(o.core)
	return true
}

func report(to chan<- error, err error) {
	select {
	case to <- err:
	default:
	}
}

// pause waits and reports whether ctx still lives.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
