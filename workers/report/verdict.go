package report

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Verdict is the result of the asked targets, from an exit status and a report, if there is
// one.
type Verdict struct {
	Outcome   queue.JobOutcome
	Passed    []string
	Failed    []queue.TargetFailure
	PerTarget map[string]time.Duration
	Flaked    []string // of Passed: their tool has run them again
	Trouble   string   // what has kept the tool from its work, for people; "": nothing that it knows of
	Unknown   []string // asked targets of a step that passed, of which the report says nothing
}

// overdue is the exit status of timeout(1) of a command that it has interrupted: what it says of
// that is no trouble from outside.
const overdue = 124

// Judge reads the end of a step: the exit status of its command, for the asked targets.
// Without a report (r is nil) the exit status stands for the whole asked set. With one:
//
//	exit  targets                    outcome
//	0     none failed                passed, for each that is named
//	0     none of the asked named    infrastructure: nothing is known
//	0     some failed                failed, per target
//	else  any, and the tool was kept from its work by something outside, other than timeout(1): infrastructure
//	else  some failed                failed, per target; those that passed count if all of the command was run for them
//	else  none failed, some blamed   failed, per target that is blamed (by vet, say); no pass counts
//	else  none failed or blamed      failed as a set: it was something else; no pass counts
//
// All of a failed command was run for each target if its last part is the one that
// reports, and that began (Step.Reporter). A target that the report has no name for (the
// whole tree, the unowned files) passes by exit status 0 when nothing at all has failed.
func (r *Report) Judge(code int, asked []string) Verdict {
	if r == nil {
		if code == 0 {
			return Verdict{Outcome: queue.JobPassed}
		}
		return Verdict{Outcome: queue.JobFailed}
	}
	if t, ok := r.reader.(troubled); ok && code != 0 && code != overdue && t.Trouble() != "" {
		return Verdict{Outcome: queue.JobInfra, Trouble: t.Trouble()}
	}
	v := Verdict{Outcome: queue.JobPassed, PerTarget: map[string]time.Duration{}}
	failures, blamed := 0, 0
	for _, target := range asked {
		t, _ := r.reader.Of(target)
		if t.Failed {
			failures++
		}
		if t.Blamed != "" {
			blamed++
		}
	}
	if code == 0 || failures > 0 {
		blamed = 0
	}
	limit := TailBytes
	if failures+blamed > 0 {
		limit = min(limit, tailsBytes/(failures+blamed))
	}
	for _, target := range asked {
		t, named := r.reader.Of(target)
		switch {
		case t.Failed:
			v.Failed = append(v.Failed, queue.TargetFailure{Target: target, Tail: LastBytes(t.Tail, limit)})
		case blamed > 0 && t.Blamed != "":
			v.Failed = append(v.Failed, queue.TargetFailure{Target: target, Tail: LastBytes(t.Blamed, limit)})
		case t.Passed && (code == 0 || t.Late), !named && code == 0 && failures == 0 && !r.reader.Strayed():
			v.Passed = append(v.Passed, target)
			if t.Flaked {
				v.Flaked = append(v.Flaked, target)
			}
		default:
			v.Unknown = append(v.Unknown, target)
		}
		if t.Took > 0 {
			v.PerTarget[target] = t.Took
		}
	}
	switch {
	case failures > 0:
		v.Outcome, v.Unknown = queue.JobFailed, nil
	case code != 0:
		v.Outcome, v.Passed, v.Flaked, v.Unknown = queue.JobFailed, nil, nil, nil
	case len(v.Passed) == 0 && len(asked) > 0:
		v.Outcome = queue.JobInfra
	}
	return v
}
