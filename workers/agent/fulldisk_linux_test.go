package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers"
)

// A step that fails on a full disk gives no verdict. What it has left there gives way to the
// next job; where the disk is full for another reason, the machine takes no job before there
// is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root to have a disk of its own")
	}
	w := newWorld(t)
	o := w.options()
	if err := syscall.Mount("submitqueue-test", o.Dir, "tmpfs", 0, "size=16m,mode=700"); err != nil {
		t.Skip("a disk of its own cannot be mounted:", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(o.Dir, syscall.MNT_DETACH) })
	o.Runner.MinFree = 4 << 20
	o.Runner.Caches = workers.Caches{Bytes: 8 << 20}
	w.agent(o)
	w.run("fills", "echo before; head -c 40000000 /dev/zero > big", time.Minute)
	if d := w.done("fills"); d.Outcome != queue.JobInfra || !strings.Contains(d.Detail, "disk full") || !strings.Contains(w.log("fills"), "before") {
		t.Errorf("%+v\n%s", d, w.log("fills"))
	}
	w.run("next", "cat hello; test ! -e big", time.Minute)
	if d := w.done("next"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", d, w.log("next"))
	}
	filler := filepath.Join(o.Dir, "filler")
	_ = os.WriteFile(filler, make([]byte, 32<<20), 0o600) // until it is full
	w.run("waits", "cat hello", time.Minute)
	w.until("nobody asks, or the job has come", func() bool { return w.c.Machines()[0].Asking == 0 })
	w.must(os.Remove(filler))
	if d := w.done("waits"); d.Outcome != queue.JobPassed && d.Outcome != queue.JobInfra { // space may have come in its midst
		t.Errorf("%+v\n%s", d, w.log("waits"))
	}
	w.run("last", "cat hello", time.Minute)
	if d := w.done("last"); d.Outcome != queue.JobPassed {
		t.Errorf("%+v\n%s", d, w.log("last"))
	}
}
