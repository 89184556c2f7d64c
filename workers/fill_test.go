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

// filling is a tree that says what it was to be filled with.
type filling struct {
	tree
	fails error
}

func (f filling) Fill(_ context.Context, _ queue.CommitID, dir string, want config.Checkout) error {
	return errors.Join(f.fails, os.WriteFile(filepath.Join(dir, "lib"), []byte(want.Submodules+config.Submodules(want.LFS)), 0o644))
}

func submoduled(run string, which config.Submodules) config.Step {
	return filled(run, config.Checkout{Submodules: which})
}

func filled(run string, with config.Checkout) config.Step {
	s := step(run)
	s.Checkout = with
	return s
}

// Each step sees the checkout that it asks for, and no other step's.
func TestStepsSeeWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	r := slot(t, nil, func(o *RunnerOptions) { o.Checkout = filling{tree: tree{"f": "x"}} })
	res := execute(t.Context(), r, build("b1",
		job(step("test ! -e lib && touch mark"), "."), job(submoduled("test ! -e lib && test -e mark", config.SubmodulesOff), "."),
		job(submoduled(`test "$(cat lib)" = true && test ! -e mark && touch mark`, config.SubmodulesTop), "."), job(submoduled(`test -e mark`, config.SubmodulesTop), "."),
		job(submoduled(`test "$(cat lib)" = recursive && test ! -e mark`, config.SubmodulesAll), "."),
		job(filled(`test "$(cat lib)" = recursivetrue && touch mark`, config.Checkout{Submodules: config.SubmodulesAll, LFS: config.SwitchOn}), "."),
		job(filled(`test "$(cat lib)" = falsetrue && test ! -e mark`, config.Checkout{Submodules: config.SubmodulesOff, LFS: config.SwitchOn}), "."),
		job(step("test ! -e lib"), ".")))
	if len(res.jobs) != 8 || res.end.Outcome != queue.JobPassed {
		t.Errorf("%+v %+v\n%s", res.end, res.jobs, res.log)
	}
	if !strings.Contains(res.log, "[submitqueue] fetching submodules and files of Git LFS\n") {
		t.Errorf("nothing is said of what may take long:\n%s", res.log)
	}
}

// A failed fetch is no verdict, and does not touch steps that need none of it.
func TestFillThatFails(t *testing.T) {
	t.Parallel()
	r := slot(t, nil, func(o *RunnerOptions) {
		o.Checkout = filling{tree{}, errors.New(`submodule "lib": its host says hunter2`)}
		o.Mask = []string{"hunter2"}
	})
	res := execute(t.Context(), r, build("b1", job(submoduled("true", config.SubmodulesTop), "."), job(step("true"), ".")))
	if res.end.Outcome != queue.JobInfra || !strings.Contains(res.end.Detail, `submodule "lib": its host says ***`) {
		t.Errorf("%+v", res.end)
	}
	if len(res.jobs) != 1 || res.jobs[0].Outcome != queue.JobPassed {
		t.Errorf("%+v", res.jobs)
	}
	r = slot(t, tree{})
	res = execute(t.Context(), r, build("b2", job(submoduled("true", config.SubmodulesTop), ".")))
	if res.end.Outcome != queue.JobInfra || !strings.Contains(res.end.Detail, "cannot be fetched here") {
		t.Errorf("%+v", res.end)
	}
}
