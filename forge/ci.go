package forge

import (
	"context"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// CI is a Forge on which a push to a branch has the commit tested and the results
// reported, by the forge's own CI or by one that posts checks and statuses. Without it,
// no step can be left to the forge's CI. Errors as in Forge.
type CI interface {
	// CIResults reads everything that is reported on a commit, at any time and for any
	// branch. ErrNotFound where the forge does not know the commit; the time is given
	// even then.
	CIResults(ctx context.Context, commit queue.CommitID) (CIResults, error)
	// CIChecks is CIResults without the branches of suites, and without statuses unless
	// they are asked for: a commit that is not a build of ours needs fewer requests.
	CIChecks(ctx context.Context, commit queue.CommitID, statuses bool) (CIResults, error)
	// CIRuns lists the runs of the forge's own CI that a branch of this name has
	// started, the newest first. ErrForbidden where we may not see them.
	CIRuns(ctx context.Context, branch string) ([]CIRun, error)
	// CIRunsOf is CIRuns of a commit on any branch.
	CIRunsOf(ctx context.Context, commit queue.CommitID) ([]CIRun, error)
	// CancelRun stops a run. One that has ended or is gone is no error.
	CancelRun(ctx context.Context, id int64) error
	// RerunFailed runs again the jobs of an ended run that did not pass. ErrForbidden
	// where it cannot be run again.
	RerunFailed(ctx context.Context, id int64) error
	// CILog reads the end of the log of an ended check run: hostile text, as it
	// is. ErrNotFound where there is none.
	CILog(ctx context.Context, r CIResult) (string, error)
}

// CIResults are the results that are reported on a commit.
type CIResults struct {
	Now  time.Time // by the forge's clock, when it answered; zero: not told
	List []CIResult
}

// CIState is the state of one check.
type CIState string

// The states of a check. CINone is a state that says nothing of the commit:
// cancelled, skipped, neutral, stale, not begun, or an error of the CI itself.
const (
	CIQueued  CIState = "queued"
	CIRunning CIState = "running"
	CIPassed  CIState = "passed"
	CIFailed  CIState = "failed"
	CITimeout CIState = "timeout"
	CINone    CIState = "none"
)

// Ended reports whether nothing more will come of a check in this state.
func (s CIState) Ended() bool { return s != CIQueued && s != CIRunning }

// CIResult is a check run or a commit status. All texts are hostile.
type CIResult struct {
	ID     int64
	Status bool   // a commit status: of several under one name the newest counts
	App    string // slug of the App that made the check run; "": a status, or not told
	Name   string
	Commit queue.CommitID
	Suite  int64  // which check runs belong together; 0: a status
	Branch string // for which the suite was made; "": not told
	Bound  bool   // made anew for each branch: a result of another branch says nothing of ours
	State  CIState
	Waits  bool      // State is CINone because it has not begun: it may begin yet, under this ID
	Word   string    // the state in the forge's words, for people
	At     time.Time // when it began to be reported
	Ended  time.Time
	URL    string // for people
	Title  string
	Text   string
}

// CIRun is one run of the forge's own CI: a workflow's.
type CIRun struct {
	ID      int64
	Suite   int64 // of its check runs
	Commit  queue.CommitID
	Branch  string
	Name    string    // of the workflow; hostile text
	Path    string    // of the workflow's file in the commit's tree; "": not told. Hostile text
	Title   string    // of this run, as its workflow's run-name says it; hostile text
	Own     bool      // of a branch of the repository itself, not of a fork's
	Actor   string    // the account that has started it, or its newest attempt; "": not told
	Attempt int       // from 1
	Began   time.Time // this attempt; zero: not told
	Push    bool      // a push started it: it is about this very commit
	Pull    bool      // a pull request started it, perhaps from a branch of the same name in a fork: it is about a merge
	Asked   bool      // somebody has asked for it (Starter): no push
	Done    bool
	Word    string // how it ended, in the forge's words
	URL     string
}

// CINews are a webhook's news of CI. Look names branches on which suites have
// ended, which is a reason to look.
type CINews struct {
	Results []CIResult
	Runs    []CIRun
	Look    []string
}

// None reports whether there is no news.
func (n CINews) None() bool { return len(n.Results)+len(n.Runs)+len(n.Look) == 0 }
