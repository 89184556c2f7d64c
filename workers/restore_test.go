package workers

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
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
