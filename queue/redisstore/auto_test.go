//go:build unix

package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/redisstore"
	"github.com/submitqueue/submitqueue/queue/storetest"
)

func needRedis(t testing.TB) {
	t.Helper()
	_, err := exec.LookPath("redis-server")
	storetest.Need(t, "redis", err == nil)
}

type auto struct {
	*redisstore.Store
	close       func() error
	description string
	log         *bytes.Buffer
}

// mustAuto opens; the test need not close.
func mustAuto(t testing.TB, opts redisstore.AutoOptions) *auto {
	t.Helper()
	a := &auto{log: new(bytes.Buffer)}
	opts.Logger = slog.New(slog.NewTextHandler(a.log, nil))
	var err error
	var end func() error
	if a.Store, end, a.description, err = redisstore.Auto(t.Context(), opts); err != nil {
		t.Fatal(err)
	}
	open := true
	a.close = func() error {
		if !open {
			return nil
		}
		open = false
		return end()
	}
	t.Cleanup(func() {
		if err := a.close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

func TestAutoURL(t *testing.T) {
	url := startRedis(t)
	a := mustAuto(t, redisstore.AutoOptions{URL: strings.Replace(url, "redis://", "redis://:@", 1)})
	if want := strings.TrimPrefix(url, "redis://"); !strings.HasPrefix(a.description, "Redis ") || !strings.HasSuffix(a.description, " at "+want) {
		t.Errorf("description %q", a.description)
	}
	if warning := a.Durability(t.Context()); !strings.Contains(warning, "appendonly is off") {
		t.Errorf("warning %q", warning)
	}
}

// Writes that the private server has acknowledged are there after a restart,
// under any name of the folder; a second server on the folder is refused.
func TestAutoPrivate(t *testing.T) {
	needRedis(t)
	for name, dir := range map[string]string{
		"plain":   t.TempDir(),
		"hostile": filepath.Join(t.TempDir(), "a \"b\" 'c' #d %2F ?é\\x"),
		"long":    filepath.Join(t.TempDir(), strings.Repeat("long", 40)),
	} {
		t.Run(name, func(t *testing.T) {
			a := mustAuto(t, redisstore.AutoOptions{DataDir: dir})
			if !strings.HasPrefix(a.description, "private Redis ") || !strings.Contains(a.description, dir) {
				t.Errorf("description %q", a.description)
			}
			if warning := a.Durability(t.Context()); warning != "" {
				t.Errorf("warning %q", warning)
			}
			token, err := a.Acquire(t.Context(), "q", "me", time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			put := []queue.Record{{Ref: queue.Ref{Kind: queue.KindChange, ID: "c"}, Data: []byte("data")}}
			if err := a.Commit(t.Context(), queue.Turn{Queue: "q", Token: token, Put: put}); err != nil {
				t.Fatal(err)
			}

			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, _, _, err = redisstore.Auto(ctx, redisstore.AutoOptions{DataDir: dir})
			if want := fmt.Sprintf("in use by another server (process %d)", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("a second server: %v", err)
			}

			if err := a.close(); err != nil {
				t.Fatal(err)
			}
			a = mustAuto(t, redisstore.AutoOptions{DataDir: dir})
			records, version, err := a.Load(t.Context(), "q")
			if err != nil || version != 1 || len(records) != 1 || string(records[0].Data) != "data" {
				t.Errorf("after a restart: %v, version %d, %v", records, version, err)
			}
			if a.log.Len() > 0 {
				t.Errorf("logged:\n%s", a.log)
			}
		})
	}
}

// A private server that dies is started again, with what it had acknowledged.
func TestAutoPrivateDies(t *testing.T) {
	needRedis(t)
	a := mustAuto(t, redisstore.AutoOptions{DataDir: t.TempDir()})
	for i := range 3 {
		if err := a.Append(t.Context(), "q", queue.Event{ID: fmt.Sprint(i), Body: queue.Tick{}}); err != nil {
			t.Fatal(err)
		}
		waiting := make(chan error)
		go func() {
			_, err := a.Inbox(context.WithoutCancel(t.Context()), "other", "", 1, time.Minute)
			waiting <- err
		}()
		if err := syscall.Kill(mustServerPID(t, a.Store), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if err := <-waiting; err == nil {
			t.Error("a wait did not hear that the server died")
		}
		deadline := time.Now().Add(3 * time.Minute)
		for a.Ping(t.Context()) != nil {
			if time.Now().After(deadline) {
				t.Fatalf("the server does not come back:\n%s", a.log)
			}
		}
		if got, err := a.Inbox(t.Context(), "q", "", 10, 0); err != nil || len(got) != i+1 {
			t.Errorf("after death %d: %d events, %v", i+1, len(got), err)
		}
	}
	if err := a.close(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(a.log.String(), "is started again") {
		t.Errorf("logged:\n%s", a.log)
	}
}

func mustServerPID(t testing.TB, s *redisstore.Store) int {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(info, "process_id:")
	pid := 0
	if _, err := fmt.Sscan(rest, &pid); err != nil || pid <= 1 {
		t.Fatalf("process id in %q: %v", rest, err)
	}
	return pid
}

// A server that cannot start says why.
func TestAutoPrivateBroken(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\ncat >/dev/null\necho 'Bad directive'\nexit 3\n"
	if err := os.WriteFile(filepath.Join(bin, "redis-server"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":/bin:/usr/bin")
	dir := t.TempDir()
	for range 2 { // the second finds the folder unlocked
		_, _, _, err := redisstore.Auto(t.Context(), redisstore.AutoOptions{DataDir: dir, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), "Bad directive") {
			t.Errorf("error %v", err)
		}
	}
}

func TestAutoMemory(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	a := mustAuto(t, redisstore.AutoOptions{DataDir: t.TempDir()})
	if !strings.Contains(a.description, "a restart empties it") || !strings.Contains(a.log.String(), "a restart empties it") {
		t.Errorf("description %q, logged %q", a.description, a.log)
	}
	if warning := a.Durability(t.Context()); !strings.Contains(warning, "not known") {
		t.Errorf("warning %q", warning)
	}
	// Its leases expire although nobody moves its clock.
	if _, err := a.Acquire(t.Context(), "q", "a", 20*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(3 * time.Minute)
	for {
		_, err := a.Acquire(t.Context(), "q", "b", time.Hour)
		if err == nil {
			break
		}
		if !errors.Is(err, queue.ErrNotOwner) || time.Now().After(deadline) {
			t.Fatalf("the lease does not expire: %v", err)
		}
	}
}

// Without SUBMITQUEUE_REQUIRE=long, TestConformanceOnMiniredis has to do: the store is the same.
func TestAutoMemoryConformance(t *testing.T) {
	if !storetest.Required("long") {
		t.Skip("needs SUBMITQUEUE_REQUIRE=long")
	}
	t.Setenv("PATH", t.TempDir())
	storetest.Run(t, func(t *testing.T) storetest.Harness {
		return storetest.Harness{Store: mustAuto(t, redisstore.AutoOptions{DataDir: t.TempDir()}).Store}
	})
}

func TestAutoNothing(t *testing.T) {
	if _, _, _, err := redisstore.Auto(t.Context(), redisstore.AutoOptions{}); err == nil {
		t.Error("neither a URL nor a folder, and no error")
	}
}
