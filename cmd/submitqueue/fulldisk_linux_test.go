package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
)

// A server that is started on a full disk says so, and serves once there is room.
func TestStartOnAFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root to have a disk of its own")
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		t.Skip("needs a redis-server, which keeps its files on that disk")
	}
	c := newCrashed(t, 1)
	if err := os.MkdirAll(c.data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("submitqueue-test", c.data, "tmpfs", 0, "size=16m,mode=700"); err != nil {
		t.Skip("a disk of its own cannot be mounted:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(c.data, syscall.MNT_DETACH) })
	filler := filepath.Join(c.data, "filler")
	err := os.WriteFile(filler, make([]byte, 32<<20), 0o600)
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	said := filepath.Join(t.TempDir(), "log")
	to, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	c.server = exec.Command("submitqueue", "serve", "--forge", "local", "--repo", c.bare, "--data", c.data, "--listen", "127.0.0.1:0")
	c.server.Env = append(os.Environ(), "REDIS_URL=auto", "GIT_CONFIG_GLOBAL=/dev/null", "SUBMITQUEUE_ISOLATE=none")
	c.server.Stderr = to
	if err := c.server.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Minute); ; {
		text, err := os.ReadFile(said)
		if err != nil || time.Now().After(end) {
			t.Fatalf("%v\n%s", err, text)
		}
		if strings.Contains(string(text), "the disk is full") {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if !appears(client.PathOf(c.data), 60*time.Second) {
		text, err := os.ReadFile(said)
		t.Fatalf("it does not serve although there is room: %v\n%s", err, text)
	}
	if err := c.server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := c.server.Wait(); err != nil {
		t.Errorf("told to end: %v", err)
	}
}
