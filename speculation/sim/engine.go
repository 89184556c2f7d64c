package sim

import (
	"container/heap"
	"context"
	"math"
	"time"
)

// policy is a peer's way to run a queue, driven by the engine: it is told the events
// and answers with start, stop and decide.
type policy interface {
	arrived(change int)
	ended(b *build) // a build ran to its end; b.failed says how
	// voided says that a commit from outside has changed the base of the change's
	// builds: they have been stopped, and the change's results no longer count.
	voided(change int)
	plan() // all events of this instant have been told
}

// build is a run of all targets of one change, or of several at once.
type build struct {
	id      int
	changes []int // built together, on the base of the first
	assumed []int
	key     uint64
	end     float64
	began   float64
	failed  bool
	stopped bool
	over    bool // it ended or was stopped
}

// engine moves virtual time from event to event: arrivals, pushes from outside,
// ends of builds. It knows the truth, and tells it through results of builds
// only.
type engine struct {
	ctx     context.Context
	w       *World
	o       Options
	main    *State
	out     *Outcome
	now     float64
	free    int     // workers
	every   float64 // plan at most once in so many minutes
	planned float64
	wake    float64

	running  builds
	attempts []int // by change
	current  [][]*build
	decided  []bool
	arrivals int // how many changes have arrived
	pushes   int
}

func newEngine(ctx context.Context, w *World, o Options) *engine {
	n := len(w.Changes)
	return &engine{ctx: ctx, w: w, o: o, main: NewState(w), out: &Outcome{}, free: o.Workers,
		planned: math.Inf(-1), wake: math.Inf(1), attempts: make([]int, n), current: make([][]*build, n), decided: make([]bool, n)}
}

// run replays the world. It ends when nothing more can happen, even if changes are
// undecided: the checker counts them.
func (e *engine) run(p policy) (*Outcome, error) {
	began := cpu()
	for turn := 0; e.step(p); turn++ {
		if err := e.ctx.Err(); err != nil {
			return nil, err
		}
		if turn%64 == 0 {
			e.o.progress(len(e.out.Decisions), len(e.w.Changes))
		}
		if e.now < e.planned+e.every {
			e.wake = e.planned + e.every
			continue
		}
		e.planned, e.wake = e.now, math.Inf(1)
		start := time.Now()
		p.plan()
		e.out.Plans = append(e.out.Plans, time.Since(start))
	}
	e.out.CPU = cpu() - began
	return e.out, nil
}

// step tells the policy everything of the next instant.
func (e *engine) step(p policy) bool {
	for len(e.running) > 0 && e.running[0].stopped {
		heap.Pop(&e.running)
	}
	at := e.wake
	if e.arrivals < len(e.w.Changes) {
		at = min(at, e.w.Changes[e.arrivals].ArriveMin)
	}
	if e.pushes < len(e.w.Pushes) && (e.arrivals < len(e.w.Changes) || len(e.running) > 0) {
		at = min(at, e.w.Pushes[e.pushes].AtMin)
	}
	if len(e.running) > 0 {
		at = min(at, e.running[0].end)
	}
	if math.IsInf(at, 1) {
		return false
	}
	e.now = at
	for ; e.pushes < len(e.w.Pushes) && e.w.Pushes[e.pushes].AtMin <= at; e.pushes++ {
		e.push(p, &e.w.Pushes[e.pushes])
	}
	for len(e.running) > 0 && e.running[0].end <= at {
		b := heap.Pop(&e.running).(*build)
		if !b.stopped {
			e.finish(b)
			p.ended(b)
		}
	}
	for ; e.arrivals < len(e.w.Changes) && e.w.Changes[e.arrivals].ArriveMin <= at; e.arrivals++ {
		p.arrived(e.arrivals)
	}
	return true
}

func (e *engine) push(p policy, x *Push) {
	e.main.Push(x)
	for c := range e.arrivals {
		if e.decided[c] || len(common(e.w.Changes[c].Targets, x.Targets)) == 0 {
			continue
		}
		for len(e.current[c]) > 0 {
			e.stop(e.current[c][0])
		}
		p.voided(c)
	}
}

// start runs a build of changes on main with further changes assumed; a worker must be
// free. Several changes at once take as long as the longest of them: their builds run
// side by side.
func (e *engine) start(changes, assumed []int, key uint64) *build {
	b := &build{id: e.out.Builds, changes: changes, assumed: assumed, key: key, began: e.now}
	with := append(append([]int{}, assumed...), changes...)
	took := 0.0
	for _, c := range changes {
		took = max(took, e.w.Changes[c].DurationMin)
		e.attempts[c]++
		e.current[c] = append(e.current[c], b)
		if !b.failed {
			broken, tree := e.main.With(with, e.w.Changes[c].Targets)
			b.failed = len(broken) > 0 || tree || e.flakes(c)
		}
	}
	b.end = e.now + took + e.w.TreeStepMin
	e.free--
	e.out.began(b.began)
	heap.Push(&e.running, b)
	return b
}

func (e *engine) flakes(c int) bool {
	if e.w.TreeStepMin > 0 && e.w.Flake(c, e.attempts[c], -1) {
		return true
	}
	if e.w.Flaky == 0 {
		return false
	}
	for _, t := range e.w.Changes[c].Targets {
		if e.w.Flake(c, e.attempts[c], t) {
			return true
		}
	}
	return false
}

// stop aborts a running build; a build that is over stays as it is.
func (e *engine) stop(b *build) {
	if b.over {
		return
	}
	b.stopped = true
	e.out.Aborted++
	e.finish(b)
}

func (e *engine) finish(b *build) {
	b.over = true
	e.free++
	e.out.WorkerMinutes += e.now - b.began
	for _, c := range b.changes {
		for i, x := range e.current[c] {
			if x == b {
				e.current[c] = append(e.current[c][:i], e.current[c][i+1:]...)
				break
			}
		}
	}
}

// decide lands or rejects a change.
func (e *engine) decide(change int, landed bool) {
	e.decided[change] = true
	e.out.Decisions = append(e.out.Decisions, Decision{Change: change, At: e.now, Landed: landed})
	if landed {
		e.main.Add(change)
		e.out.Landings = append(e.out.Landings, change)
	}
}

// label is a change's share of the key of a set of changes: equal sets have equal keys.
func label(change int) uint64 { return mix(uint64(change) + 1) }

// builds is a heap by end, then by start.
type builds = heaped[*build]

// Before is the order of the heap.
func (a *build) Before(b *build) bool {
	if a.end != b.end {
		return a.end < b.end
	}
	return a.id < b.id
}
