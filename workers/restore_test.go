package workers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// restoring is a tree whose file f can be put back.
type restoring struct {
	tree
	fails error
}

func (r restoring) Restore(_ context.Context, _ queue.CommitID, dir string) ([]string, error) {
	path := filepath.Join(dir, "f")
	if text, err := os.ReadFile(path); err == nil && string(text) == r.tree["f"] || r.fails != nil {
		return nil, r.fails
	}
	return []string{"f"}, os.WriteFile(path, []byte(r.tree["f"]), 0o644)
}

// Each step begins with the commit's own files, whatever the one before did to them, and
// with all else that it left.
func TestEachStepBeginsWithTheCommit(t *testing.T) {
	t.Parallel()
	same := `test "$(cat f)" = x`
	jobs := []queue.Job{job(step(same+" && echo y > f && echo o > out"), "."), job(step(same+" && test -e out"), "."), job(step(same), ".")}
	r := slot(t, nil, func(o *RunnerOptions) { o.Checkout = restoring{tree: tree{"f": "x"}} })
	res := execute(t.Context(), r, build("b1", jobs...))
	if res.end.Outcome != queue.JobPassed || len(res.jobs) != 3 {
		t.Errorf("%+v\n%s", res.end, res.log)
	}
	if n := strings.Count(res.log, "put back for the next: f\n"); n != 1 {
		t.Errorf("it is said %d times that the step changed f:\n%s", n, res.log)
	}

	r = slot(t, nil, func(o *RunnerOptions) {
		o.Checkout = restoring{tree{"f": "x"}, errors.New("the index is gone")}
	})
	res = execute(t.Context(), r, build("b1", jobs...))
	if res.end.Outcome != queue.JobInfra || len(res.jobs) != 1 || !strings.Contains(res.end.Detail, "the index is gone") {
		t.Errorf("%+v %+v", res.end, res.jobs)
	}
}

// refilling is restoring with content that git does not have in the commit: the file g.
type refilling struct{ restoring }

func (r refilling) Fill(_ context.Context, _ queue.CommitID, dir string, _ config.Checkout) error {
	return os.WriteFile(filepath.Join(dir, "g"), []byte("x"), 0o644)
}

// So it is where the checkout has submodules or files of Git LFS, which are made anew: a step
// that fails and repairs a file on its way has not passed when it is run again.
func TestFilledCheckoutIsRestored(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"f", "g"} {
		for _, with := range []config.Checkout{{LFS: config.SwitchOn}, {Submodules: config.SubmodulesTop}} {
			s := filled(`test "$(cat `+file+`)" = y || { echo y > `+file+`; exit 1; }`, with)
			s.Retries = 1
			r := slot(t, nil, func(o *RunnerOptions) { o.Checkout = refilling{restoring{tree: tree{"f": "x"}}} })
			res := execute(t.Context(), r, build("b1", job(s, ".")))
			if res.end.Outcome != queue.JobFailed || strings.Count(res.log, "attempt 2 of 2") != 1 {
				t.Errorf("%s, %+v: %+v\n%s", file, with, res.end, res.log)
			}
		}
	}
}
