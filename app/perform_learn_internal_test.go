package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// lived is the event archive of a queue whose changes of many lines fail, and whose builds take
// longer the more targets they have.
func lived(changes int) (rows []queue.Row) {
	r := rand.New(rand.NewPCG(1, 2))
	at := queue.At(time.Now()).Add(-time.Duration(changes) * 10 * time.Minute)
	for i := range changes {
		id, lines, targets := queue.ChangeID(fmt.Sprintf("%d.aa", i+1)), math.Exp(5*r.Float64()), float64(1+r.IntN(50))
		build := queue.BuildID(fmt.Sprint("b", i))
		took := queue.Instant(1000 * (20 + 10*targets) * math.Exp(0.1*r.NormFloat64()))
		v := &queue.VerdictRow{Change: id, Arrival: at, Outcome: queue.Landed}
		if r.Float64() < 0.7*math.Log(lines)/5 {
			v.Outcome, v.Reason = queue.Rejected, queue.ReasonFailed
		}
		rows = append(rows,
			queue.Row{At: at, Arrival: &queue.ArrivalRow{Change: id, Number: i + 1, Arrival: at, Affected: int(targets),
				Features: queue.Features{"lines_added": lines, "affected": targets}}},
			queue.Row{At: at + took, Build: &queue.BuildRow{Build: build, Change: id, Asked: at, Started: at, Outcome: queue.JobPassed,
				Steps: []queue.StepRow{{Step: "test", Targets: int(targets)}}}},
			queue.Row{At: at + took + 1, Verdict: v})
		at += 600_000
	}
	return rows
}

func learn(t *testing.T, w *twiceWorld) queue.Learnt {
	t.Helper()
	return w.carry(w.process(), queue.Learn{Version: 1, Cause: queue.LearnFirst})[0].(queue.Learnt)
}

// A queue learns of what its server has archived, a page of the store at a time, and what it
// learns can be read again.
func TestLearnFromTheArchive(t *testing.T) {
	w := newTwiceWorld(t, origin(t))
	if got := learn(t, w); got.Model != nil || got.Why == "" {
		t.Fatalf("of nothing it learns %+v", got)
	}
	must2(0, w.store.Keep(t.Context(), "q", lived(400)))(t)
	got := learn(t, w)
	if m := got.Model; m == nil || m.Changes != 400 || !m.Good.Used || !m.Took.Used || m.Version != 1 || m.Cause != queue.LearnFirst || len(m.Good.Figures) < 3 {
		t.Fatalf("%+v, %s", got.Model, got.Why)
	}
	if err := json.Unmarshal([]byte(got.Model.Text), new(predict.Trained)); err != nil {
		t.Error(err)
	}
}

// The end of a long archive is kept.
func TestWithoutOldest(t *testing.T) {
	rows := lived(10)
	left := withoutOldest(rows, 4)
	arrivals := 0
	for _, r := range left {
		if r.Arrival != nil {
			arrivals++
		}
	}
	if arrivals != 6 || left[len(left)-1].Verdict.Change != "10.aa" {
		t.Errorf("%d arrivals are left", arrivals)
	}
	if left := withoutOldest(rows, 11); left != nil {
		t.Errorf("%d rows are left", len(left))
	}
}

// Queues of a server learn one after the other; one that need not wait any longer has learned
// nothing.
func TestLearnOneAfterTheOther(t *testing.T) {
	w := newTwiceWorld(t, origin(t))
	p := w.process()
	p.Learner.place <- struct{}{} // another queue's
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := learning{p.ground}.learn(ctx, &queue.Action{Key: "k"}, queue.Learn{Version: 1})
			done <- err
		}()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	})
	<-p.Learner.place
}

// A panic in the thread that gives way is an error, and not the end of the server.
func TestCalmly(t *testing.T) {
	if _, err := calmly(func() (int, error) { panic("no") }); err == nil {
		t.Error("a panic is no error")
	}
	if n, err := calmly(func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Error(n, err)
	}
}

// An import comes behind the queue's own rows in the archive, though it is older. It pushes none of
// them out, and what it says of a change that has been corrected since does not count.
func TestLearnAfterAnImport(t *testing.T) {
	w := newTwiceWorld(t, origin(t))
	p := learning{w.process().ground}
	now := queue.At(time.Now())
	own := []queue.Row{
		{At: now - 5, Arrival: &queue.ArrivalRow{Change: "9.own", Number: 9, Arrival: now - 5}},
		{At: now - 4, Verdict: &queue.VerdictRow{Change: "9.own", Outcome: queue.Cancelled, Reason: queue.ReasonClosed}},
		{At: now - 3, Verdict: &queue.VerdictRow{Change: "9.own", Outcome: queue.Landed}}, // as main has shown
	}
	imported := append([]queue.Row(nil), own[:2]...) // an export that was made meanwhile
	for i := range mostLearned + mostLearned/10 + 10 {
		at := now - 10_000_000 + queue.Instant(i)
		imported = append(imported, queue.Row{At: at, Arrival: &queue.ArrivalRow{Change: queue.ChangeID(fmt.Sprint("old", i)), Arrival: at}})
	}
	must2(0, w.store.Keep(t.Context(), "q", own))(t)
	must2(0, w.store.Keep(t.Context(), "q", imported))(t)
	rows, err := p.archived(t.Context(), w.store)
	if err != nil {
		t.Fatal(err)
	}
	samples := predict.Samples(rows)
	if last := samples[len(samples)-1]; last.Change != "9.own" || !last.Landed {
		t.Errorf("of %d changes the last is %+v, want the queue's own, which has landed", len(samples), last)
	}
}
