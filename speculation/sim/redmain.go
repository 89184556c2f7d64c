package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation"
)

// RedMains is the outcome of injected red mains: in each, commits are pushed past the
// queue, and one of them breaks a target. Spans are in build times of the slowest step,
// from the first failure on main, and sorted.
type RedMains struct {
	Injected int
	Right    int       // the only commit named is the one that was injected
	Wrong    int       // another one was named
	Spans    []float64 // of the right ones: until the evidence is complete
	Pushed   []float64 // the same, from the push
	Reverts  int       // proven reverts, of the right ones
	Proven   []float64 // until the revert is proven
	Builds   []int     // builds that the searches took, sorted
}

// String implements fmt.Stringer.
func (r RedMains) String() string {
	if len(r.Spans) == 0 {
		return fmt.Sprintf("culprit right in %d of %d red mains, wrong in %d", r.Right, r.Injected, r.Wrong)
	}
	text := fmt.Sprintf("culprit right in %d of %d red mains, wrong in %d; evidence complete after %.1f build times of the slowest step (median; at most %.1f) from the first failure, %.1f (at most %.1f) from the push; %d builds (median; at most %d)",
		r.Right, r.Injected, r.Wrong, median(r.Spans), r.Spans[len(r.Spans)-1], median(r.Pushed), r.Pushed[len(r.Pushed)-1], median(r.Builds), r.Builds[len(r.Builds)-1])
	if r.Reverts > 0 {
		text += fmt.Sprintf("; revert proven in %d, after %.1f (at most %.1f)", r.Reverts, median(r.Proven), r.Proven[len(r.Proven)-1])
	}
	return text
}

func median[T any](sorted []T) T { return sorted[len(sorted)/2] }

// InjectRedMains injects so many red mains, drawn from a seed, and lets the server's own
// speculation.Step find the commit that turned each red. They have up to 32 commits, 4
// to 11 slots, steps that name failed targets and steps that do not, and flakes.
func InjectRedMains(ctx context.Context, n int, seed uint64) (RedMains, error) {
	out := RedMains{Injected: n}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		d := newRedMain(rand.New(rand.NewPCG(seed, uint64(i))))
		if err := d.run(); err != nil {
			return out, fmt.Errorf("red main %d of seed %d: %w", i, seed, err)
		}
		d.count(&out)
	}
	for _, spans := range [][]float64{out.Spans, out.Pushed, out.Proven} {
		slices.Sort(spans)
	}
	slices.Sort(out.Builds)
	return out, nil
}

// The world of a red main.
const (
	redTargets = 12
	redFlakes  = 0.01 // chance that a sound target flakes in one build
	redTurns   = 20_000
)

// redCommit is a commit of main's line, or a revert. It has, for each target, the
// commits that have touched the target's content.
type redCommit struct {
	id      queue.CommitID
	parent  queue.CommitID
	content [redTargets][]int
	number  int
}

type redRun struct {
	build queue.BuildID
	end   queue.Instant
}

// redMain drives a core in front of one red main.
type redMain struct {
	r       *rand.Rand
	core    *speculation.Core
	step    config.Step
	needs   [redTargets]int // each target is also made of another target's content; itself: of no other
	took    [redTargets]float64
	commits map[queue.CommitID]*redCommit
	line    []*redCommit
	bad     int // the commit that breaks
	broken  int // the target that it breaks
	passed  map[queue.Digest]queue.Entry
	runs    []redRun
	mail    []queue.Event
	now     queue.Instant
	wake    queue.Instant
	pushed  queue.Instant
	proven  queue.Instant
	serial  int
}

func newRedMain(r *rand.Rand) *redMain {
	d := &redMain{r: r, now: epoch, commits: map[queue.CommitID]*redCommit{}, passed: map[queue.Digest]queue.Entry{}}
	d.step = config.Step{Name: "unit", Run: "test {targets}", Scope: config.ScopeTargets, Report: config.ReportGoTestJSON, Timeout: span(24 * 60)}
	if r.IntN(3) == 0 {
		d.step.Report = config.ReportExitCode
	}
	for t := range redTargets {
		d.needs[t], d.took[t] = t, 2+8*r.Float64()
		if t > 0 && r.IntN(2) == 0 {
			d.needs[t] = r.IntN(t)
		}
	}
	d.core = speculation.New(queue.NewState("main"))
	d.commit(nil)
	d.tell(queue.Capacity{Slots: 4 + r.IntN(8)}, queue.MainMoved{Branch: "main"})
	return d
}

// commit puts a commit onto main that touches some targets.
func (d *redMain) commit(targets []int) *redCommit {
	c := &redCommit{number: len(d.line)}
	if n := len(d.line); n > 0 {
		c.content, c.parent = d.line[n-1].content, d.line[n-1].id
	}
	for _, t := range targets {
		c.content[t] = append(slices.Clone(c.content[t]), c.number)
	}
	d.put(c)
	d.line = append(d.line, c)
	return c
}

func (d *redMain) put(c *redCommit) {
	c.id = queue.CommitID(digest.Of("red1", string(c.parent), fmt.Sprint(c.number), fmt.Sprint(c.content))[:16])
	d.commits[c.id] = c
}

// inject pushes commits, one of which breaks a target: its own, or one that is made of
// it.
func (d *redMain) inject() {
	n := 1 + d.r.IntN(32)
	d.bad = 1 + d.r.IntN(n)
	for i := 1; i <= n; i++ {
		targets := []int{d.r.IntN(redTargets)}
		for d.r.IntN(3) == 0 {
			targets = append(targets, d.r.IntN(redTargets))
		}
		slices.Sort(targets)
		d.commit(slices.Compact(targets))
		if i == d.bad {
			d.broken = targets[0]
			for t := range redTargets {
				if d.needs[t] == targets[0] && d.r.IntN(2) == 0 {
					d.broken = t
				}
			}
		}
	}
	d.pushed = d.now
	d.tell(queue.MainMoved{Branch: "main"})
}

func targetName(t int) string { return fmt.Sprintf("t%02d", t) }

func targetOf(name string) (t int) {
	fmt.Sscanf(name, "t%d", &t)
	return t
}

func (d *redMain) key(c *redCommit, t int) queue.Key {
	fields := []string{"red1", targetName(t), fmt.Sprint(c.content[t])}
	if n := d.needs[t]; n != t {
		fields = append(fields, fmt.Sprint(c.content[n]))
	}
	return queue.Key{Step: d.step.Digest(), Target: targetName(t), Hash: digest.Of(fields...)}
}

// keys returns the keys that a commit has and another has not; all keys if the other is
// nil.
func (d *redMain) keys(c, than *redCommit) (out []queue.Key) {
	for t := range redTargets {
		if k := d.key(c, t); than == nil || d.key(than, t) != k {
			out = append(out, k)
		}
	}
	return out
}

func (d *redMain) steps() queue.StepSet { return queue.NewStepSet([]config.Step{d.step}) }

// red is the truth.
func (d *redMain) red(c *redCommit, t int) bool {
	return t == d.broken && (slices.Contains(c.content[t], d.bad) || slices.Contains(c.content[d.needs[t]], d.bad))
}

func (d *redMain) tell(bodies ...queue.Body) {
	for _, b := range bodies {
		d.serial++
		d.mail = append(d.mail, queue.Event{ID: fmt.Sprint("e", d.serial), At: d.now, Body: b})
	}
}

// run lets main be proven, injects, and goes on until the culprit and the outcome of
// its revert are known, or nothing happens any more.
func (d *redMain) run() error {
	for turn := 0; ; turn++ {
		if turn == redTurns {
			return fmt.Errorf("no end after %d turns", turn)
		}
		if len(d.mail) == 0 {
			m := d.core.State().Main
			switch {
			case d.pushed == 0 && len(d.runs) == 0 && m.Surveyed == m.Tip && m.Root == "":
				d.inject()
			case d.pushed != 0 && d.settled():
				return nil
			case !d.advance():
				return nil
			}
		}
		mail := d.mail
		d.mail = nil
		turn := speculation.Step(d.core, mail)
		d.wake = turn.Wake
		for _, e := range turn.Archive {
			d.passed[e.ID] = e
		}
		for i := range turn.Actions {
			d.carryOut(&turn.Actions[i])
		}
	}
}

// settled reports whether there is nothing left to wait for.
func (d *redMain) settled() bool {
	hunts := d.core.Hunts()
	if len(hunts) == 0 || d.now.Sub(d.pushed) > span(24*60) {
		return len(hunts) > 0
	}
	for _, h := range hunts {
		if h.Lives() && (h.Red == 0 || !h.Settled()) {
			return false
		}
		for _, x := range h.Culprits {
			if x.Revert == nil || x.Revert.State == queue.RevertTrying {
				return false
			}
			if d.proven == 0 {
				d.proven = d.now
			}
		}
	}
	return true
}

// advance moves the clock to the next event.
func (d *redMain) advance() bool {
	slices.SortStableFunc(d.runs, func(a, b redRun) int { return int(a.end - b.end) })
	at := d.wake
	if len(d.runs) > 0 {
		at = queue.Earliest(at, d.runs[0].end)
	}
	if at == 0 {
		return false
	}
	d.now = max(d.now, at)
	for len(d.runs) > 0 && d.runs[0].end <= d.now {
		id := d.runs[0].build
		d.runs = d.runs[1:]
		d.finish(id)
	}
	if len(d.mail) == 0 {
		d.tell(queue.Tick{})
	}
	return true
}

func (d *redMain) carryOut(a *queue.Action) {
	switch t := a.Task.(type) {
	case queue.Observe:
		d.tell(d.observe(a.Key, t))
	case queue.Survey:
		out := queue.Surveyed{Action: a.Key, Commit: t.Commit, Tree: queue.TreeID(t.Commit), Steps: d.steps()}
		for _, k := range d.keys(d.commits[t.Commit], nil) {
			if _, ok := d.passed[k.ID()]; !ok {
				out.Unproven = append(out.Unproven, k)
			}
		}
		d.tell(out)
	case queue.Trace:
		d.tell(d.trace(a.Key, t))
	case queue.Watch:
		out := queue.Controlled{Action: a.Key, Commit: t.Commit, Tree: queue.TreeID(t.Commit), Steps: d.steps()}
		for _, aim := range t.Aims {
			k := d.key(d.commits[t.Commit], targetOf(aim.Target))
			out.Found = append(out.Found, queue.Aimed{Aim: aim, Key: k})
			if e, ok := d.passed[k.ID()]; ok {
				out.Passed = append(out.Passed, e)
			}
		}
		d.tell(out)
	case queue.Weigh:
		d.tell(queue.Weighed{Action: a.Key, Hunt: t.Hunt, Commit: t.Commit, Tip: t.Tip})
	case queue.Resolve:
		d.tell(d.resolve(a.Key, t))
	case queue.Run:
		d.start(t.Build)
	case queue.Stop:
		d.runs = slices.DeleteFunc(d.runs, func(r redRun) bool { return r.build == t.Build })
		d.tell(queue.Done{Action: a.Key}, queue.BuildDone{Build: t.Build, Outcome: queue.JobStopped})
	default:
		d.tell(queue.Done{Action: a.Key})
	}
}

func (d *redMain) observe(key string, t queue.Observe) queue.Body {
	tip := d.line[len(d.line)-1]
	out := queue.Observed{Action: key, Tip: tip.id, From: t.From, Config: &config.Config{Version: 1, Steps: d.steps().Steps,
		Queue: config.Rules{Retries: 1, InfraRetries: 3, BuildsPerChange: 20, Threshold: 0.3, RedMain: config.RedMain{Revert: config.RevertPrepare}}}}
	for i := len(d.line) - 1; i >= 0 && d.line[i].id != t.From; i-- {
		out.Line = append(out.Line, queue.LineCommit{Commit: d.line[i].id})
	}
	slices.Reverse(out.Line)
	return out
}

// trace walks back to the commit where each trail is known to have passed.
func (d *redMain) trace(key string, t queue.Trace) queue.Body {
	out := queue.Traced{Action: key, Hunt: t.Hunt, Commit: t.Commit, Analyzer: t.Analyzer, Trails: slices.Clone(t.Trails), Steps: []queue.StepSet{d.steps()}}
	from := d.commits[t.Commit].number
	good := make([]bool, len(t.Trails))
	for ; from >= 0; from-- {
		for i, x := range t.Trails {
			good[i] = good[i] || !slices.ContainsFunc(d.trail(d.line[from], x), func(k queue.Key) bool { _, ok := d.passed[k.ID()]; return !ok })
		}
		if out.Whole = from == 0; out.Whole || !slices.Contains(good, false) {
			break
		}
	}
	for n, c := range d.line[from : d.commits[t.Commit].number+1] {
		out.Line = append(out.Line, queue.HuntCommit{Commit: c.id, Tree: queue.TreeID(c.id), Steps: d.steps().ID})
		for i, x := range t.Trails {
			keys, spots := d.trail(c, x), out.Trails[i].Spots
			if !x.Opaque && len(spots) > 0 && slices.Equal(keys, spots[len(spots)-1].Keys) {
				continue
			}
			out.Trails[i].Spots = append(spots, queue.Spot{At: n, Keys: keys})
			for _, k := range keys {
				if e, ok := d.passed[k.ID()]; ok {
					out.Passed = append(out.Passed, e)
				}
			}
		}
	}
	return out
}

func (d *redMain) trail(c *redCommit, x queue.Trail) (out []queue.Key) {
	for _, name := range x.Targets {
		out = append(out, d.key(c, targetOf(name)))
	}
	return out
}

// resolve makes the revert of a commit: the commit's edits are gone.
func (d *redMain) resolve(key string, t queue.Resolve) queue.Body {
	p, base := t.Picks[0], d.commits[t.Base]
	gone := d.commits[p.Revert].number
	c := &redCommit{parent: base.id, number: -gone}
	for i, content := range base.content {
		c.content[i] = slices.DeleteFunc(slices.Clone(content), func(n int) bool { return n == gone })
	}
	d.put(c)
	l := queue.Link{ID: queue.LinkOf(base.id, p.Change), Parent: base.id, Change: p.Change, Outcome: queue.Merged, Commit: c.id,
		Tree: queue.TreeID(c.id), Steps: d.steps().ID, Keys: d.keys(c, base)}
	out := queue.Resolved{Action: key, Guard: t.Guard(), Links: []queue.Link{l}, Steps: []queue.StepSet{d.steps()}}
	for _, k := range l.Keys {
		if e, ok := d.passed[k.ID()]; ok {
			out.Passed = append(out.Passed, e)
		}
	}
	return out
}

// start begins a build. Its targets run beside one another.
func (d *redMain) start(id queue.BuildID) {
	b := d.core.State().Builds[id]
	if b == nil || slices.ContainsFunc(d.runs, func(r redRun) bool { return r.build == id }) {
		return
	}
	took := 0.0
	for _, k := range b.Keys() {
		took = max(took, d.took[targetOf(k.Target)])
	}
	d.runs = append(d.runs, redRun{id, d.now.Add(span(took))})
	d.tell(queue.BuildStarted{Build: id, Machine: "worker"})
}

func (d *redMain) finish(id queue.BuildID) {
	b := d.core.State().Builds[id]
	if b == nil {
		return
	}
	outcome := queue.JobPassed
	for _, j := range b.Jobs {
		done := queue.JobDone{Build: id, Step: j.Step.Digest(), Outcome: queue.JobPassed, Machine: fmt.Sprint("worker", d.serial), Took: span(1)}
		for _, k := range j.Keys {
			t := targetOf(k.Target)
			if d.red(d.commits[b.Commit], t) || d.r.Float64() < redFlakes {
				done.Outcome, outcome = queue.JobFailed, queue.JobFailed
				done.Failed = append(done.Failed, queue.TargetFailure{Target: k.Target, Tail: "--- FAIL"})
			} else {
				done.Passed = append(done.Passed, k.Target)
			}
		}
		if d.step.Report == config.ReportExitCode {
			done.Passed, done.Failed = nil, nil
		}
		d.tell(done)
	}
	d.tell(queue.BuildDone{Build: id, Outcome: outcome})
}

// count adds the outcome of the red main.
func (d *redMain) count(out *RedMains) {
	var found []queue.Culprit
	var began queue.Instant
	builds := 0
	for _, h := range d.core.Hunts() {
		for _, x := range h.Culprits {
			if !slices.ContainsFunc(found, func(o queue.Culprit) bool { return o.Commit == x.Commit }) {
				found, began = append(found, x), h.Began
			}
		}
		builds += h.Builds
	}
	right := len(found) == 1 && found[0].Commit == d.line[d.bad].id
	switch {
	case right:
		slowest := slices.Max(d.took[:])
		out.Right++
		out.Builds = append(out.Builds, builds)
		out.Spans = append(out.Spans, found[0].Found.Sub(began).Minutes()/slowest)
		out.Pushed = append(out.Pushed, found[0].Found.Sub(d.pushed).Minutes()/slowest)
		if r := found[0].Revert; r != nil && r.State == queue.RevertProven {
			out.Reverts++
			out.Proven = append(out.Proven, d.proven.Sub(began).Minutes()/slowest)
		}
	case len(found) > 0:
		out.Wrong++
	}
}
