package workers

import (
	"fmt"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// verdict is what an exit status and a report, if there is one, say of the
// asked targets.
type verdict struct {
	outcome   queue.JobOutcome
	passed    []string
	failed    []queue.TargetFailure
	perTarget map[string]time.Duration
	unknown   []string // asked targets of a step that passed, of which the report says nothing
}

// judge reads the end of a step. Without a report (r is nil) the exit status
// stands for the whole asked set. With one:
//
//	exit  targets                    outcome
//	0     none failed                passed, for each that is named
//	0     none of the asked named    infrastructure: nothing is known
//	0     some failed                failed, per target
//	else  some failed                failed, per target; those that passed count if all of the command was run for them
//	else  none failed                failed as a set: it was something else (vet, say); no pass counts
//
// All of a failed command was run for each target if its last part is the one that
// reports, and that began (Step.Reporter). A target that the report has no name for (the
// whole tree, the unowned files) passes by exit status 0 when nothing at all has failed.
func judge(code int, asked []string, r *report) verdict {
	if r == nil {
		if code == 0 {
			return verdict{outcome: queue.JobPassed}
		}
		return verdict{outcome: queue.JobFailed}
	}
	v := verdict{outcome: queue.JobPassed, perTarget: map[string]time.Duration{}}
	failures := 0
	for _, target := range asked {
		if t, _ := r.of(target); t.failed {
			failures++
		}
	}
	limit := tailBytes
	if failures > 0 {
		limit = min(limit, tailsBytes/failures)
	}
	for _, target := range asked {
		t, named := r.of(target)
		switch {
		case t.failed:
			v.failed = append(v.failed, queue.TargetFailure{Target: target, Tail: lastBytes(t.tail, limit)})
		case t.passed && (code == 0 || t.late), !named && code == 0 && failures == 0 && !r.strayed():
			v.passed = append(v.passed, target)
		default:
			v.unknown = append(v.unknown, target)
		}
		if t.took > 0 {
			v.perTarget[target] = t.took
		}
	}
	switch {
	case failures > 0:
		v.outcome, v.unknown = queue.JobFailed, nil
	case code != 0:
		v.outcome, v.passed, v.unknown = queue.JobFailed, nil, nil
	case len(v.passed) == 0 && len(asked) > 0:
		v.outcome = queue.JobInfra
	}
	return v
}

// unknownDetail says for people which targets a report left out.
func unknownDetail(step string, unknown []string) string {
	more := ""
	if n := len(unknown) - 1; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("step %s: it ended well, but its report says nothing of %s%s",
		clean(step), lastBytes(clean(unknown[0]), 200), more)
}
