package app_test

import (
	"context"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/intake"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// redisServer is a real redis-server that keeps what it has acknowledged, and
// can be taken away.
type redisServer struct {
	*testing.T
	program, dir, port string
	cmd                *exec.Cmd
}

func newRedis(t *testing.T) *redisServer {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	storetest.Need(t, "redis", err == nil)
	l := must(net.Listen("tcp", "127.0.0.1:0"))
	r := &redisServer{T: t, program: program, dir: t.TempDir(), port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
	mustNot(t, l.Close())
	r.start()
	t.Cleanup(r.kill)
	return r
}

func (r *redisServer) start() {
	r.Helper()
	r.cmd = exec.Command(r.program, "-")
	r.cmd.Stdin = strings.NewReader(strings.Join([]string{"bind 127.0.0.1", "port " + r.port, "dir " + r.dir, `save ""`,
		"appendonly yes", "appendfsync always", "loglevel warning"}, "\n") + "\n")
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
}

func (r *redisServer) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	_ = r.cmd.Wait()
}

// open waits until the server answers.
func (r *redisServer) open() *redisstore.Store {
	r.Helper()
	for end := time.Now().Add(patience); ; {
		s, err := redisstore.Open(context.Background(), redisstore.Options{URL: "redis://127.0.0.1:" + r.port})
		if err == nil {
			r.Cleanup(func() { _ = s.Close() })
			return s
		}
		if time.Now().After(end) {
			r.Fatal(err)
		}
	}
}

// recorder notes what comes into the inbox.
type recorder struct {
	intake.Appender
	bodies []string
}

func (r *recorder) Append(ctx context.Context, q string, events ...queue.Event) error {
	if err := r.Appender.Append(ctx, q, events...); err != nil {
		return err
	}
	for _, e := range events {
		r.bodies = append(r.bodies, e.Body.(queue.Commented).Body)
	}
	return nil
}

func TestLandOnRedis(t *testing.T) {
	h := newHub(t, hubOptions{store: newRedis(t).open(), files: areas()})
	good, bad := h.land("good", map[string]string{"api/a": "a\n"}), h.land("bad", map[string]string{"web/bad": "bad\n"})
	h.landed(good)
	h.rejected(bad, "web is bad")
}

// TestRedisAway takes Redis away while webhooks arrive: they are acknowledged
// and kept on disk, and once it is back everything happens, in order.
func TestRedisAway(t *testing.T) {
	r := newRedis(t)
	h := newHub(t, hubOptions{store: r.open()})
	h.proven()
	changed, mind := h.pull("changed", map[string]string{"a": "a\n"}), h.pull("mind", map[string]string{"b": "b\n"})
	h.seen()

	r.kill()
	h.Comment("ann", changed, "/land")
	h.Comment("ann", mind, "/land")
	h.Comment("ann", mind, "/land cancel")
	mustNot(t, h.github.WaitDelivered(t.Context()))
	for _, d := range h.github.Deliveries() {
		if d.StatusCode != http.StatusAccepted {
			t.Errorf("%s was answered %d", d.Event, d.StatusCode)
		}
	}
	if got := h.spool.Len(); got != 3 {
		t.Errorf("%d deliveries in the spool, want 3", got)
	}
	h.counted(`submitqueue_webhooks_total{event="issue_comment",result="spooled"} 3`)
	if _, err := intake.Drain(t.Context(), h.spool, h.store, h.log); err == nil || h.spool.Len() != 3 {
		t.Errorf("drained into nothing: %v", err)
	}

	r.start()
	r.open()
	order := &recorder{Appender: h.store}
	for h.spool.Len() > 0 {
		if _, err := intake.Drain(t.Context(), h.spool, order, h.log); err != nil {
			t.Log(err) // the pool of connections has to notice
		}
	}
	if got, want := strings.Join(order.bodies, ", "), "/land, /land, /land cancel"; got != want {
		t.Errorf("taken in as %s, want %s", got, want)
	}
	h.landed(changed)
	h.settled(mind)
	h.seen()
	h.quiet()
	h.Comments(mind)
	if res := must(http.Get("http://" + h.server.Addr() + "/readyz")); res.StatusCode != 200 {
		t.Errorf("not ready: %s", res.Status)
	}
}
