package app

import (
	"context"
	"fmt"
	"iter"
	"runtime/debug"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation"
	"github.com/submitqueue/submitqueue/workers"
)

// turns makes one owner's turns, one after the other.
type turns struct {
	*Owner
	core    *speculation.Core
	version int64
	token   int64
	do      *performer
	wake    queue.Instant
	read    bool // the target branch, in this ownership

	swept    *config.Config // the open pull requests have been listed by the rules of `auto` of this configuration
	equipped *config.Config // the workers know the environments of this configuration's steps
}

// maxBatch bounds the events of one turn, so that a burst does not delay what
// the first of them ask for.
const maxBatch = 512

func (t *turns) run(ctx context.Context, arrived <-chan []queue.Arrived, lost <-chan error) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		timer.Reset(t.untilWake())
		var events []queue.Event
		var eaten []string
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-lost:
			return err
		case e := <-t.events:
			events = append(events, e)
		case batch := <-arrived:
			for _, a := range batch {
				events, eaten = append(events, a.Event), append(eaten, a.Cursor)
			}
		case <-t.window.wanted:
			t.serve()
			continue
		case <-timer.C:
			if t.overdue() {
				continue
			}
			events = append(events, t.stamp(queue.Event{ID: "tick", Body: queue.Tick{}}))
		}
		for more := true; more && len(events) < maxBatch; {
			select {
			case e := <-t.events:
				events = append(events, e)
			default:
				more = false
			}
		}
		if err := t.make(ctx, events, eaten); err != nil {
			return err
		}
	}
}

func (t *turns) untilWake() time.Duration {
	wait := time.Minute
	if t.wake != 0 {
		wait = min(max(t.wake.Sub(queue.At(t.Now())), time.Millisecond), wait)
	}
	if t.window.behind.Load() {
		wait = min(wait, max(t.window.untilShow(), time.Millisecond))
	}
	return wait
}

// overdue publishes what turns have not published yet, when it is time for that, and reports
// whether it was time.
func (t *turns) overdue() bool {
	if !t.window.behind.Load() || t.window.untilShow() > 0 {
		return false
	}
	t.turning.Lock()
	defer t.turning.Unlock()
	t.publish()
	return true
}

// make is one turn: fold, settle and plan; store; only then act. On an error
// the core is not to be used again, and the events of this process are kept
// for the next one.
func (t *turns) make(ctx context.Context, events []queue.Event, eaten []string) error {
	began := time.Now()
	now := queue.At(t.Now())
	if t.core.Astray(now) {
		t.giveBack(events, eaten)
		return fmt.Errorf("the clock of this server has been set back by about %v", t.core.Ahead(now).Round(time.Second))
	}
	ahead := t.core.Ahead(now)
	for i := range events { // a replica's clock may run ahead, and time does not go back
		events[i].At = min(events[i].At, now)
		events[i].Body = moved(events[i].Body, ahead)
	}
	turn, write, err := t.step(ctx, events, eaten)
	if err != nil {
		t.giveBack(events, eaten)
		return err
	}
	t.noteRead(events)
	t.wake = turn.Wake
	t.Metrics.RecordTurn(t.Called(), time.Since(began), len(write.Put)+len(write.Delete))
	t.count(turn)
	t.do.end(turn.Ended)
	t.do.pace.stir(t.core)
	t.do.passes.reached(events)
	t.equip()
	t.list()
	actions := make([]*queue.Action, len(turn.Actions))
	for i := range turn.Actions {
		actions[i] = &turn.Actions[i]
	}
	for _, n := range turn.Notes {
		if queue.Phase(n.What).Final() {
			t.do.pace.hurry(n.Number)
		}
		if n.What == "entered" {
			t.do.pace.enter(n.Change)
		}
	}
	t.Neighbors.tell(t.Owner, events, turn.Notes)
	t.do.start(ctx, actions)
	if t.Observer != nil {
		t.Observer(turn)
	}
	return nil
}

// step folds events into the core and stores the resulting turn. On an error the core
// is dropped, because it is then ahead of the stored state. A panic is an error, too:
// the queue begins again from the stored state, and no other queue stops.
func (t *turns) step(ctx context.Context, events []queue.Event, eaten []string) (turn speculation.Turn, write queue.Turn, err error) {
	t.turning.Lock()
	defer t.turning.Unlock()
	defer func() {
		if r := recover(); r != nil {
			t.Metrics.turnPanics.WithLabelValues(t.Called()).Inc()
			t.Log.Error("a turn panicked", "queue", t.Called(), "panic", fmt.Sprint(r), "stack", string(debug.Stack()))
			err = fmt.Errorf("a fault of SubmitQueue, please report it with the server's log: %v", r)
		}
		if err != nil {
			t.core, t.Owner.core = nil, nil
		}
	}()
	turn = speculation.Step(t.core, events)
	if write, err = t.encode(turn, eaten); err != nil {
		return turn, write, fmt.Errorf("storing a turn: %w", err)
	}
	if len(write.Put)+len(write.Delete)+len(write.Eaten)+len(write.Notes)+len(write.Rows) > 0 {
		since := time.Now()
		t.window.writing.Store(&since)
		err = t.Store.Commit(ctx, write)
		t.window.writing.Store(nil)
		if err != nil {
			t.Metrics.RecordStoreError("commit")
			return turn, write, fmt.Errorf("storing a turn: %w", err)
		}
		t.version++
		t.reached = t.version
	}
	t.publish()
	return turn, write, nil
}

// equip says which tools the steps in force depend on.
func (t *turns) equip() {
	e, ok := t.Workers.(workers.Equipped)
	c := t.core.State().Main.Config
	if !ok || c == nil || c == t.equipped {
		return
	}
	t.equipped = c
	e.Environments(queue.EnvironmentsOf(c.Steps))
}

// list has the open pull requests listed where rules of `auto` are new.
func (t *turns) list() {
	c := t.core.State().Main.Config
	if c == nil || c == t.swept {
		return
	}
	news := len(c.Queue.Auto) > 0 && (t.swept == nil || t.swept.Queue.AutoText() != c.Queue.AutoText())
	t.swept = c
	if news {
		select {
		case t.again <- struct{}{}:
		default:
		}
	}
}

// noteRead finds in a turn's events that the target branch has been read, which makes
// the queue ready, or why it cannot be read. While the forge is away, the state's
// knowledge of the branch has to do.
func (t *turns) noteRead(events []queue.Event) {
	if t.read {
		return
	}
	for _, e := range events {
		switch b := e.Body.(type) {
		case queue.Observed:
			t.read = true
		case queue.Renamed:
			t.read = t.core.State().Main.Tip != "" // with its new name, it will be read; or it is waited for
		case queue.Failed:
			if !strings.HasPrefix(b.Action, "observe/") {
				continue
			}
			t.read = t.core.State().Main.Tip != ""
			t.setReady(fmt.Errorf("starting: %s cannot be read: %s", t.core.State().Main.Branch, b.Error))
		}
	}
	if t.read {
		t.setReady(nil)
	}
}

// giveBack keeps events that only this process has; events of the inbox are still in
// it, and what each ownership begins with would be kept once more by each that fails.
func (t *turns) giveBack(events []queue.Event, eaten []string) {
	if len(eaten) > 0 {
		events = events[len(eaten):]
	}
	for _, e := range events {
		if _, tick := e.Body.(queue.Tick); !tick && !t.toldAnew(e.Body) {
			t.kept = append(t.kept, e)
		}
	}
}

func (t *turns) encode(turn speculation.Turn, eaten []string) (queue.Turn, error) {
	w := queue.Turn{Queue: t.Queue, Token: t.token, Version: t.version, Eaten: eaten, Archive: turn.Archive, Notes: turn.Notes, Rows: turn.Rows}
	for _, ref := range turn.Changed {
		r, ok, err := t.core.State().Encode(ref)
		switch {
		case err != nil:
			return w, err
		case ok:
			w.Put = append(w.Put, r)
		default:
			w.Delete = append(w.Delete, ref)
		}
	}
	return w, nil
}

func (t *turns) count(turn speculation.Turn) {
	t.turning.Lock()
	defer t.turning.Unlock()
	s := t.core.State()
	for _, n := range turn.Notes {
		switch {
		case n.What == "parked":
			t.Metrics.RecordPark(t.Called(), n.Reason.Code)
			switch n.Reason.Code {
			case queue.ReasonInfra, queue.ReasonNoTool, queue.ReasonNoRunner, queue.ReasonNoCheck, queue.ReasonStuck: // what an operator mends, and no author
				_, why := texts.Words{}.Note(queue.Change{}, n)
				t.Log.Warn("parked", "queue", t.Called(), "change", n.Change, "pull", n.Number, "reason", n.Reason.Code, "detail", why)
			}
		case queue.Phase(n.What).Final():
			if ch := s.Changes[n.Change]; ch != nil {
				t.Metrics.RecordVerdict(t.Called(), *ch)
				t.Log.Info("verdict", "queue", t.Called(), "change", ch.ID, "pull", ch.Number, "verdict", n.What,
					"reason", n.Reason.Code, "commit", n.Commit, "took", ch.Decided.Sub(ch.Arrival))
			}
		case n.What == "upgrade-begun" || n.What == "upgrade-unknown" || n.What == "upgraded" || n.What == "analyzer":
			what, more := texts.Words{}.Note(queue.Change{}, n)
			t.Log.Info(what, "queue", t.Called(), "commit", n.Commit, "detail", more)
		case n.What == "host-benched" || n.What == "host-back":
			what, more := texts.Words{}.Note(queue.Change{}, n)
			t.Log.Warn(what, "queue", t.Called(), "detail", more)
		case n.What == "entered" || n.What == "forced" || n.What == "outside" || n.What == "refused" || n.What == "declined" || n.What == "lost-race" || n.What == "away" || n.What == "back" || n.What == "renamed" || n.What == "drift" || n.What == "drift-over" || n.What == "quarantine-over":
			t.Log.Info(n.What, "queue", t.Called(), "change", n.Change, "pull", n.Number, "commit", n.Commit, "detail", n.Reason.Detail)
		}
	}
}

func mapValues[K comparable, V any](m map[K]V) iter.Seq[V] {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}

// moved shifts the times of a result to a core's time that is ahead of the server's clock.
// Else a run of a build would seem to have ended before the build was asked for.
func moved(b queue.Body, ahead time.Duration) queue.Body {
	if r, ok := b.(queue.JobDone); ok && ahead > 0 && r.Ended != 0 {
		r.Began, r.Ended = r.Began.Add(ahead), r.Ended.Add(ahead)
		return r
	}
	return b
}
