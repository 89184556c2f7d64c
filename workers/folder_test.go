package workers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/sole"
)

// A second process that opens the slots of a running one is refused, and a step under way there
// ends as if nothing had been. It was killed, as if an earlier process had left it behind.
func TestSlotsAreOfOneProcess(t *testing.T) {
	t.Parallel()
	dir, files := t.TempDir(), t.TempDir()
	begun, gate := filepath.Join(files, "begun"), filepath.Join(files, "gate")
	first, r := open(t, 1, func(o *PoolOptions) { o.Dir = dir })
	mustRun(t, first, build("b1", job(step("touch "+begun+"; until test -e "+gate+"; do sleep 0.05; done"), ".")), "a1")
	until(t, "the step runs", func() bool { _, err := os.Stat(begun); return err == nil })

	var taken *sole.Taken
	if _, _, release, err := OpenPlaces(PoolOptions{Slots: 1, Dir: dir, Runner: RunnerOptions{Checkout: tree{}}}); !errors.As(err, &taken) {
		t.Errorf("places of the same slots: %v", err)
		if err == nil {
			release()
		}
	}
	if p, err := NewPool(PoolOptions{Slots: 1, Dir: dir, Log: quiet(), Runner: RunnerOptions{Checkout: tree{}}}); !errors.As(err, &taken) || !strings.Contains(err.Error(), "end that one, or name another folder") {
		t.Errorf("a pool of the same slots: %v", err)
		if err == nil {
			mustClose(t, p)
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if d := r.done(t, 1); d.Outcome != queue.JobPassed {
		t.Errorf("the build of the first one: %+v", d)
	}

	mustClose(t, first)
	_, _, release, err := OpenPlaces(PoolOptions{Slots: 1, Dir: dir, Runner: RunnerOptions{Checkout: tree{}}})
	if err != nil {
		t.Fatalf("after it has ended: %v", err)
	}
	release()
}
