package redisstore_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/submitqueue/submitqueue/queue/storetest"
)

// startRedis runs a real redis-server for the test and returns its URL. The
// lines are added to its configuration; by default it keeps nothing on disk.
func startRedis(t testing.TB, lines ...string) string {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	storetest.Need(t, "redis", err == nil)
	dir := t.TempDir()
	for range 5 { // another process may take the port before the server does
		port := mustFreePort(t)
		config := append([]string{"bind 127.0.0.1", "port " + port, "dir " + dir, `save ""`, "loglevel warning"}, lines...)
		cmd := exec.Command(program, "-")
		cmd.Stdin = strings.NewReader(strings.Join(config, "\n") + "\n")
		out := new(strings.Builder)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		exited := make(chan struct{})
		go func() {
			defer close(exited)
			_ = cmd.Wait() // killed below, or shown below
		}()
		if answers(t, "127.0.0.1:"+port, exited) {
			t.Cleanup(func() {
				_ = cmd.Process.Kill()
				<-exited
			})
			return "redis://127.0.0.1:" + port
		}
		<-exited
		t.Logf("redis-server on port %s: %s", port, out)
	}
	t.Fatal("redis-server does not start")
	return ""
}

func mustFreePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// answers waits until the server answers or has exited.
func answers(t testing.TB, addr string, exited <-chan struct{}) bool {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1})
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		if client.Ping(ctx).Err() == nil {
			return true
		}
		select {
		case <-exited:
			return false
		case <-time.After(5 * time.Millisecond):
		}
	}
	t.Fatal("redis-server does not answer")
	return false
}

// admin returns a plain client of a server.
func admin(t testing.TB, url string) *redis.Client {
	t.Helper()
	opts, err := redis.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	client := redis.NewClient(opts)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func mustFlush(t testing.TB, url string) {
	t.Helper()
	if err := admin(t, url).FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
}

// mustClaimSlots makes a server a whole cluster.
func mustClaimSlots(t testing.TB, url string) {
	t.Helper()
	client := admin(t, url)
	if err := client.ClusterAddSlotsRange(t.Context(), 0, 16383).Err(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(3 * time.Minute); ; {
		info, err := client.ClusterInfo(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(info, "cluster_state:ok") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(info)
		}
	}
}
