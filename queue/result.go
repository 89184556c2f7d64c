package queue

import (
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
)

// The events below are the results of actions. Each names its action, so that
// the action is finished by the turn that folds its result.

// Observed is the target branch as git and its configuration show it.
type Observed struct {
	Action     string         `json:"action"`
	Tip        CommitID       `json:"tip"`
	From       CommitID       `json:"from"`   // the tip the queue knew when it asked; "" at first start
	Forced     bool           `json:"forced"` // From is not an ancestor of Tip
	Line       []LineCommit   `json:"line"`   // first-parent commits after From up to Tip, oldest first
	Protected  bool           `json:"protected"`
	Repository int64          `json:"repository,omitempty"` // the forge's id of it; 0: it has none
	Default    string         `json:"default,omitempty"`    // its default branch, where that is another one than the queue's, which nobody has chosen
	Config     *config.Config `json:"config,omitempty"`
	Broken     string         `json:"broken,omitempty"` // the configuration at Tip cannot be used: why, with line and column

	Differs string `json:"differs,omitempty"` // the pushed commit was read back, and has another tree than was proven: this one

	// Analyzers are the versions of the analyzer that this server knows for the
	// configuration in force, the newest first; none: nobody can tell.
	Analyzers []string `json:"analyzers,omitempty"`
}

// Surveyed says which keys of main no build has passed.
type Surveyed struct {
	Action   string   `json:"action"`
	Commit   CommitID `json:"commit"`
	Tree     TreeID   `json:"tree"`
	Steps    StepSet  `json:"steps"`
	Unproven []Key    `json:"unproven,omitempty"`

	Analyzer string  `json:"analyzer,omitempty"` // version that the commit was judged by
	Total    int     `json:"total,omitempty"`    // keys of the commit
	Passed   []Entry `json:"passed,omitempty"`   // of these, the passes that are proven by passes under another version
	Unknown  string  `json:"unknown,omitempty"`  // why its targets are not known; hostile text
}

// Controlled says which keys main has of the aims that were asked for, and when
// each was last seen to pass.
type Controlled struct {
	Action   string   `json:"action"`
	Commit   CommitID `json:"commit"`
	Tree     TreeID   `json:"tree"`
	Steps    StepSet  `json:"steps"`
	Analyzer string   `json:"analyzer,omitempty"` // version that the commit was judged by
	Found    []Aimed  `json:"found,omitempty"`    // main does not have an aim that is not in it
	Passed   []Entry  `json:"passed,omitempty"`   // of these keys
}

// Inspected is a pull request and its requester as the forge shows them now.
type Inspected struct {
	Action     string   `json:"action"`
	Missing    bool     `json:"missing,omitempty"` // no such pull request
	Head       CommitID `json:"head"`
	HeadRef    string   `json:"head_ref"`
	Branch     string   `json:"branch,omitempty"` // the head's; hostile text
	Base       string   `json:"base"`
	Fork       bool     `json:"fork,omitempty"`   // the head's branch is of another repository
	Merged     bool     `json:"merged,omitempty"` // into its base
	Stack      Stack    `json:"stack,omitzero"`   // the pull requests below it, if its base is not the queue's branch
	Title      string   `json:"title"`
	Author     string   `json:"author"`
	URL        string   `json:"url,omitempty"`
	Facets     *Facets  `json:"facets,omitempty"`  // further facts of the forge about it
	Unmoved    bool     `json:"unmoved,omitempty"` // of a late command: the forge shows that it was given at this head
	Changed    Instant  `json:"changed,omitempty"` // when it was last changed, by the forge's clock; 0: not told
	Open       bool     `json:"open"`
	Draft      bool     `json:"draft,omitempty"`
	Same       CommitID `json:"same,omitempty"`      // of one in a stack of the forge's own: the head of its change, where Head is that one's commits on top of others, unchanged
	Permission string   `json:"permission"`          // of the requester: none, read, triage, write, maintain, admin
	Protected  []string `json:"protected,omitempty"` // protected paths that differ from main
	Guarded    []string `json:"guarded,omitempty"`   // protected paths that merges of its change would change, as the queue has said
	ConfigAt   CommitID `json:"config_at,omitempty"` // the commit with the configuration that said what is protected
	Below      CommitID `json:"below,omitempty"`     // as in Change, where what it is on top of has landed
	Wording    Wording  `json:"wording,omitzero"`    // of the commits that it would land as, by the method that the request asks for
	Approved   bool     `json:"approved,omitempty"`  // an administrator approved exactly this head, or asked for it
	Teams      []string `json:"teams,omitempty"`     // of those that matter to the command (Command.Teams), the requester's

	Spared []string `json:"spared,omitempty"` // labels that a freeze excepts
	Auto   []Ruling `json:"auto,omitempty"`   // the rulings of `auto`, up to the first rule that holds; to explain it, of all rules

	Requires bool          `json:"requires,omitempty"` // the forge knows of requirements: Unmet are all that are not met, beside Draft and Protected
	Unmet    []Requirement `json:"unmet,omitempty"`
	Vouched  bool          `json:"vouched,omitempty"` // the requester is an administrator
	Already  bool          `json:"already,omitempty"` // to explain it: its merge changes nothing
}

// Analyzed is the footprint of a change.
type Analyzed struct {
	Action    string    `json:"action"`
	Change    ChangeID  `json:"change"`
	Footprint Footprint `json:"footprint"`
	Analyzer  string    `json:"analyzer,omitempty"` // of the task
}

// Met says with which changes a change merges. Changes of the task that it does
// not name are taken not to merge.
type Met struct {
	Action string     `json:"action"`
	Change ChangeID   `json:"change"`
	Merges []ChangeID `json:"merges,omitempty"`
}

// Resolved is a chain of links, in order; where one does not merge it is the last.
type Resolved struct {
	Action string    `json:"action"`
	Links  []Link    `json:"links"`
	Steps  []StepSet `json:"steps"`            // the step sets that the links name
	Passed []Entry   `json:"passed,omitempty"` // passes of the links' keys in the ledger's archive
	Proven []Entry   `json:"proven,omitempty"` // of these keys, the passes that are proven by passes under another version
	Guard  Digest    `json:"guard,omitempty"`  // of the task (Resolve.Guard): by which globs the links' protected paths were found
}

// BuildStarted says that a runner has begun a build.
type BuildStarted struct {
	Build   BuildID `json:"build"`
	Machine string  `json:"machine"`
}

// JobOutcome is what came of one step of a build.
type JobOutcome string

// The outcomes of a job.
const (
	JobPassed  JobOutcome = "passed"
	JobFailed  JobOutcome = "failed"
	JobTimeout JobOutcome = "timeout"
	JobInfra   JobOutcome = "infrastructure" // no result: retried, never a verdict
	JobStopped JobOutcome = "cancelled"
)

// JobDone is the result of one step of a build. A report that names targets
// fills Passed and Failed; a target in neither stays unknown. One that does not
// leaves both empty: then JobPassed passes every asked key, and JobFailed fails
// the asked set and no single key. JobInfra is no result; with Tool it is written
// down for the asked set, and fails it once another host says the same.
type JobDone struct {
	Build     BuildID                  `json:"build"`
	Step      Digest                   `json:"step"`
	Asked     []string                 `json:"asked,omitempty"` // the targets that the run was for: of a shard; empty: all of the job
	Outcome   JobOutcome               `json:"outcome"`
	Passed    []string                 `json:"passed,omitempty"` // targets
	Failed    []TargetFailure          `json:"failed,omitempty"`
	Took      time.Duration            `json:"took"`
	PerTarget map[string]time.Duration `json:"per_target,omitempty"`
	Machine   string                   `json:"machine"`        // the agent that ran it: one slot of a host
	Tail      string                   `json:"tail,omitempty"` // last lines of the log, at most 4 KiB

	Host  string `json:"host,omitempty"`  // the computer that Machine is on, under the name people know it by; empty: not known, or not one of ours
	Alone bool   `json:"alone,omitempty"` // when it ended there was no other host that could have run the step
	Tool  bool   `json:"tool,omitempty"`  // with JobInfra: the host could not run the step's command
	Cut   bool   `json:"cut,omitempty"`   // with JobTimeout: it was ended by the job's Limit, before the step's time-out; no result

	Cached bool `json:"cached,omitempty"` // it had what earlier builds of anybody have left in its step's caches

	// Began and Ended are when it was run, by the clock of the server; 0: not known, as
	// of a job that has just ended. A result that is reported again, of an earlier run,
	// has them set.
	Began Instant `json:"began,omitempty"`
	Ended Instant `json:"ended,omitempty"`

	Again  int      `json:"again,omitempty"`  // how often it was run again before it passed
	Flaked []string `json:"flaked,omitempty"` // of Passed: targets that have failed in this run, and passed when they were run again
	Pages  []Page   `json:"pages,omitempty"`  // of its runs, for people
}

// TargetFailure is a target that a report names as failed.
type TargetFailure struct {
	Target string `json:"target"`
	Tail   string `json:"tail,omitempty"`
}

// BuildDone ends a build: its slot is free. Jobs without a JobDone have no
// result.
type BuildDone struct {
	Action   string     `json:"action"`
	Build    BuildID    `json:"build"`
	Outcome  JobOutcome `json:"outcome"` // passed, failed, infrastructure or cancelled
	Detail   string     `json:"detail,omitempty"`
	NoRunner bool       `json:"no_runner,omitempty"` // no runner has what a step asks for
	Host     string     `json:"host,omitempty"`      // as in JobDone; empty where it ended on none
	Alone    bool       `json:"alone,omitempty"`     // as in JobDone
	NoCheck  bool       `json:"no_check,omitempty"`  // a check did not appear; Detail says which
	Matched  bool       `json:"matched,omitempty"`   // with JobInfra: a step has failed with a log that its configuration calls no result; the host is not to blame
	Refused  string     `json:"refused,omitempty"`   // the forge takes no ref with the commit: its rule, in its words
}

// Pushed is what came of a push.
type Pushed struct {
	Action  string `json:"action"`
	Push    string `json:"push"`
	Moved   bool   `json:"moved"`             // main is at the push's tip
	Lost    bool   `json:"lost,omitempty"`    // main was somewhere else
	Refused string `json:"refused,omitempty"` // the forge's rule, in its words

	Declined string `json:"declined,omitempty"` // of Push.ByForge: why the forge does not merge the pull request itself, in its words; main is where it was
}

// Done ends an action that has no result of its own (publish, react, cancel).
type Done struct {
	Action string `json:"action"`
	Shown  Digest `json:"shown,omitempty"` // publish: digest of the shown facts
	Said   Said   `json:"said,omitzero"`   // publish: the comment as it is now; zero: not known
}

// Failed says that an action did not work. A transient one is tried again, with
// a limit; neither kind is ever a verdict on a change.
type Failed struct {
	Action    string        `json:"action"`
	Error     string        `json:"error"`
	Transient bool          `json:"transient"`
	Outage    bool          `json:"outage,omitempty"` // the forge itself is in trouble, or did not answer: to be tried for long
	After     time.Duration `json:"after,omitempty"`  // not before this long from now
	Away      bool          `json:"away,omitempty"`   // the repository is out of reach: to be tried again until it is not
}

// Renamed says, in place of an action's result, that the forge has given the
// target branch another name.
type Renamed struct {
	Action string `json:"action"`
	From   string `json:"from"`
	To     string `json:"to"`            // hostile text
	Why    string `json:"why,omitempty"` // what to do, if the queue does not follow on its own
}

// Capacity says how many builds can run at once.
type Capacity struct {
	Slots int `json:"slots"`           // on runners
	Forge int `json:"forge,omitempty"` // of builds in which all steps are checks of the forge's CI
}

// Tick is the passing of time, when Step asked to be woken.
type Tick struct{}

func (Observed) event()     {}
func (Surveyed) event()     {}
func (Controlled) event()   {}
func (Inspected) event()    {}
func (Analyzed) event()     {}
func (Met) event()          {}
func (Resolved) event()     {}
func (BuildStarted) event() {}
func (JobDone) event()      {}
func (BuildDone) event()    {}
func (Pushed) event()       {}
func (Done) event()         {}
func (Failed) event()       {}
func (Renamed) event()      {}
func (Capacity) event()     {}
func (Tick) event()         {}
