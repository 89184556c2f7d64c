package queue

import (
	"fmt"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// ChangeID names a change. It is made from the pull request's number, the head
// and the command that asked for it (NewChangeID), so that the same command
// read twice, or read again after a loss, is the same change.
type ChangeID string

// NewChangeID returns the id of the change that the given command on a pull
// request asks for, e.g. "42.1f8e0c3a": readable, and the same each time.
func NewChangeID(number int, head CommitID, command string) ChangeID {
	return ChangeID(fmt.Sprintf("%d.%s", number, digest.Of("change1", fmt.Sprint(number), string(head), command)[:8]))
}

// Phase is where a change stands. Each phase that is not final has an owner
// that moves it on: an action with a deadline, the plan, or a wake-up.
type Phase string

// The phases of a change. Analyzing waits for an action, Pending is in the order,
// Landing has passed the point of no return, Parked is out of the order without a
// verdict; the others but Trying are verdicts and final. Which of them follows which is
// the table of moves in package speculation.
const (
	Analyzing Phase = "analyzing"
	Pending   Phase = "pending"
	Landing   Phase = "landing"
	Parked    Phase = "parked"

	Landed        Phase = "landed"
	Rejected      Phase = "rejected"
	Cancelled     Phase = "cancelled"
	NothingToLand Phase = "nothing-to-land"

	Trying Phase = "trying" // built on main, in no order, and never landed
	Tried  Phase = "tried"  // the try has ended; no verdict on the pull request
)

// Final reports whether the phase is a verdict.
func (p Phase) Final() bool {
	return p == Landed || p == Rejected || p == Cancelled || p == NothingToLand || p == Tried
}

// Change is a pull request at one pinned head, asked to land.
type Change struct {
	ID        ChangeID `json:"id"`
	Number    int      `json:"number"`
	Head      CommitID `json:"head"`
	HeadRef   string   `json:"head_ref"`         // where the head is fetched from
	Branch    string   `json:"branch,omitempty"` // the head's branch, as the forge names it; hostile text
	Title     string   `json:"title"`            // hostile text
	Author    string   `json:"author"`
	Requester string   `json:"requester"`      // the author of the command /land
	Made      Instant  `json:"made,omitempty"` // of the latest such command, by the forge's clock; 0: not told, or it does not matter any more
	URL       string   `json:"url,omitempty"`
	Basis
	On      CommitID   `json:"on,omitempty"`    // of a try: the commit of main that it is built on
	Would   *Would     `json:"would,omitempty"` // of a try that is only to be explained: nothing of it is built
	Arrival Instant    `json:"arrival"`
	Phase   Phase      `json:"phase"`
	Reason  Reason     `json:"reason,omitzero"` // why it is in this phase
	Now     *Emergency `json:"now,omitempty"`   // it goes before all others
	Lane    string     `json:"lane,omitempty"`  // as the configuration calls it; empty: it came before there were lanes
	Foreseen
	Manner
	Own     bool     `json:"own,omitempty"`    // main's configuration asked for it, and no person did
	Rule    string   `json:"rule,omitempty"`   // with Own: the rule of `auto` that entered it
	Revert  CommitID `json:"revert,omitempty"` // of a try that no pull request has: the commit of main that it takes back
	Touches Touches  `json:"touches,omitzero"` // its footprint in short, for models and people
	Facets  *Facets  `json:"facets,omitempty"` // of its pull request when it came, for models; nil: nobody has said
	Course
	Ending
	Consent
}

// Basis is the branch that a pull request asks for, where that is not the
// queue's. The fields are a Change's own, in Go and as it is stored.
type Basis struct {
	Base   string `json:"base,omitempty"`   // the branch that it asks for, where that is not the queue's; hostile text
	Parent int    `json:"parent,omitempty"` // the pull request that has Base as its branch, and that this one is on top of, until it has landed
	Shown  bool   `json:"shown,omitempty"`  // a push of ours has made the forge show it against the queue's branch: nobody has asked for that base
	Stack  int    `json:"stack,omitempty"`  // the forge's own stack that it is in, which alone changes its base: Stack.Native

	Restacked bool    `json:"restacked,omitempty"` // the forge has made its commits anew since the pull request below it has landed
	Restack   Instant `json:"restack,omitempty"`   // the forge has changed its base, and is waited for until then, as it may yet make its commits anew
}

// Pinned reports whether a change asks for another branch than the queue's, and nobody but
// the forge can change that. If it landed, the forge would not see that it is merged.
func (b Basis) Pinned() bool { return b.Stack != 0 && b.Base != "" }

// Foreseen is what was expected of a change when it came, and its place in the
// order by that. The fields are a Change's own, in Go and as it is stored.
type Foreseen struct {
	Virtual   Instant       `json:"virtual,omitempty"`   // expected finish less its lane's head start, fixed by the first analysis and by another lane only
	Lead      time.Duration `json:"lead,omitempty"`      // how much less Virtual is because a freeze lets the change through, and holds others that were before it
	Predicted time.Duration `json:"predicted,omitempty"` // duration of its first build, as predicted on arrival
	Chance    float64       `json:"chance,omitempty"`    // that it would land, as predicted on arrival
	Rivals    int           `json:"rivals,omitempty"`    // changes on arrival that it could break with
	Guess     Guess         `json:"guess,omitzero"`      // the forecast of a trained model
}

// Guess is what a trained model has said of a change at its last analysis, beside what the
// queue knew without one; zero: nothing.
type Guess struct {
	Model   int     `json:"model,omitempty"`   // version of the model that has said so
	Raw     float64 `json:"raw,omitempty"`     // chance that it is sound on its own, by the model alone; 0: it does not say
	Shifted float64 `json:"shifted,omitempty"` // the same, shifted by the outcomes of the model's other forecasts then
	Without float64 `json:"without,omitempty"` // the chance without the model
	Good    float64 `json:"good,omitempty"`    // the chance that is believed, between these two

	Took  time.Duration `json:"took,omitempty"`  // how long its first build takes, by the model; 0: it does not say
	Usual time.Duration `json:"usual,omitempty"` // the same without the model
}

// Manner is how a change lands: as which commits, with which messages, on top of which change.
// The fields are a Change's own, in Go and as it is stored.
type Manner struct {
	Method  config.Method `json:"method,omitempty"` // how it lands; empty: by merge
	Skip    bool          `json:"skip,omitempty"`   // where it lands as several commits, only the last is verified
	Wording Wording       `json:"wording,omitzero"` // the messages of its commits on the branch
	Below   CommitID      `json:"below,omitempty"`  // head of the change that it is (or was, until that landed) on top of, if that lands as other commits than its own
}

// Course is what has happened to a change on its way: builds, rollups, and what
// came to nothing. The fields are a Change's own, in Go and as it is stored.
type Course struct {
	Stale   bool     `json:"stale,omitempty"`    // its footprint was made on a main that has changed under it
	Alone   bool     `json:"alone,omitempty"`    // it was in a rollup that has been given up or split down to it, and joins none again
	Apart   bool     `json:"apart,omitempty"`    // a build of it came to nothing for a reason that may lie in a change with it: it is built when nothing is ahead of it
	Builds  int      `json:"builds,omitempty"`   // builds started for it
	Spent   float64  `json:"spent,omitempty"`    // their sum in whole builds of all that it affects: a build of a part counts as that part
	Green   int      `json:"green,omitempty"`    // of those for it, builds that have passed
	Red     int      `json:"red,omitempty"`      // and that have failed
	Rollup  ChangeID `json:"rollup,omitempty"`   // the first change of the rollup that it has joined: all changes with the same Rollup are to land in one merge
	After   ChangeID `json:"after,omitempty"`    // it was in a rollup that has failed, and of which the part with this change is tried first
	Infra   int      `json:"infra,omitempty"`    // infrastructure errors since its last real result
	InfraOn []string `json:"infra_on,omitempty"` // the hosts that they were on, as far as they are known
	Cut     []string `json:"cut,omitempty"`      // steps that have been ended by a learned time-out in a build for it: they get the whole time-out from now on
	OwnCI   *OwnCI   `json:"own_ci,omitempty"`   // checks that have passed on its own head; nil: not looked at
	Stuck   Instant  `json:"stuck,omitempty"`    // since when its merges cannot be made
	Unfit   Instant  `json:"unfit,omitempty"`    // since when no runner has what its builds ask for
}

// Ending is how and when a change has ended, or what keeps it from that. The
// fields are a Change's own, in Go and as it is stored.
type Ending struct {
	Decided Instant  `json:"decided,omitempty"`
	Line    Line     `json:"line,omitzero"`   // landed: where its commit is
	Until   Instant  `json:"until,omitempty"` // parked: looked at again then
	Verdict *Verdict `json:"verdict,omitempty"`
	Refused *Refused `json:"refused,omitempty"` // the forge's refusal to land it
	Recall  string   `json:"recall,omitempty"`  // landing: the user that has taken it back since its push was written; that counts if the push does not move main
	Unseen  bool     `json:"unseen,omitempty"`  // landing: its head was pushed by somebody else after the command, as was heard since its push was written; that counts as Recall does
	Unruled []string `json:"unruled,omitempty"` // landing: the labels of its rule that were taken off since, and are off; they count as Recall does
}

// Consent is the last known state of the approvals that people must give to a pull request. The
// fields are a Change's own, in Go and as it is stored.
type Consent struct {
	Met     Instant `json:"met,omitempty"`     // when what is asked of its pull request was last seen to be met; 0: nobody has asked
	Vouched bool    `json:"vouched,omitempty"` // an administrator asked for it, which counts as an approval of its head

	Approved bool     `json:"approved,omitempty"` // an administrator has approved its head, as last seen; not asked where it needs none
	Spared   []string `json:"spared,omitempty"`   // labels of its pull request that a freeze excepts, as last seen; hostile text

	Kept   bool    `json:"kept,omitempty"`    // its head was approved, and then moved by us and put back, or made anew by the forge: the forge may have dismissed these approvals
	KeptAt Instant `json:"kept_at,omitempty"` // when that was
}

// Would is what would become of a pull request that is not in the queue.
type Would struct {
	Unmet     Reason     `json:"unmet,omitzero"`      // the requirement that keeps it out; of several, the first
	Failed    []string   `json:"failed,omitempty"`    // steps with failures that it was rejected for before, at this very commit
	Clashes   []string   `json:"clashes,omitempty"`   // paths at which it does not merge with the target branch, where nothing keeps it out
	Already   bool       `json:"already,omitempty"`   // its merge changes nothing on the target branch, where nothing keeps it out
	Conflicts []Conflict `json:"conflicts,omitempty"` // with pending changes, in their order
	More      int        `json:"more,omitempty"`      // conflicts that are not listed
	Pending   int        `json:"pending,omitempty"`   // changes in the queue
	Auto      []Ruling   `json:"auto,omitempty"`      // the rulings of the rules of `auto`, in their order
}

// Verdict is how a change ended, with the evidence people are shown.
type Verdict struct {
	Commit    CommitID   `json:"commit,omitempty"`    // landed: the commit on main; rejected: the real commit that failed
	Tested    bool       `json:"tested,omitempty"`    // landed: this very commit was built; else every key of it was verified elsewhere
	Keys      int        `json:"keys"`                // keys the landed commit added
	Reused    int        `json:"reused"`              // of these, passed in builds made for something else
	Heads     int        `json:"heads,omitempty"`     // of these, passed on the own head of a change, in no build of the queue
	Bypassed  []ChangeID `json:"bypassed,omitempty"`  // undecided conflicting changes ahead of it at that moment
	Together  []ChangeID `json:"together,omitempty"`  // landed: the other changes of the same merge
	Overtook  int        `json:"overtook,omitempty"`  // conflicting changes that arrived earlier and were undecided
	Attempts  int        `json:"attempts,omitempty"`  // most attempts that any of its keys needed
	Failures  []Evidence `json:"failures,omitempty"`  // rejected: the failures
	Excused   []string   `json:"excused,omitempty"`   // landed: targets in quarantine that have failed, which did not count; at most MostExcused
	Conflicts []string   `json:"conflicts,omitempty"` // rejected: paths that do not merge
	Against   []ChangeID `json:"against,omitempty"`   // rejected: landed changes that touch these, the latest first
	MainRed   int        `json:"main_red,omitempty"`  // landed: unproven or red keys of main at that moment
	Between   []ChangeID `json:"between,omitempty"`   // landed: the changes below it that were not below it when it was built; its verified content has nothing of them
	Commits   int        `json:"commits,omitempty"`   // landed, or tried: the number of its commits, where there is more than one
	Along     bool       `json:"along,omitempty"`     // landed: the pull request's branch was moved to Commit before
	Closed    bool       `json:"closed,omitempty"`    // with Along: the forge shows it as closed all the same, as far as is known
	ByForge   bool       `json:"by_forge,omitempty"`  // landed: the forge has merged the pull request itself; Commit has the tree that the queue's own would have there
	Unproven  bool       `json:"unproven,omitempty"`  // with ByForge: on a commit of main that somebody else had pushed meanwhile, for which nothing is proven
}

// MostExcused bounds the targets that a Verdict names as excused.
const MostExcused = 10

// Evidence is one failing step with the details that a person needs. The commit that ran may
// belong to another change's build: a key is verified once for all changes that need it.
type Evidence struct {
	Step     string   `json:"step"`
	Run      string   `json:"run,omitempty"` // the step's command, as configured
	Targets  []string `json:"targets"`
	Build    BuildID  `json:"build"`
	Ran      Ran      `json:"ran,omitzero"`
	Attempts int      `json:"attempts,omitempty"` // builds that gave a result, all of them failing
	Tail     string   `json:"tail"`               // last lines of the log; hostile text
	Timeout  bool     `json:"timeout,omitempty"`
	Pages    []Page   `json:"pages,omitempty"` // of its last runs

	Runs  int `json:"runs,omitempty"`  // of a target that the change brings: how many runs of it have to pass (config.Step.StrictNew); 0: it is not new
	Fails int `json:"fails,omitempty"` // of these, failed by now

	Good    Instant `json:"good,omitempty"`    // when the same was last seen to pass on the target branch; 0: the branch does not have it, or an older version wrote this
	Control BuildID `json:"control,omitempty"` // the build that showed Good, where the same was run again for this

	Partners []ChangeID `json:"partners,omitempty"` // the same has passed with the change before these landed, and they affect it; in order, at most MostPartners

	At   Instant `json:"at,omitempty"`   // of the target branch itself: when it ran last
	Host string  `json:"host,omitempty"` // of the target branch itself: where that was, if known
}

// MostPartners bounds the changes that an Evidence names as partners: if there are more, none
// is named.
const MostPartners = 3

// Output returns the tail without the lines in which the runner repeats Step
// and Run: these are for readers of the whole log. Of the queue's own step,
// made when the configuration cannot be used, it leaves out all lines of the
// queue.
func (e Evidence) Output() string {
	ours := "[submitqueue] step "
	if e.Step == config.Path {
		ours = "[submitqueue] "
	}
	var kept []string
	for line := range strings.Lines(e.Tail) {
		if !strings.HasPrefix(line, ours) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// Ran says on what a build ran: the trial merge Commit, which puts Chain and
// then Change on the commit Main of the target branch.
type Ran struct {
	Change ChangeID   `json:"change,omitempty"` // empty: main itself
	Commit CommitID   `json:"commit,omitempty"`
	Main   CommitID   `json:"main,omitempty"`
	Chain  []ChangeID `json:"chain,omitempty"` // changes assumed landed on Main before Change
}

// ReasonCode says why something waits or ended; the words for people are in
// app, one per code.
type ReasonCode string

// NameMerged is the name of ReasonClosed, ReasonNotOpen and ReasonAlready for a pull request that
// is merged: nobody can reopen that.
const NameMerged = "merged"

// DetailOurs is the Detail of ReasonPushed where we have moved the head for a landing that
// did not happen, and may not put it back.
const DetailOurs = "ours"

// The reasons.
const (
	ReasonInspecting    ReasonCode = "inspecting"     // asking the forge about the pull request
	ReasonAnalyzing     ReasonCode = "analyzing"      // computing its footprint; Detail: the result of the attempt before
	ReasonWaitsResolve  ReasonCode = "resolving"      // its trial merge is being made
	ReasonWaitsBuild    ReasonCode = "building"       // Names: builds under way
	ReasonWaitsSlot     ReasonCode = "slot"           // no free runner; Names: its place among the builds that wait for one, how many these are
	ReasonWaitsWindow   ReasonCode = "window"         // too far back to be planned for; Names: how many are
	ReasonWaitsShared   ReasonCode = "shared"         // builds of other changes verify its keys; Names: these changes
	ReasonWaitsUnlikely ReasonCode = "unlikely"       // its build is worth too little; Names: its value, the threshold; Until: when waiting lifts it
	ReasonWaitsTime     ReasonCode = "early"          // its build would be too early; Names: the changes ahead that it waits for; Until: when it is due
	ReasonWaitsCap      ReasonCode = "cap"            // its builds on assumptions are used up; Names: builds, limit
	ReasonWaitsHour     ReasonCode = "hour"           // the builds of this hour are used up; Names: limit; Until
	ReasonWaitsKnown    ReasonCode = "known"          // its likeliest future has been built; Names: the results there
	ReasonWaitsQuota    ReasonCode = "quota"          // Names: the quota, its builds at one time, when it binds
	ReasonWaitsAhead    ReasonCode = "ahead"          // Names: undecided conflicting changes ahead
	ReasonWaitsThrough  ReasonCode = "let-through"    // Names: changes that the freeze lets through, and that have come before it for that reason
	ReasonWaitsApart    ReasonCode = "apart"          // no build with those ahead of it could be made, which may be their fault: it waits for their verdicts
	ReasonWaitsSplit    ReasonCode = "split"          // a rollup that it was in, or that is ahead of it, has failed; Names: the part of that rollup that is tried first
	ReasonWaitsTrain    ReasonCode = "train"          // proven; waits for the push that is under way
	ReasonWaitsUpgrade  ReasonCode = "upgrade"        // proven; the rest of main is being built under a newer version of the analyzer; Until: at the latest
	ReasonWaitsMain     ReasonCode = "main-unproven"  // main itself is being built first; Names: its red targets, which wait for a repair
	ReasonWaitsControl  ReasonCode = "control"        // it has failed; the same is run on main without it before that counts. Names: steps
	ReasonUnread        ReasonCode = "unread"         // a part that it touches could not be analyzed and counts as one target; Detail: why; Until: when it is analyzed again
	ReasonUnanalyzed    ReasonCode = "unanalyzed"     // it could not be analyzed and counts as touching everything; Detail: why; Until: when it is analyzed again
	ReasonPaused        ReasonCode = "paused"         // Names: the author of the pause, where it has one; Detail: why
	ReasonShut          ReasonCode = "branch-refuses" // landings are paused: the forge refuses every push; Detail: the rule
	ReasonRenamed       ReasonCode = "renamed"        // the target branch has another name; Names: the old one, the new one
	ReasonLanding       ReasonCode = "landing"        // being pushed
	ReasonLanded        ReasonCode = "landed"
	ReasonFailed        ReasonCode = "failed"         // a real build failed
	ReasonMergeConflict ReasonCode = "merge-conflict" // Names: paths; Detail: why it cannot be merged by its method, where that is no conflict
	ReasonAlready       ReasonCode = "already"        // the merge changes nothing: already on main, or reverted there; Names: NameMerged, where others have merged it
	ReasonCancelled     ReasonCode = "cancelled"      // Names: the user that cancelled it
	ReasonPushed        ReasonCode = "head-moved"     // the author pushed; the approval was for another head
	ReasonHeardLate     ReasonCode = "heard-late"     // the command was heard long after it was given, and the pull request has changed since: its head may be another one; Names: the present one
	ReasonClosed        ReasonCode = "closed"         // Names: NameMerged, where it is closed because it was merged
	ReasonRetargeted    ReasonCode = "retargeted"
	ReasonSuperseded    ReasonCode = "superseded"   // another command took its place
	ReasonRestacked     ReasonCode = "restacked"    // its commits were made anew on others, unchanged, and it goes on at that head, in its place; Names: the head that it had, the one that it has
	ReasonParkedLimit   ReasonCode = "parked-limit" // parked for too long
	ReasonUnruled       ReasonCode = "unruled"      // the rule that entered it does not hold any more; Names: the rule, the label that was taken off

	ReasonInfra      ReasonCode = "infrastructure" // parked: infrastructure errors reached their cap; Detail: the last
	ReasonBenched    ReasonCode = "benched"        // slots are missing: a host fails what others pass, and gets no builds. Names: the hosts; of a note on one: the host, the step, its faults, of so many builds; Until: its next probe
	ReasonWaitsTools ReasonCode = "tools"          // no host has the tools that its steps are verified with
	ReasonNoRunner   ReasonCode = "no-runner"      // parked: no runner has what a step asks for
	ReasonNoCheck    ReasonCode = "no-check"       // parked: a check of the forge's CI did not appear; Detail: which, and where
	ReasonBuildCap   ReasonCode = "build-cap"      // parked: its builds are used up
	ReasonNoTool     ReasonCode = "no-tool"        // parked: no runner can run what main is verified by, a command is not there; Names: targets, Unrun
	ReasonRedMain    ReasonCode = "red-main"       // parked: fails only where main itself is red; Names: targets
	ReasonCulprit    ReasonCode = "culprit"        // said of a commit of main: it has turned main red; Names: the commit, the step, the targets; Culprits
	ReasonBlame      ReasonCode = "blame"          // answer: Culprits; without any, Names: "searching" and the red targets, or none
	ReasonProtected  ReasonCode = "protection"     // parked: the forge refused to take it, pushed alone; Detail: the rule; Until: it is tried again then
	ReasonStuck      ReasonCode = "action-failed"  // parked: an action failed too often; Detail: its error
	ReasonParent     ReasonCode = "stack-parent"   // parked: the pull request below it is not in the queue; Names: its number and, if it was in the queue, its phase and reason

	ReasonRequirements ReasonCode = "requirements" // parked: its pull request does not meet what is asked of it; Unmet

	ReasonNoPermission ReasonCode = "no-permission" // refused: Names: user, needed level, the lane that needs it, if one does
	ReasonUnknownLane  ReasonCode = "unknown-lane"  // refused: Names: the lane that was asked for, the lanes that there are
	ReasonNoMethod     ReasonCode = "no-method"     // refused: Names: the method that was asked for, those that are allowed
	ReasonNotOpen      ReasonCode = "not-open"      // Names: NameMerged, where it has landed or was merged by others
	ReasonDraft        ReasonCode = "draft"
	ReasonWrongBase    ReasonCode = "wrong-base"      // Names: the pull request's base, ours
	ReasonStackCircle  ReasonCode = "stack-circle"    // Names: numbers of pull requests, each on top of the next, the last on one of them
	ReasonStackDeep    ReasonCode = "stack-deep"      // more than MaxStack are below it
	ReasonNeedsApprove ReasonCode = "needs-approval"  // Names: protected paths
	ReasonNoConfig     ReasonCode = "no-config"       // main has no valid configuration; Detail: why
	ReasonUnknown      ReasonCode = "unknown-command" // Names: the word that was read, the nearest command
	ReasonNotQueued    ReasonCode = "not-queued"
	ReasonHelp         ReasonCode = "help"        // asked for the commands
	ReasonForced       ReasonCode = "forced"      // the target branch was force-pushed; Names: old tip, new tip
	ReasonTooLate      ReasonCode = "too-late"    // cancel or push after landing was written
	ReasonTrying       ReasonCode = "trying"      // being built, and not to land
	ReasonTried        ReasonCode = "tried"       // it has passed on main, and was not to land
	ReasonExplain      ReasonCode = "explain"     // answer: all that is known of it
	ReasonExplained    ReasonCode = "explained"   // its expected outcome is known
	ReasonInQueue      ReasonCode = "in-queue"    // refused: a try of a change that the queue builds anyway
	ReasonDelegated    ReasonCode = "delegated"   // answer: Names: the user with the right to land it, the author of the command
	ReasonUndelegated  ReasonCode = "undelegated" // answer: Names: the users that it was taken back from
	ReasonNowQuota     ReasonCode = "now-quota"   // refused: Names: the limit of a day; Until: when there is room again
	ReasonForgotten    ReasonCode = "forgotten"   // refused: too much has been forgotten lately. Names: the thing to be forgotten
	ReasonBadUntil     ReasonCode = "bad-until"   // refused: Names: the text that was read as the end of a freeze
	ReasonForge        ReasonCode = "forge"       // the forge could not be asked; Detail: its error
)

// Reason says why, as data.
type Reason struct {
	Code   ReasonCode `json:"code,omitempty"`
	Names  []string   `json:"names,omitempty"`
	Detail string     `json:"detail,omitempty"` // hostile text
	Until  Instant    `json:"until,omitempty"`  // looked at again then

	Unmet []Requirement `json:"unmet,omitempty"` // ReasonRequirements: all that is not met

	Culprits []Culprit `json:"culprits,omitempty"` // ReasonCulprit, ReasonBlame: the commits that have turned main red
	Drift    []Drift   `json:"drift,omitempty"`    // ReasonRedMain: the targets of Names that have drifted

	Unrun []Evidence `json:"unrun,omitempty"` // ReasonNoTool: the steps that could not be run
}

// Wording is the messages and the author of the commits that a change lands as.
// It is fixed when the change comes, so that the same merge always makes the same
// commit. All of it is hostile text.
type Wording struct {
	Text    string `json:"text,omitempty"`    // title and body; empty: the usual line
	Credits string `json:"credits,omitempty"` // trailers, a line each: co-authors and sign-offs
	Author  string `json:"author,omitempty"`  // "Name <address>"; empty: the queue
}
