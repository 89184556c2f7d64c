package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/cmd/submitqueue/client"
)

// A server that cannot write down where it is, as on a full disk, runs all the same, and
// writes it down once it can.
func TestStartWithoutRoomForItsAddress(t *testing.T) {
	t.Parallel()
	c := newCrashed(t, 1)
	inTheWay := client.PathOf(c.data) + ".new"
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
		t.Fatal(err)
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
		if strings.Contains(string(text), "cannot be written down") && strings.Contains(string(text), "msg=serving") {
			break
		}
		<-time.After(20 * time.Millisecond)
	}
	if err := os.RemoveAll(inTheWay); err != nil {
		t.Fatal(err)
	}
	if !appears(client.PathOf(c.data), 60*time.Second) {
		t.Fatal("its address is not written down although there is room")
	}
	var queues []any
	if err := c.get("/api/queues", &queues); err != nil || len(queues) != 1 {
		t.Errorf("%v, %v", queues, err)
	}
	if code := c.end(syscall.SIGTERM); code != 0 {
		t.Errorf("it ends with %d", code)
	}
}
