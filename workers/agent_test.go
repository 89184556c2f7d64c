package workers

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// shaky is a Source that fails first, then hands out one build and loses its
// lease, then closes.
type shaky struct {
	asked int
	ends  []End
}

func (s *shaky) Next(context.Context, Agent) (Assignment, error) {
	s.asked++
	switch s.asked {
	case 1:
		return Assignment{}, errors.New("connection refused")
	case 2:
		return Assignment{Lease: 1, Build: build("b1", job(step("true"), ".")), Beat: time.Millisecond}, nil
	}
	return Assignment{}, ErrClosed
}

func (s *shaky) Return(Lease) {}

func (s *shaky) Report(_ context.Context, _ Lease, r Report) error {
	if r.End != nil {
		s.ends = append(s.ends, *r.End)
	}
	return ErrLost
}

// patient is a Builder that builds until it is cancelled.
type patient struct{ building chan struct{} }

func (p patient) Build(ctx context.Context, _ queue.Build, out Output) End {
	close(p.building)
	<-ctx.Done()
	return End{Outcome: queue.JobStopped}
}

func TestWorkerAbandonsALostLease(t *testing.T) {
	t.Parallel()
	s := &shaky{}
	w := Worker{Source: s, Agent: Agent{Name: "a"}, Builder: patient{make(chan struct{})}, Log: quiet()}
	w.Serve(t.Context()) // returns, though the builder waits for ever
	if s.asked != 3 || len(s.ends) != 1 || s.ends[0].Outcome != queue.JobStopped {
		t.Errorf("asked %d times, ends %+v", s.asked, s.ends)
	}
}

func TestWorkerThatIsShutDownSaysSo(t *testing.T) {
	t.Parallel()
	p, rec := bare(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	b := patient{make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		Worker{Source: p, Agent: Agent{Name: "a"}, Builder: b, Log: quiet()}.Serve(ctx)
	}()
	until(t, "capacity 1", func() bool { return contains(rec, 1) })
	mustRun(t, p, build("b1", job(step("true"), ".")), "run/b1/1")
	<-b.building
	cancel()
	if d := rec.done(t, 1); d.Outcome != queue.JobInfra {
		t.Errorf("%+v", d)
	}
	<-served
}

// instant is a Builder whose builds end at once.
type instant struct{}

func (instant) Build(context.Context, queue.Build, Output) End {
	return End{Outcome: queue.JobPassed}
}

// A worker that could not build, since its disk is full, leaves builds to others, or to
// later: each that it took would be lost to the change.
func TestWorkerThatIsNotReadyTakesNoBuilds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, rec := bare(t, time.Hour)
		var full atomic.Bool
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan struct{})
		go func() {
			defer close(served)
			Worker{Source: p, Agent: Agent{Name: "a"}, Builder: instant{}, Log: quiet(), Unready: func() string {
				if full.Load() {
					return "disk full"
				}
				return ""
			}}.Serve(ctx)
		}()
		synctest.Wait() // it asks
		full.Store(true)
		time.Sleep(2 * readyEvery)
		mustRun(t, p, build("b1", job(step("true"), ".")), "run/b1/1")
		time.Sleep(time.Minute)
		if d := eventsOf[queue.BuildDone](rec); len(d) > 0 {
			t.Errorf("it has taken a build: %+v", d)
		}
		full.Store(false)
		time.Sleep(2 * readyEvery)
		synctest.Wait()
		if d := eventsOf[queue.BuildDone](rec); len(d) != 1 {
			t.Errorf("with room again: %+v", d)
		}
		cancel()
		<-served
	})
}
