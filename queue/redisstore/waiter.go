package redisstore

import (
	"context"
	"errors"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"
)

// errClosed is the error of a wait on a closed store.
var errClosed = errors.New("redisstore: closed")

// waiters are the clients that block. Each is used by one caller at a time, so
// that no blocked command holds up another, and can be interrupted: go-redis
// itself does not end a blocked read when the context does.
type waiters struct {
	dial   dialer
	mu     sync.Mutex
	idle   []*waiter
	all    map[*waiter]struct{}
	closed bool
}

type waiter struct {
	client redis.UniversalClient
	conns  *tracker
}

func newWaiters(dial dialer) *waiters {
	return &waiters{dial: dial, all: map[*waiter]struct{}{}}
}

func (ws *waiters) get() (*waiter, error) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.closed {
		return nil, errClosed
	}
	if n := len(ws.idle); n > 0 {
		w := ws.idle[n-1]
		ws.idle = ws.idle[:n-1]
		return w, nil
	}
	w := &waiter{conns: &tracker{open: map[net.Conn]struct{}{}}}
	w.client = ws.dial(w.conns)
	ws.all[w] = struct{}{}
	return w, nil
}

// put keeps a waiter for the next caller.
func (ws *waiters) put(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if !ws.closed {
		ws.idle = append(ws.idle, w)
	}
}

// drop forgets a waiter with a broken or interrupted connection.
func (ws *waiters) drop(w *waiter) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
	_ = w.client.Close() // its errors no longer matter
}

func (ws *waiters) close() error {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.closed = true
	var errs []error
	for w := range ws.all {
		w.interrupt()
		errs = append(errs, w.client.Close())
	}
	clear(ws.all)
	return errors.Join(errs...)
}

// interrupt breaks the waiter for good: all its reads and dials fail from now on.
func (w *waiter) interrupt() { w.conns.closeAll() }

// tracker knows the open connections of one client.
type tracker struct {
	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func (t *tracker) dialer(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.closed {
			return nil, errors.Join(errClosed, conn.Close())
		}
		t.open[conn] = struct{}{}
		return &trackedConn{Conn: conn, tracker: t}, nil
	}
}

func (t *tracker) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for conn := range t.open {
		_ = conn.Close() // its reader sees and reports the error
	}
	clear(t.open)
}

// trackedConn forgets itself when it is closed.
type trackedConn struct {
	net.Conn
	tracker *tracker
}

// Close implements net.Conn. Closing an interrupted connection is no error.
func (c *trackedConn) Close() error {
	c.tracker.mu.Lock()
	delete(c.tracker.open, c.Conn)
	c.tracker.mu.Unlock()
	if err := c.Conn.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
