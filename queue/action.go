package queue

import (
	"strconv"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// Action is something to be done outside: at least once, under its key, after
// the state that asks for it has been stored. Its result arrives as an event
// that names the key. If the deadline of an action passes without that event,
// the action is tried again under a new attempt, with a limit.
type Action struct {
	Key       string  `json:"key"`
	Attempt   int     `json:"attempt"`           // one more than have failed
	Renewed   int     `json:"renewed,omitempty"` // how often it was asked for anew at this attempt, without having failed
	At        Instant `json:"at"`
	NotBefore Instant `json:"not_before,omitempty"` // back-off after a failure
	Deadline  Instant `json:"deadline"`
	Error     string  `json:"error,omitempty"` // of the attempt before, for people
	Task      Task    `json:"-"`
}

// ActionKey names an attempt of a task. Kind and subject say what is to be done.
// The attempt and the number of renewals are part of the name, so that a retry or a
// renewal is another action: an answer to one is no answer to the other.
func ActionKey(kind, subject string, attempt, renewed int) string {
	key := kind + "/" + subject + "/" + strconv.Itoa(attempt)
	if renewed > 0 {
		key += "." + strconv.Itoa(renewed)
	}
	return key
}

// Task is what an action does, at least once. The row of each kind in the performer's
// table (app/perform_kinds.go) says why doing it twice is the same as doing it once; a
// test there does each twice.
type Task interface {
	// Name returns the task's kind and subject, which name its actions.
	Name() (kind, subject string)
}

// Observe reads the target branch: its tip, the commits since From, its configuration. Result:
// Observed.
type Observe struct {
	From CommitID `json:"from"`
}

// Survey compares the keys of main's whole tree with the ledger. Result: Surveyed.
type Survey struct {
	Commit   CommitID `json:"commit"`
	Analyzer string   `json:"analyzer,omitempty"` // version to judge it by; empty, or not known: the newest
	Former   string   `json:"former,omitempty"`   // version with passes that are looked through, too; set where Analyzer is not in force
}

// Watch computes main's keys of some steps and targets, or, with Before, those keys of
// main that were last seen to pass before that, the oldest first. Result: Controlled.
type Watch struct {
	Commit   CommitID `json:"commit"`
	Analyzer string   `json:"analyzer,omitempty"` // version to judge it by
	Epoch    int      `json:"epoch"`              // the stretch of main's line that Commit is on
	Seq      int      `json:"seq,omitempty"`      // where on that stretch
	Aims     []Aim    `json:"aims,omitempty"`
	Before   Instant  `json:"before,omitempty"`
	Most     int      `json:"most,omitempty"` // with Before: no more keys than these
}

// Inspect asks the forge about a pull request and the author of a command.
// Result: Inspected.
type Inspect struct {
	Request string `json:"request"`
	Number  int    `json:"number"`
	User    string `json:"user"`
}

// Analyze computes the footprint of a change on main, or on main with the changes that it is on
// top of. Result: Analyzed.
type Analyze struct {
	Change ChangeID `json:"change"`
	Main   CommitID `json:"main"`
	Under  []Pick   `json:"under,omitempty"` // the changes that it is on top of, the lowest first
	Pick   Pick     `json:"pick"`

	Analyzer string `json:"analyzer,omitempty"` // version in force
}

// Meet tries whether a change merges with each of some other changes that touch
// a path in common with it: the change is merged onto the merge of the other
// one onto Main. Result: Met.
type Meet struct {
	Change ChangeID `json:"change"`
	Main   CommitID `json:"main"`
	Pick   Pick     `json:"pick"`
	With   []Pick   `json:"with"`
}

// Pick is what the performer needs to merge a change: the same picks on the
// same base make the same commits.
type Pick struct {
	Change  ChangeID      `json:"change"`
	Number  int           `json:"number"`
	Head    CommitID      `json:"head"`
	HeadRef string        `json:"head_ref"`
	Title   string        `json:"title"`
	Author  string        `json:"author"`
	Arrival Instant       `json:"arrival"`
	Method  config.Method `json:"method,omitempty"` // empty: merge
	Wording Wording       `json:"wording,omitzero"`
	Skip    bool          `json:"skip,omitempty"`  // as in Change
	Below   CommitID      `json:"below,omitempty"` // as in Change

	Revert CommitID `json:"revert,omitempty"` // as in Change
}

// Resolve makes the commits of a path by trial merges and computes their keys.
// Result: Resolved.
type Resolve struct {
	Base  CommitID `json:"base"`
	Picks []Pick   `json:"picks"` // each on the commit of the one before

	// Together is how many picks at the end are merged into one commit, a rollup,
	// with the commit before them and their heads as parents. Where one of them
	// does not merge, or brings nothing, the rollup does not merge.
	Together int `json:"together,omitempty"`

	Analyzer string `json:"analyzer,omitempty"` // version that Base is judged by; each pick by the one below it, where its settings have that
	Former   string `json:"former,omitempty"`   // version with passes that are looked through, too

	Protected []string `json:"protected,omitempty"` // globs of the paths that need an administrator's approval
}

// Guard names the globs of the task; "" where there are none.
func (t Resolve) Guard() Digest { return GuardOf(t.Protected) }

// GuardOf names globs of protected paths; "" where there are none.
func GuardOf(globs []string) Digest {
	if len(globs) == 0 {
		return ""
	}
	return digest.Of(append([]string{"guard1"}, globs...)...)[:16]
}

// Run builds. Results: BuildStarted, JobDone, BuildDone.
type Run struct {
	Build BuildID `json:"build"`
}

// Stop cancels a build. Result: Done; the build ends by its own BuildDone.
type Stop struct {
	Build BuildID `json:"build"`
}

// ProbeHost makes a benched host run a build that another host has passed:
// Host.Bench.Probe, if its id is Build. Result: BuildDone.
type ProbeHost struct {
	Host  string  `json:"host"`
	Build BuildID `json:"build"`
}

// Land pushes the chain of the state's Push. Result: Pushed.
type Land struct {
	Push string `json:"push"`
}

// Publish makes the comment and the check of a pull request agree with the state. Result:
// Done, with a digest of the shown facts.
type Publish struct {
	Number int    `json:"number"`
	Want   Digest `json:"want"` // digest of the facts that are to be shown
}

// React acknowledges a command. Result: Done.
type React struct {
	Number   int    `json:"number"`
	Comment  string `json:"comment"`
	Accepted bool   `json:"accepted"`
	Seen     bool   `json:"seen,omitempty"` // it has arrived, and is looked into
}

// Name implements Task.
func (t Observe) Name() (string, string) { return "observe", string(t.From) }

// Name implements Task.
func (t Survey) Name() (string, string) {
	subject := string(t.Commit)
	if t.Former != "" {
		subject += "+" + string(digest.Of("version1", t.Analyzer)[:12])
	}
	return "survey", subject
}

// Name implements Task.
func (t Watch) Name() (string, string) {
	if t.Before != 0 {
		return "watch", string(t.Commit)
	}
	fields := []string{"control1"}
	for _, a := range t.Aims {
		fields = append(fields, a.Step, a.Target)
	}
	return "watch", string(t.Commit) + "+" + string(digest.Of(fields...)[:12])
}

// Name implements Task.
func (t Inspect) Name() (string, string) { return "inspect", t.Request }

// Name implements Task.
func (t Analyze) Name() (string, string) {
	subject := string(t.Change) + "@" + string(t.Main)
	for _, p := range t.Under {
		subject += "+" + string(p.Change)
	}
	return "analyze", subject
}

// Name implements Task.
func (t Meet) Name() (string, string) {
	with := []string{"meet1"}
	for _, p := range t.With {
		with = append(with, string(p.Change))
	}
	return "meet", string(t.Change) + "+" + string(digest.Of(with...)[:12])
}

// Name implements Task.
func (t Resolve) Name() (string, string) {
	subject := string(t.Base)
	for i, p := range t.Picks {
		if i > len(t.Picks)-t.Together {
			subject += "&" + string(p.Change)
		} else {
			subject += "+" + string(p.Change)
		}
	}
	return "resolve", string(digest.Of("resolve1", subject)[:24])
}

// Name implements Task.
func (t Run) Name() (string, string) { return "run", string(t.Build) }

// Name implements Task.
func (t Stop) Name() (string, string) { return "stop", string(t.Build) }

// Name implements Task.
func (t ProbeHost) Name() (string, string) { return "probe", string(t.Build) }

// Name implements Task.
func (t Land) Name() (string, string) { return "land", t.Push }

// Name implements Task.
func (t Publish) Name() (string, string) {
	return "publish", strconv.Itoa(t.Number) + "-" + string(t.Want[:min(12, len(t.Want))])
}

// Name implements Task.
func (t React) Name() (string, string) {
	if t.Seen {
		return "react", t.Comment + "+seen"
	}
	return "react", t.Comment
}
