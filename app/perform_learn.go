package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Learner is where the queues of one server wait to learn: one queue learns at a time, in
// a thread that gives way to all others.
type Learner struct{ place chan struct{} }

// NewLearner returns a learner for the queues of a server.
func NewLearner() *Learner { return &Learner{make(chan struct{}, 1)} }

// Bounds of the history that is learned from.
const (
	mostLearned = 20_000 // changes, the latest
	learnPage   = 500    // rows that the store is asked for at once
)

// learning carries out queue.Learn.
type learning struct{ *ground }

// learn makes a model from the event archive.
func (p learning) learn(ctx context.Context, a *queue.Action, t queue.Learn) (queue.Body, error) {
	past, ok := p.Store.(queue.Past)
	if !ok {
		return queue.Learnt{Action: a.Key, Why: "the store keeps no event archive"}, nil
	}
	return inTurn(ctx, p.Learner.place, func() (queue.Body, error) {
		rows, err := p.archived(ctx, past)
		if err != nil {
			return nil, err
		}
		m, err := calmly(func() (*queue.Model, error) {
			return predict.Learn(rows, t, a.At, predict.TrainOptions{Stages: learnStages, Pause: func() error {
				runtime.Gosched()
				return ctx.Err()
			}})
		})
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return queue.Learnt{Action: a.Key, Why: err.Error()}, nil
		}
		p.Log.Info("a model was learned", "queue", p.Called(), "version", m.Version, "cause", m.Cause, "changes", m.Changes,
			"chances", m.Good.Used, "durations", m.Took.Used)
		return queue.Learnt{Action: a.Key, Model: m}, nil
	})
}

// learnStages bounds a model of durations, and with it the record of the state that holds it.
const learnStages = 300

// archived returns the rows of the archive that models are made from, about the latest
// mostLearned changes, with only the fields that are used. They are in the order of time, in which
// an import is not stored: it would push out the queue's own changes, and take back what has been
// said of them since.
func (p learning) archived(ctx context.Context, past queue.Past) (rows []queue.Row, err error) {
	arrivals := 0
	for place := ""; ; {
		page, next, err := past.Rows(ctx, p.Queue, place, learnPage)
		if err != nil {
			return nil, fmt.Errorf("reading the event archive: %w", err)
		}
		if next == place {
			return inTime(rows), nil
		}
		place = next
		for _, r := range page {
			if r, ok := predict.Slim(r); ok {
				rows = append(rows, r)
				if r.Arrival != nil {
					arrivals++
				}
			}
		}
		if drop := arrivals - mostLearned; drop > mostLearned/10 {
			rows, arrivals = withoutOldest(inTime(rows), drop), mostLearned
		}
	}
}

// inTime puts rows into the order of time; rows of one moment keep their order.
func inTime(rows []queue.Row) []queue.Row {
	slices.SortStableFunc(rows, func(a, b queue.Row) int { return cmp.Compare(a.At, b.At) })
	return rows
}

// withoutOldest drops the rows up to and with the first n arrivals.
func withoutOldest(rows []queue.Row, n int) []queue.Row {
	for i, r := range rows {
		if r.Arrival != nil {
			if n--; n == 0 {
				return append([]queue.Row(nil), rows[i+1:]...)
			}
		}
	}
	return nil
}

// calmly calls f in a thread of the lowest priority, which ends with it. A panic of it is an
// error.
func calmly[T any](f func() (T, error)) (out T, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if r := recover(); r != nil {
				err = errors.Join(err, fmt.Errorf("internal error: %v\n%s", r, debug.Stack()))
			}
		}()
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		giveWay()
		out, err = f()
	}()
	<-done
	return out, err
}
