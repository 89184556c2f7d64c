package workers

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// unfit is a mirror whose commits cannot be checked out for what they hold.
type unfit struct{ tried int }

func (u *unfit) Error() string   { return "git says no" }
func (u *unfit) Content() string { return "the commit holds\x1b[31m what it must not" }

func (u *unfit) Checkout(context.Context, queue.CommitID, string) (func() error, error) {
	u.tried++
	return nil, fmt.Errorf("checking out: %w", u)
}

// A commit whose content no host can check out is a failure of each job, and no trouble
// of this host, which does not try again.
func TestUnfitCommit(t *testing.T) {
	t.Parallel()
	u := &unfit{}
	r := slot(t, nil, func(o *RunnerOptions) { o.Checkout = u })
	other := step("false")
	other.Checkout.LFS = config.SwitchOn
	res := execute(t.Context(), r, build("b1", job(step("true"), "a"), job(step("true"), "b"), job(other, "c")))
	if res.end.Outcome != queue.JobFailed || len(res.jobs) != 3 || u.tried != 2 { // once for each kind of checkout
		t.Fatalf("%+v, tried %d times", res, u.tried)
	}
	for _, j := range res.jobs {
		if j.Outcome != queue.JobFailed || !strings.Contains(j.Tail, "the commit holds what it must not") {
			t.Errorf("%+v", j)
		}
	}
	if strings.Contains(res.log, "\x1b") || !strings.Contains(res.log, "what it must not") {
		t.Errorf("log %q", res.log)
	}
}
