package forge

import (
	"context"
	"errors"

	"github.com/submitqueue/submitqueue/queue"
)

// ErrPushStarts means that no run can be asked for at this repository: a push to a branch
// starts one.
var ErrPushStarts = errors.New("runs begin by pushes alone")

// Starter is a CI that makes a run when it is asked to, with variables for its jobs.
// Without it, the push of a branch starts what tests it. Errors as in Forge.
type Starter interface {
	// CIStarts reports whether runs are to be asked for at this repository, as far as is
	// known. It may turn false, and then stays so. inputs: the run learns by inputs what
	// it builds, and needs no variables.
	CIStarts(ctx context.Context, inputs bool) bool
	// CIFile returns the path of the file in a commit that configures a run, as far as
	// is known; "": the file is not in the repository.
	CIFile(ctx context.Context) string
	// CIStart makes a run on a branch of ours, which was pushed Quiet and is at a commit;
	// the run that it returns is of that commit. A branch has at most one run that was
	// asked for: after an unknown end, look for it (CIRun.Asked) before asking again.
	// ErrPushStarts: push the branch anew, not Quiet. *Transient also while the forge does
	// not see the branch yet. Any other error says why there is no run for this commit.
	CIStart(ctx context.Context, branch string, commit queue.CommitID, told CITold) (CIRun, error)
	// CIRunResults reads how far a run that was asked for has come (CIRun.Done and Word
	// alone), and what its jobs report. Both are consistent: where the run has ended, so
	// have its jobs; a run has all its jobs from its beginning. names are the checks
	// that are wanted; others may be left out. ErrNotFound: it is gone, or has no jobs.
	CIRunResults(ctx context.Context, id int64, names []string) (CIRun, CIResults, error)
}

// CITold is the information that a run gets about its build. Variables may be left out
// where the forge takes none from us and there are Inputs, which the run's file declares.
type CITold struct{ Variables, Inputs []CIVariable }

// CIVariable is a variable of the jobs of a run, or one of its inputs.
type CIVariable struct{ Name, Value string }
