package workers

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

func TestCloseLeavesNoProcess(t *testing.T) {
	p, rec := open(t, 1)
	dir := t.TempDir()
	run := `cd ` + dir + "\n" + stubborn + escaped + waitBoth + "wait"
	mustRun(t, p, build("b1", job(step(run), ".")), "run/b1/1")
	mustRun(t, p, build("b2", job(step("true"), ".")), "run/b2/1")
	pids := []int{started(t, filepath.Join(dir, "stubborn")), started(t, filepath.Join(dir, "escaped"))}
	mustClose(t, p)
	for _, pid := range pids {
		if runs(pid) {
			t.Errorf("process %d is still there", pid)
		}
	}
	until(t, "the end of the events", rec.ended)
	if d := eventsOf[queue.BuildDone](rec); len(d) != 0 {
		t.Errorf("builds that are to be run again were reported: %+v", d)
	}
	if jobs := eventsOf[queue.JobDone](rec); len(jobs) != 0 {
		t.Errorf("%+v", jobs)
	}
}

func TestCloseHasALimit(t *testing.T) {
	t.Parallel()
	p, _ := open(t, 1, func(o *PoolOptions) { o.Runner.Grace = 500 * time.Millisecond })
	dir := t.TempDir()
	mustRun(t, p, build("b1", job(step("cd "+dir+"\n"+stubborn+"wait"), ".")), "run/b1/1")
	started(t, filepath.Join(dir, "stubborn"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	p.tasks.Wait()
}
