package workers

import (
	"context"
	"sync"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// events is an unbounded queue in front of a channel: put never waits.
type events struct {
	out  chan queue.Body
	quit chan struct{} // closed: deliver nothing more
	done chan struct{} // closed by the pump when out is closed

	mu      sync.Mutex
	waiting []queue.Body
	sealed  bool
	wake    chan struct{} // holds a token when waiting or sealed has changed
}

func newEvents() *events {
	e := &events{
		out:  make(chan queue.Body),
		quit: make(chan struct{}),
		done: make(chan struct{}),
		wake: make(chan struct{}, 1),
	}
	go e.pump()
	return e
}

// put adds events; after close it drops them.
func (e *events) put(bodies ...queue.Body) {
	e.mu.Lock()
	if !e.sealed {
		e.waiting = append(e.waiting, bodies...)
	}
	e.mu.Unlock()
	e.nudge()
}

func (e *events) nudge() {
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

func (e *events) pump() {
	defer close(e.done)
	defer close(e.out)
	for {
		e.mu.Lock()
		batch, sealed := e.waiting, e.sealed
		e.waiting = nil
		e.mu.Unlock()
		for _, b := range batch {
			select {
			case e.out <- b:
			case <-e.quit:
				return
			}
		}
		if len(batch) > 0 {
			continue
		}
		if sealed {
			return
		}
		<-e.wake
	}
}

// close delivers waiting events to a reader that takes them within a second and before ctx
// ends, drops the rest, and closes the channel. It is called once.
func (e *events) close(ctx context.Context) {
	e.mu.Lock()
	e.sealed = true
	e.mu.Unlock()
	e.nudge()
	limit := time.NewTimer(time.Second)
	defer limit.Stop()
	select {
	case <-e.done:
		return
	case <-ctx.Done():
	case <-limit.C:
	}
	close(e.quit)
	<-e.done
}
