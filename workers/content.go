package workers

import (
	"errors"
	"fmt"

	"github.com/submitqueue/submitqueue/queue"
)

// contentError is an error of a Checkouter that the commit itself is to blame for,
// wherever it is checked out.
type contentError interface {
	error
	// Content says in a sentence what the commit holds that cannot be checked out.
	Content() string
}

// contentOf returns what a commit holds that cannot be checked out, or "".
func contentOf(err error) string {
	var e contentError
	if errors.As(err, &e) {
		return e.Content()
	}
	return ""
}

// refuse fails jobs of a commit that cannot be checked out because of its content: nothing
// runs on it anywhere, so that is a result, and no trouble of this host.
func (r *Runner) refuse(jobs []queue.Job, why string, out Output) {
	why = r.mask(clean(why))
	fmt.Fprintf(out.Log, "[submitqueue] %s\n", why)
	for _, j := range jobs {
		out.Job(queue.JobDone{Step: j.Step.Digest(), Outcome: queue.JobFailed, Tail: why})
	}
}
