package coordinator_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// A runner was away for longer than its lease, and then goes on with its trace: the job that was
// closed is not on record again. The next server would take it for the one that its slot runs,
// and have the runner give up the real one.
func TestALateTraceOfAJobThatWasLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) { o.Lease = time.Second })
	r := b.runner()
	b.join(r)
	b.run("first", unit, "a")
	r.ask()
	r.update(protocol.Update{State: protocol.StateRunning})
	b.until("the job is closed", func() bool { _, ok := b.c.Job(r.job.Token); return !ok })
	if res := r.printAt(0, r.mark()+" begin "+commit+"\n"); res.Header.Get(protocol.HeaderJobStatus) != "canceled" {
		t.Fatalf("%+v", res)
	}
	if left, err := os.ReadDir(filepath.Join(b.o.Dir, "jobs")); err != nil || len(left) != 0 {
		t.Errorf("%v are left, %v", left, err)
	}
	b.until("the build is lost", func() bool {
		if len(eventsOf[queue.BuildDone](b)) > 0 {
			return true
		}
		r.asks() // its slot is free
		return false
	})
	b.o.Lease = time.Minute
	b.run("second", unit, "b")
	r.ask()
	r.begin()
	b.kill()
	b.run("second", unit, "b")
	r.end(0)
	if j, d := b.result("second"); j.Outcome != queue.JobPassed || d.Outcome != queue.JobPassed {
		t.Errorf("%+v %+v", j, d)
	}
}
