package coordinator_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/workers/coordinator"
	"github.com/submitqueue/submitqueue/workers/protocol"
)

// A runner has uploaded a report, and is lost before it tells the end of the job. What it has
// uploaded goes with the job, and nothing is taken for it any more.
func TestUploadsOfAJobThatWasLost(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(o *coordinator.Options) { o.Lease = time.Second })
	r := b.runner()
	b.join(r)
	b.run("first", config.Step{Name: "unit", Run: "x {targets}", Timeout: time.Minute, Report: config.ReportJUnit, ReportFiles: []string{"out.xml"}}, "a")
	r.ask()
	r.update(protocol.Update{State: protocol.StateRunning})
	left := func() int {
		found, err := os.ReadDir(filepath.Join(b.o.Dir, "files"))
		b.must(err)
		return len(found)
	}
	if res := r.upload("raw", "out.xml", []byte("<testsuites/>")); res.StatusCode != 201 || left() != 1 {
		t.Fatal(res.Status, left())
	}
	b.until("the job is closed", func() bool { _, ok := b.c.Job(r.job.Token); return !ok })
	b.until("no file is left", func() bool { return left() == 0 })
	if res := r.upload("raw", "out.xml", []byte("<testsuites/>")); res.StatusCode == 201 || left() != 0 {
		t.Error(res.Status, left())
	}
}
