package sim

import (
	"container/heap"
	"context"
	"fmt"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// ours is the queue itself: the very speculation.Step that the server runs. Its
// actions are answered from the world over a virtual clock. Everything but
// builds takes no time. It runs as a new server does: with the default rules, and a
// model that knows only the queue's own past in this world.
//
// If informed, it gets the beliefs of the world's predictor about each change, as the
// peers do. It runs no build again in a world without flakes, and has no cap. This
// shows how good the planner can be, not what a server does on its first day.
type ours struct{ informed bool }

// Name implements Strategy.
func (s ours) Name() string {
	if s.informed {
		return "ours-informed"
	}
	return "ours"
}

// Run implements Strategy. Settings are those of the configuration's queue
// section, by their names there.
func (s ours) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	var base map[string]string
	if s.informed {
		base = informedRules(w)
	}
	rules, err := rulesOf(base, o.Set)
	if err != nil {
		return nil, err
	}
	if o.Model == nil {
		o.Model = predict.New()
		if s.informed {
			o.Model = newModel(w)
		}
	}
	d := newDriver(w, o, rules)
	began := cpu()
	for turn := 0; ; turn++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if turn%64 == 0 {
			o.progress(len(d.out.Decisions), len(w.Changes))
		}
		if !d.next() {
			break
		}
		d.turn()
		d.look()
	}
	d.out.CPU = cpu() - began
	return d.out, nil
}

// driver answers the core's actions from a world.
type driver struct {
	w     *World
	o     Options
	out   *Outcome
	core  *speculation.Core
	tree  *forest
	rules config.Rules
	steps []config.Step
	unit  queue.Digest // digest of the step on targets

	now    queue.Instant
	last   queue.Instant // the latest end of the run
	wake   queue.Instant
	eta    queue.Instant // the next look at forecasts
	mail   []queue.Event // events to be told at once
	later  []queue.Event // events to be told with the next one: no change waits for them
	runs   map[queue.BuildID]*run
	ends   runs
	ids    map[queue.ChangeID]int
	passed map[queue.Digest]queue.Entry // the archive
	arrive int
	pushes int
	serial int
	tries  []int // builds so far, by change

	rows    []queue.Row // of the event archive, to learn from
	grown   []growth    // of main, oldest first
	commits int         // of main so far
	onMain  []int       // by change: the number of its commit
}

// run is a build that runs.
type run struct {
	id      queue.BuildID
	serial  int
	change  int   // the change that it is an attempt of
	changes []int // the changes that it is for
	targets []int
	whole   bool // the step on the whole tree
	failing map[int]bool
	red     bool // the step on the whole tree fails
	began   queue.Instant
	end     queue.Instant
	over    bool
}

const epoch = queue.Instant(1767603600000) // any moment will do

func instant(minutes float64) queue.Instant { return epoch + queue.Instant(minutes*60000+0.5) }

func clock(at queue.Instant) float64 { return float64(at-epoch) / 60000 }

func span(minutes float64) time.Duration { return time.Duration(minutes * float64(time.Minute)) }

func newDriver(w *World, o Options, rules config.Rules) *driver {
	d := &driver{w: w, o: o, out: &Outcome{}, rules: rules, now: epoch, runs: map[queue.BuildID]*run{},
		ids: map[queue.ChangeID]int{}, passed: map[queue.Digest]queue.Entry{}, tries: make([]int, len(w.Changes)), onMain: make([]int, len(w.Changes))}
	d.steps = []config.Step{{Name: "unit", Run: "test {targets}", Scope: config.ScopeTargets, Report: config.ReportGoTestJSON, Timeout: 24 * time.Hour}}
	if w.Opaque {
		d.steps[0].Report = config.ReportExitCode
	}
	if w.TreeStepMin > 0 {
		d.steps = append(d.steps, config.Step{Name: "tree", Run: "test all", Scope: config.ScopeRepository, Report: config.ReportExitCode, Timeout: 24 * time.Hour})
	}
	for i := range d.steps {
		if s := &d.steps[i]; o.Heads > 0 {
			s.Checks, s.Counts, s.Earlier = []config.Check{{Name: s.Name}}, config.CountsTree, config.EarlierCount
		}
	}
	d.unit = d.steps[0].Digest()
	d.last = instant(60 * 24 * 365)
	if n := len(w.Changes); n > 0 {
		d.last = instant(w.Changes[n-1].ArriveMin + 60*24*365)
	}
	d.tree = newForest(w, d.steps)
	d.core = speculation.NewWith(queue.NewState("main"), o.Model)
	d.tell(queue.Capacity{Slots: o.Workers}, queue.MainMoved{Branch: "main"})
	d.turn()
	return d
}

func (d *driver) tell(bodies ...queue.Body) {
	for _, b := range bodies {
		d.serial++
		d.mail = append(d.mail, queue.Event{ID: fmt.Sprint("e", d.serial), At: d.now, Body: b})
	}
}

// next moves the clock to the next event and says whether there is one.
func (d *driver) next() bool {
	for len(d.ends) > 0 && d.ends[0].over {
		heap.Pop(&d.ends)
	}
	var at queue.Instant
	if d.arrive < len(d.w.Changes) {
		at = queue.Earliest(at, instant(d.w.Changes[d.arrive].ArriveMin))
	}
	if d.pushes < len(d.w.Pushes) {
		at = queue.Earliest(at, instant(d.w.Pushes[d.pushes].AtMin))
	}
	if len(d.ends) > 0 {
		at = queue.Earliest(at, d.ends[0].end)
	}
	if len(d.out.Decisions) < len(d.w.Changes) {
		at = queue.Earliest(at, d.wake)
	}
	if at == 0 || at > d.last {
		return false
	}
	d.now = max(d.now, at)
	if n := len(d.tree.line); d.o.Heads > 0 && (len(d.grown) == 0 || d.grown[len(d.grown)-1].line < n) {
		d.grown = append(d.grown, growth{d.now, n})
	}
	for len(d.ends) > 0 && d.ends[0].end <= d.now {
		if r := heap.Pop(&d.ends).(*run); !r.over {
			d.finish(r, len(r.targets), queue.JobPassed)
		}
	}
	for ; d.pushes < len(d.w.Pushes) && instant(d.w.Pushes[d.pushes].AtMin) <= d.now; d.pushes++ {
		d.tree.push(d.pushes)
		d.tell(queue.MainMoved{Branch: "main"})
	}
	for ; d.arrive < len(d.w.Changes) && instant(d.w.Changes[d.arrive].ArriveMin) <= d.now; d.arrive++ {
		d.tell(queue.Commented{Number: d.arrive + 1, Comment: fmt.Sprint("c", d.arrive), Author: d.w.author(d.arrive), Body: "/land"})
	}
	if len(d.mail) == 0 {
		d.tell(queue.Tick{})
	}
	return true
}

// turn steps the core until nothing more happens at this instant.
func (d *driver) turn() {
	for len(d.mail) > 0 {
		mail := append(d.later, d.mail...)
		d.later, d.mail = nil, nil
		began := time.Now()
		turn := speculation.Step(d.core, mail)
		d.out.Plans = append(d.out.Plans, time.Since(began))
		d.wake = turn.Wake
		for _, e := range turn.Archive {
			d.passed[e.ID] = e
		}
		for _, n := range turn.Notes {
			d.decided(n)
		}
		for _, r := range turn.Rows {
			if d.o.Record != nil {
				d.o.Record(r)
			}
			if d.o.Learn {
				d.rows = append(d.rows, r)
			}
		}
		for i := range turn.Actions {
			d.carryOut(&turn.Actions[i])
		}
	}
}

func (d *driver) decided(n queue.Note) {
	switch queue.Phase(n.What) {
	case queue.Landed, queue.Rejected, queue.Cancelled, queue.NothingToLand:
		d.out.Decisions = append(d.out.Decisions, Decision{Change: n.Number - 1, At: clock(d.now), Landed: n.What == string(queue.Landed), Commit: d.onMain[n.Number-1]})
	}
}

func (d *driver) carryOut(a *queue.Action) {
	switch t := a.Task.(type) {
	case queue.Observe:
		d.tell(d.tree.observe(a.Key, t, &config.Config{Version: 1, Steps: d.steps, Queue: d.rules,
			Permissions: config.Permissions{Land: "write", Queue: "maintain"}}))
	case queue.Survey:
		d.tell(queue.Surveyed{Action: a.Key, Commit: t.Commit, Steps: queue.NewStepSet(d.steps)})
	case queue.Watch:
		d.tell(d.watch(a.Key, t))
	case queue.Inspect:
		d.tell(queue.Inspected{Action: a.Key, Head: headOf(t.Number - 1), Base: "main", Author: d.w.author(t.Number - 1), Facets: d.w.Changes[t.Number-1].Features.facets(), Open: true, Permission: "admin",
			ConfigAt: d.core.State().Main.ConfigAt})
	case queue.Analyze:
		d.ids[t.Change] = t.Pick.Number - 1
		f := queue.Footprint{Main: t.Main, Analyzer: "world", All: d.w.Opaque, Write: []string{config.TargetTree}}
		if !d.w.Opaque {
			f.Write = d.tree.names(d.w.Changes[t.Pick.Number-1].Targets)
		}
		f.Affected = f.Write
		d.w.Changes[t.Pick.Number-1].Features.show(&f)
		d.tell(queue.Analyzed{Action: a.Key, Change: t.Change, Footprint: f})
	case queue.Attest:
		d.tell(d.attest(a.Key, t))
	case queue.Meet:
		met := queue.Met{Action: a.Key, Change: t.Change}
		for _, p := range t.With {
			met.Merges = append(met.Merges, p.Change)
		}
		d.tell(met)
	case queue.Resolve:
		d.tell(d.tree.resolve(a.Key, t))
	case queue.Run:
		d.start(t.Build)
	case queue.Stop:
		d.tellLater(queue.Done{Action: a.Key})
		if r := d.runs[t.Build]; r != nil && !r.over {
			d.out.Aborted++
			n := 0
			if !r.whole {
				n = d.w.Finished(r.targets, clock(d.now)-clock(r.began), clock(r.end)-clock(r.began))
			}
			d.finish(r, n, queue.JobStopped)
		}
	case queue.Land:
		p := d.core.State().Push
		for i := range p.Commits {
			d.commits++
			for _, id := range p.Of(i) {
				d.out.Landings = append(d.out.Landings, d.ids[id])
				d.onMain[d.ids[id]] = d.commits
			}
		}
		d.tree.land(p, d.ids)
		d.tell(queue.Pushed{Action: a.Key, Push: p.ID, Moved: true})
	case queue.Learn:
		d.tellLater(d.learn(a.Key, t))
	case queue.Publish:
		d.tellLater(queue.Done{Action: a.Key, Shown: t.Want})
	default:
		d.tellLater(queue.Done{Action: a.Key})
	}
}

func (d *driver) tellLater(b queue.Body) {
	d.serial++
	d.later = append(d.later, queue.Event{ID: fmt.Sprint("e", d.serial), At: d.now, Body: b})
}

// start begins a build: its results are known from the truth, and told at its end.
func (d *driver) start(id queue.BuildID) {
	b := d.core.State().Builds[id]
	if b == nil || d.runs[id] != nil {
		return
	}
	if b.Change == "" {
		d.startOnMain(b)
		return
	}
	d.serial++
	r := &run{id: id, serial: d.serial, change: d.ids[b.Change], began: d.now, failing: map[int]bool{}}
	for _, c := range b.For() {
		r.changes = append(r.changes, d.ids[c])
	}
	took := 0.0
	for _, j := range b.Jobs {
		if j.Step.Scope == config.ScopeRepository {
			r.whole = true
			took += d.w.TreeStepMin
			continue
		}
		if d.w.Opaque {
			r.targets = append(r.targets, d.w.Changes[r.change].Targets...)
			continue
		}
		for _, k := range j.Keys {
			r.targets = append(r.targets, d.tree.number[k.Target])
		}
	}
	sortInts(r.targets)
	if len(r.targets) > 0 {
		took += d.w.BatchMinutes(r.changes, r.targets)
	}
	looked := r.targets
	if d.w.Opaque && len(looked) > 0 {
		looked = d.tree.all
	}
	red, tree := d.tree.broken(b.Commit, looked)
	r.red = r.whole && (tree || d.w.Flake(r.change, d.tries[r.change], -1))
	for _, t := range red {
		r.failing[t] = true
	}
	for _, t := range r.targets {
		if d.w.Flake(r.change, d.tries[r.change], t) {
			r.failing[t] = true
		}
	}
	d.tries[r.change]++
	r.end = d.now + max(1, queue.Instant(took*60000+0.5))
	d.runs[id] = r
	d.out.began(clock(d.now))
	heap.Push(&d.ends, r)
	d.tellLater(queue.BuildStarted{Build: id, Machine: "worker"})
}

// finish tells the results of the first n targets of a build, and that it is over.
func (d *driver) finish(r *run, n int, how queue.JobOutcome) {
	r.over = true
	delete(d.runs, r.id)
	d.out.WorkerMinutes += clock(d.now) - clock(r.began)
	b := d.core.State().Builds[r.id]
	if b == nil {
		return
	}
	outcome := queue.JobPassed
	for _, j := range b.Jobs {
		done := queue.JobDone{Build: r.id, Step: j.Step.Digest(), Outcome: queue.JobPassed, Machine: "worker"}
		if j.Step.Scope == config.ScopeRepository {
			if how == queue.JobStopped {
				continue
			}
			if done.Took = span(d.w.TreeStepMin); r.red {
				done.Outcome, outcome = queue.JobFailed, queue.JobFailed
			}
			d.tell(done)
			continue
		}
		if d.w.Opaque {
			if how == queue.JobStopped {
				continue
			}
			if done.Took = r.end.Sub(r.began); len(r.failing) > 0 {
				done.Outcome, outcome = queue.JobFailed, queue.JobFailed
			}
			d.tell(done)
			continue
		}
		done.PerTarget = map[string]time.Duration{}
		for _, t := range r.targets[:n] {
			name := d.tree.name[t]
			done.PerTarget[name] = span(d.w.Targets[t].CostMin)
			done.Took += done.PerTarget[name]
			if r.failing[t] {
				done.Failed = append(done.Failed, queue.TargetFailure{Target: name})
				done.Outcome, outcome = queue.JobFailed, queue.JobFailed
			} else {
				done.Passed = append(done.Passed, name)
			}
		}
		if n > 0 {
			d.tell(done)
		}
	}
	if how == queue.JobStopped {
		outcome = how
	}
	d.tell(queue.BuildDone{Build: r.id, Outcome: outcome})
}

// runs is a heap by end.
type runs = heaped[*run]

// Before is the order of the heap.
func (a *run) Before(b *run) bool {
	if a.end != b.end {
		return a.end < b.end
	}
	return a.serial < b.serial
}
