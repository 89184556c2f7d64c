package main

import (
	"bufio"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/app/api"
	"github.com/submitqueue/submitqueue/queue/redisstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

// frailRedis is a redis-server of an operator, which loses what it has acknowledged.
type frailRedis struct {
	*testing.T
	dir, port string
	cmd       *exec.Cmd
}

func newFrailRedis(t *testing.T) *frailRedis {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	storetest.Need(t, "redis", err == nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &frailRedis{T: t, dir: t.TempDir(), port: strconv.Itoa(l.Addr().(*net.TCPAddr).Port)}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	r.start()
	t.Cleanup(r.kill)
	return r
}

func (r *frailRedis) start() {
	r.Helper()
	r.cmd = exec.Command("redis-server", "-")
	r.cmd.Stdin = strings.NewReader(strings.Join([]string{"bind 127.0.0.1", "port " + r.port, "dir " + r.dir, `save ""`,
		"appendonly yes", "appendfsync always", "aof-load-truncated yes", "auto-aof-rewrite-percentage 0", "loglevel warning"}, "\n") + "\n")
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
}

func (r *frailRedis) kill() {
	_ = r.cmd.Process.Kill() // it may have ended
	_ = r.cmd.Wait()
}

func (r *frailRedis) url() string { return "redis://127.0.0.1:" + r.port }

// open waits until the server answers.
func (r *frailRedis) open() {
	r.Helper()
	for end := time.Now().Add(3 * time.Minute); ; {
		s, err := redisstore.Open(context.Background(), redisstore.Options{URL: r.url()})
		if err == nil {
			_ = s.Close() // only to see that it can be had
			return
		}
		if time.Now().After(end) {
			r.Fatal(err)
		}
	}
}

// written returns the file that each write is added to, and its size.
func (r *frailRedis) written() (path string, size int64) {
	r.Helper()
	files, err := filepath.Glob(filepath.Join(r.dir, "append*", "*.incr.aof"))
	if err != nil || len(files) != 1 {
		files = []string{filepath.Join(r.dir, "appendonly.aof")} // of a Redis before 7
	}
	info, err := os.Stat(files[0])
	if err != nil {
		r.Fatal(err)
	}
	return files[0], info.Size()
}

// rollBack takes away what was written since the file had a size, as a power failure or a
// fail-over to a replica does.
func (r *frailRedis) rollBack(size int64) {
	r.Helper()
	r.kill()
	path, now := r.written()
	if now <= size {
		r.Fatalf("nothing was written since: %d bytes, %d before", now, size)
	}
	if err := os.Truncate(path, size); err != nil {
		r.Fatal(err)
	}
	r.start()
	r.open()
}

// empty takes away all.
func (r *frailRedis) empty() {
	r.Helper()
	c, err := net.Dial("tcp", "127.0.0.1:"+r.port)
	if err != nil {
		r.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write([]byte("FLUSHALL\r\n")); err != nil {
		r.Fatal(err)
	}
	if said, err := bufio.NewReader(c).ReadString('\n'); err != nil || said != "+OK\r\n" {
		r.Fatalf("FLUSHALL: %q, %v", said, err)
	}
}

// newGated has tests of changes that wait until they are let through.
func newGated(t *testing.T, branches int) (c *crashed, open func()) {
	gate := filepath.Join(t.TempDir(), "gate")
	c = newCrashedWith(t, branches, "case \"$(ls)\" in *good-*|*bad-*) while ! test -e '"+gate+"'; do sleep 0.05; done;; esac\n")
	return c, func() {
		if err := os.WriteFile(gate, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Redis forgets under a living server that builds have ended: their ends are told once
// more, so that what waits has their slots.
func TestRedisIsRolledBack(t *testing.T) {
	t.Parallel()
	redis := newFrailRedis(t)
	redis.open()
	const branches = 5
	c, open := newGated(t, branches)
	c.redis = redis.url()
	c.start()
	for n := range branches - 1 {
		c.ask(t.Context(), n)
	}
	c.until("all wait, and both runners are at work", func() bool {
		var q api.Queue
		return c.get("/api/queue", &q) == nil && len(q.MainBuilds) == 0 && q.Running == 2 && len(q.Order) == branches-1
	})
	_, size := redis.written()
	open()
	c.allDecided(branches - 1)

	redis.rollBack(size)
	c.ask(t.Context(), branches-1)
	c.allDecided(branches)
	c.checkMain(branches)
	if !strings.Contains(c.log.String(), "the store has lost what it had acknowledged") {
		t.Errorf("nothing is said of it:\n%s", tailOf(c.log.String(), 4000))
	}
}

// Redis is emptied under a living server that has just said that five branches will
// land: the queue knows its runners again, and finds what was asked at the forge.
func TestRedisIsEmptied(t *testing.T) {
	t.Parallel()
	redis := newFrailRedis(t)
	redis.open()
	const branches = 5
	c, open := newGated(t, branches) // what was decided before would be known to nobody
	c.redis = redis.url()
	c.start()
	c.until("the branch is proven", func() bool {
		var q api.Queue
		return c.get("/api/queue", &q) == nil && q.Proven && q.Slots == 2
	})
	for n := range branches {
		c.ask(t.Context(), n)
	}
	redis.empty()
	open()
	c.allDecided(branches)
	c.checkMain(branches)
	c.until("the runners are known", func() bool {
		var q api.Queue
		return c.get("/api/queue", &q) == nil && q.Slots == 2
	})
}
