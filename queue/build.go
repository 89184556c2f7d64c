package queue

import (
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// BuildID identifies one attempt to verify asked keys on the commit of a path.
type BuildID string

// NewBuildID returns the identity of a build: the link (hence change, head
// and base chain), the asked keys (hence step digests) and the attempt. A
// second attempt is another build, so no retry is swallowed by its own key.
func NewBuildID(link LinkID, keys []Key, attempt int) BuildID {
	return BuildID(digest.Of("build1", string(link), string(SetID(keys)), strconv.Itoa(attempt))[:16])
}

// Build is one attempt to verify the asked keys on a commit.
type Build struct {
	ID        BuildID       `json:"id"`
	Link      LinkID        `json:"link"`
	Change    ChangeID      `json:"change,omitempty"` // empty: a build of main itself
	Commit    CommitID      `json:"commit"`
	Main      CommitID      `json:"main,omitempty"`  // the commit of main that Chain is put on
	Chain     []ChangeID    `json:"chain,omitempty"` // changes that Commit puts on Main before Change
	Also      []ChangeID    `json:"also,omitempty"`  // changes that it is for besides Change, in order
	Attempt   int           `json:"attempt"`
	Jobs      []Job         `json:"jobs"`
	At        Instant       `json:"at"` // when it was asked for
	Started   Instant       `json:"started,omitempty"`
	Predicted time.Duration `json:"predicted,omitempty"` // from its start to its end
	Value     float64       `json:"value"`               // its value in the plan, for people and for pre-emption
	Worth     Worth         `json:"worth,omitzero"`      // why it was started, and the parts of Value
	Why       string        `json:"why,omitempty"`       // the same as a sentence, in records of older versions
	Cancel    bool          `json:"cancel,omitempty"`    // cancelling: holds its slot until it is done
	Avoid     []string      `json:"avoid,omitempty"`     // hosts on which what it is asked for has failed: another one is better; sorted
	Shun      []string      `json:"shun,omitempty"`      // benched hosts: none of them gets it while another one can run it; sorted
	Only      string        `json:"only,omitempty"`      // the host that it is to probe: no other one runs it
	Queue     string        `json:"queue,omitempty"`     // the queue that the build is of, where several queues share runners; set where it is handed out
}

// Job is the part of a build that one step verifies. Results can be written
// for its keys only.
type Job struct {
	Step config.Step `json:"step"`
	Keys []Key       `json:"keys"`
	Done bool        `json:"done,omitempty"`

	Clouded bool `json:"clouded,omitempty"` // when the build was asked for, main itself was not proven in the step

	// Outdated says that the job ended with passes of a run before the build was asked
	// for, which say nothing of some key any more.
	Outdated bool `json:"outdated,omitempty"`

	// Expect is the expected time of each key, in the order of Keys, by which the job is spread
	// over runners. It is set where a build is handed out; nil: unknown.
	Expect []time.Duration `json:"expect,omitempty"`

	Limit *Limit `json:"limit,omitempty"` // when it is ended before its step's time-out; nil: it has all of that
	Cut   bool   `json:"cut,omitempty"`   // it was ended by Limit, and has shown nothing
}

// Limit is a time-out that was learned.
type Limit struct {
	After time.Duration `json:"after"` // from the job's begin
	Usual time.Duration `json:"usual"` // the 99th percentile of the step's runs, when the build was asked for
	Runs  int           `json:"runs"`  // of so many runs
}

// Targets returns the names of the job's targets, in the order of its keys.
func (j Job) Targets() []string {
	names := make([]string, len(j.Keys))
	for i, k := range j.Keys {
		names[i] = k.Target
	}
	return names
}

// Keys returns all keys that the build was asked for.
func (b *Build) Keys() []Key {
	var keys []Key
	for _, j := range b.Jobs {
		keys = append(keys, j.Keys...)
	}
	return keys
}

// For returns the changes that the build is for, in order; none for a build of
// main itself.
func (b *Build) For() []ChangeID {
	if b.Change == "" {
		return nil
	}
	return append(slices.Clone(b.Also), b.Change)
}

// IsFor reports whether the build is for a change.
func (b *Build) IsFor(id ChangeID) bool {
	return id != "" && (b.Change == id || slices.Contains(b.Also, id))
}

// Cold reports whether runners must run the build without caches, in which steps of any change
// have left files: so are builds that repeat a failure, builds of main itself, and builds that
// probe a host. No change is turned down because of files that another has left.
func (b *Build) Cold() bool { return len(b.Avoid) > 0 || b.Only != "" || b.Change == "" }

// Assumes returns the changes that the build takes to have landed before those
// that it is for.
func (b *Build) Assumes() []ChangeID {
	return slices.DeleteFunc(slices.Clone(b.Chain), b.IsFor)
}

// Duration is what has been seen of one step on one target, under the step's
// name and the target's: the time it takes, and how often it has failed lately.
type Duration struct {
	ID   string        `json:"id"` // step name + "\x00" + target
	Mean time.Duration `json:"mean"`
	N    int           `json:"n"`

	Failed  float64 `json:"failed,omitempty"`  // share of the latest results that were failures; one of several targets that failed together counts as its part
	Flaked  float64 `json:"flaked,omitempty"`  // share of the latest results that were passes after a failure of the same key, or within the same run
	Flakes  int     `json:"flakes,omitempty"`  // how many results were such passes, by name, since the queue has known the target
	Excused int     `json:"excused,omitempty"` // how many results were failures in quarantine, since the queue has known the target

	Shaken   Instant `json:"shaken,omitempty"`    // when a result was the last to be counted in Flakes or Excused
	ShakenIn BuildID `json:"shaken_in,omitempty"` // the build that showed it

	Red bool `json:"red,omitempty"` // the latest result was a failure, of the target by name or of the step without names
}

// Learned is what a queue has learned from its own results, besides the durations.
type Learned struct {
	Pace []Pace `json:"pace,omitempty"` // by the power of two of a build's work in seconds
	Good Rate   `json:"good,omitzero"`  // changes that were sound, of those decided
	Pair Rate   `json:"pair,omitzero"`  // pairs that broke each other, of those that met

	Main    Rate `json:"main,omitzero"`     // steps run on main itself that have passed, of those with a result
	Failing int  `json:"failing,omitempty"` // changes turned down for a failure since one has landed

	Took []Took `json:"took,omitempty"` // by step, sorted by name: those with learned time-outs

	Shift     Shift     `json:"shift,omitzero"`     // of the chances of the model in use, by the outcomes
	Credit    Credit    `json:"credit,omitzero"`    // in the model in use, against what is known without it
	Foresight Foresight `json:"foresight,omitzero"` // how far off forecasts were
	Promised  Instant   `json:"promised,omitempty"` // when forecasts were last written down
}

// Pace is how long builds of about one size took, against their targets added up.
type Pace struct {
	N    float64 `json:"n"`    // builds, up to a bound
	Mean float64 `json:"mean"` // of the logarithm of the ratio
	Var  float64 `json:"var"`
}

// Took is how long the runs of a step took that have passed.
type Took struct {
	Step string `json:"step"`
	Runs []Runs `json:"runs"` // sorted by Bin
}

// Runs are how many runs took about the same (package predict, took.go).
type Runs struct {
	Bin int `json:"bin"`
	N   int `json:"n"`
}

// Rate is how often something held, of how often it was seen; the latest cases count most.
type Rate struct {
	Held float64 `json:"held"`
	Of   float64 `json:"of"`
}

// Shift moves all chances of a model by the same log-odds.
type Shift struct {
	By          float64 `json:"by"`
	Information float64 `json:"information"` // how much it rests on
}

// Credit is how far a model is believed beyond what it was at first, as log-odds
// (package predict, credit.go).
type Credit struct {
	Good float64 `json:"good,omitempty"` // of its chances
	Took float64 `json:"took,omitempty"` // of its durations
}

// Page is a page for people about a run, at the CI that ran it.
type Page struct {
	Name string `json:"name"` // hostile text
	URL  string `json:"url"`  // hostile text
}
