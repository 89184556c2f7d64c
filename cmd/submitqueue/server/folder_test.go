package server

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alicebob/miniredis/v2"
)

// A second server of a data folder is refused before it has touched anything there, also where
// both have the same Redis: it made the runners' folders its own, and each build of the first
// server ended in "permission denied" until somebody started that one again.
func TestOneServerOfADataFolder(t *testing.T) {
	t.Parallel()
	redis := "redis://" + miniredis.RunT(t).Addr()
	bare, data, mode := toyRepository(t, "true"), t.TempDir(), "none"
	if os.Getuid() == 0 {
		mode = "auto"
	}
	dir, err := os.MkdirTemp("", "slots") // not t.TempDir, which users of their own cannot reach
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	slots := filepath.Join(dir, "slots")
	settings := func(c *Serve) {
		c.Forge, c.Repo, c.Redis, c.Data, c.Days, c.Megabytes = []string{"local"}, []string{bare}, redis, data, 1, 1
		c.Isolate = isolateFlags{Isolate: mode, UIDs: "58000-58999", SlotsDir: slots}
	}
	first := startServe(t, data, settings)
	group := func() uint32 {
		info, err := os.Stat(filepath.Join(slots, "1"))
		if os.IsNotExist(err) { // steps are not isolated here
			return 0
		}
		if err != nil {
			t.Fatal(err)
		}
		return info.Sys().(*syscall.Stat_t).Gid
	}
	before := group()

	second := &Serve{Listen: "127.0.0.1:0", Runners: 1, CIBuilds: 2, RefPrefix: "submitqueue", out: first.console}
	settings(second)
	if err := second.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "the data folder "+data+" is in use by another process (") {
		t.Errorf("the second server ended with: %v", err)
	}
	if after := group(); after != before {
		t.Errorf("the runner's folder is of group %d, and was of %d", after, before)
	}

	first.stop()
	startServe(t, data, settings)
}
