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

// filling is a tree with a submodule.
type filling struct {
	tree
	fails error
}

func (f filling) Submodules(_ context.Context, _ queue.CommitID, dir string, which queue.Submodules) error {
	return errors.Join(f.fails, os.WriteFile(filepath.Join(dir, "lib"), []byte(which), 0o644))
}

func submoduled(run string, which queue.Submodules) queue.Step {
	s := step(run)
	s.Checkout.Submodules = which
	return s
}

// Each step sees the checkout that it asks for, and no other step's.
func TestStepsWithAndWithoutSubmodules(t *testing.T) {
	r := slot(t, nil, func(o *RunnerOptions) { o.Checkout = filling{tree: tree{"f": "x"}} })
	res := execute(t.Context(), r, build("b1",
		job(step("test ! -e lib && touch mark"), "."), job(submoduled("test ! -e lib && test -e mark", queue.SubmodulesOff), "."),
		job(submoduled(`test "$(cat lib)" = true && test ! -e mark && touch mark`, queue.SubmodulesTop), "."), job(submoduled(`test -e mark`, queue.SubmodulesTop), "."),
		job(submoduled(`test "$(cat lib)" = recursive && test ! -e mark`, queue.SubmodulesAll), "."),
		job(step("test ! -e lib"), ".")))
	if len(res.jobs) != 6 || res.end.Outcome != queue.JobPassed {
		t.Errorf("%+v %+v\n%s", res.end, res.jobs, res.log)
	}
}

// What cannot be fetched is no verdict, and says nothing of steps that need none of it.
func TestSubmodulesThatFail(t *testing.T) {
	r := slot(t, nil, func(o *RunnerOptions) {
		o.Checkout = filling{tree{}, errors.New(`submodule "lib": its host says hunter2`)}
		o.Mask = []string{"hunter2"}
	})
	res := execute(t.Context(), r, build("b1", job(submoduled("true", queue.SubmodulesTop), "."), job(step("true"), ".")))
	if res.end.Outcome != queue.JobInfra || !strings.Contains(res.end.Detail, `submodule "lib": its host says ***`) {
		t.Errorf("%+v", res.end)
	}
	if len(res.jobs) != 1 || res.jobs[0].Outcome != queue.JobPassed {
		t.Errorf("%+v", res.jobs)
	}
	r = slot(t, tree{})
	res = execute(t.Context(), r, build("b2", job(submoduled("true", queue.SubmodulesTop), ".")))
	if res.end.Outcome != queue.JobInfra || !strings.Contains(res.end.Detail, "submodules cannot be fetched here") {
		t.Errorf("%+v", res.end)
	}
}
