package queue

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue/digest"
)

// Entry is what is known of one key, or of a set of keys that one command
// verified together without naming which of them failed.
//
// A pass of a key is reused until it expires; a failure is evidence with a
// count and a time, and decides only once there is enough of it.
type Entry struct {
	ID       Digest    `json:"id"`   // KeyID, or SetID of the keys
	Keys     []Key     `json:"keys"` // one, or the set
	Passed   Instant   `json:"passed,omitempty"`
	By       BuildID   `json:"by,omitempty"`       // the build that passed it; empty where Head
	Change   ChangeID  `json:"change,omitempty"`   // the change that the build was for; empty: main
	Commit   CommitID  `json:"commit,omitempty"`   // on which it ran
	Step     string    `json:"step,omitempty"`     // name of the step that passed, or, where Opaque, failed; empty in records of older versions
	Machine  string    `json:"machine,omitempty"`  // the agent that it passed on
	Host     string    `json:"host,omitempty"`     // that agent's, as in JobDone; empty: not known
	Head     bool      `json:"head,omitempty"`     // Commit is the head of Change, or the forge's merge of it: the forge's own CI passed the key there, and no build of the queue did
	Tools    string    `json:"tools,omitempty"`    // fingerprint of that host's tools (Step.Fingerprint); empty: nobody asked
	Failures []Failure `json:"failures,omitempty"` // oldest first
	Tries    int       `json:"tries,omitempty"`    // builds that gave a result, the passing one included

	Confirmed Instant `json:"confirmed,omitempty"` // the latest pass, where that came after Passed
	Began     Instant `json:"began,omitempty"`     // when the run began that passed it first, on Commit; 0: an older version wrote it
	Excused   Instant `json:"excused,omitempty"`   // when it has failed in quarantine: Passed is as if it had passed, while the quarantine lasts; never in the archive
	Lost      Instant `json:"lost,omitempty"`      // its pass is revoked: when it was last seen to pass

	// Strict says that the failures are of runs of new targets (config.Step.Repeat): one
	// decides, and no later pass takes it back while it counts.
	Strict bool `json:"strict,omitempty"`

	// Opaque says that the entry is of a set, even where the set has one key: it
	// is of runs of Step that named no target.
	Opaque bool `json:"opaque,omitempty"`
}

// IsSet reports whether the entry is of a set of keys that one command verified
// together, and not of one key.
func (e *Entry) IsSet() bool { return e.Opaque || len(e.Keys) > 1 }

// Good returns when the entry was last seen to pass, or 0.
func (e *Entry) Good() Instant { return max(e.Passed, e.Confirmed) }

// Failure is one failing run.
type Failure struct {
	At      Instant `json:"at"`
	Build   BuildID `json:"build"`
	Machine string  `json:"machine,omitempty"` // the agent that ran it
	Host    string  `json:"host,omitempty"`    // as in JobDone; empty: not known
	Alone   bool    `json:"alone,omitempty"`   // as in JobDone
	Cached  bool    `json:"cached,omitempty"`  // as in JobDone
	Tool    bool    `json:"tool,omitempty"`    // the runner could not run the command: evidence against both the commit and the host
	Ran     Ran     `json:"ran,omitzero"`
	Tail    string  `json:"tail,omitempty"` // last lines; hostile text
	Timeout bool    `json:"timeout,omitempty"`
	Pages   []Page  `json:"pages,omitempty"` // of its runs

	Began   Instant `json:"began,omitempty"`   // when the run began; 0: an older version wrote it
	Since   Line    `json:"since,omitzero"`    // where on main's line the chain of its run begins
	Clouded bool    `json:"clouded,omitempty"` // meanwhile main itself was not proven in the step

	// Beside are, where the failure names no target, further keys that the run may have failed
	// of, by id; an empty one stands for any.
	Beside []Digest `json:"beside,omitempty"`
}

// Start returns when the run began, or, where that is not known, when it ended.
func (f Failure) Start() Instant {
	if f.Began == 0 {
		return f.At
	}
	return f.Began
}

// Until returns when the failure stops counting.
func (f Failure) Until() Instant {
	return f.At.Add(max(FailureExpiry, FailureRuns*f.At.Sub(f.Start())))
}

// OpaqueID is the id of the entry of a set of keys that failed together, of which any may be to
// blame. It is never the id of a key, even if the set has one key.
func OpaqueID(keys []Key) Digest { return setID(keys) }

// SetID is the id of the set of the given keys, in any order; the id of a set of one key is the
// key's.
func SetID(keys []Key) Digest {
	if len(keys) == 1 {
		return keys[0].ID()
	}
	return setID(keys)
}

func setID(keys []Key) Digest {
	ids := make([]string, 0, len(keys)+1)
	for _, k := range keys {
		ids = append(ids, string(k.ID()))
	}
	slices.Sort(ids)
	return digest.Of(append([]string{"set1"}, ids...)...)
}

// Evidence rules: how much failing is enough.
const (
	// FailureExpiry is how long a failure counts at least.
	FailureExpiry = time.Hour
	// FailureRuns is how many times as long as its run took a failure counts, where that
	// is longer: time for the run that repeats it, and for the earlier runs that find
	// the origin of the failure.
	FailureRuns = 4
	// TimeoutsNeeded is how many time-outs make a failure: one is
	// infrastructure until it has happened again.
	TimeoutsNeeded = 2
)

// Decisive reports whether the entry's failures decide at a moment. That takes more than
// `retries` failing runs by different builds that have not expired, and no pass. The runs must
// be on two hosts where there are two, and one of them without caches of other builds.
// Time-outs count only once there are TimeoutsNeeded. A step that a runner could not run counts
// only after that has happened on two hosts, or on the only one. Of a Strict entry one failing
// run decides, on any host, without caches of other builds.
func (e *Entry) Decisive(now Instant, retries int) bool {
	if e.Passed != 0 {
		return false
	}
	var failed, timeouts, tools, counted []Failure
	for i, f := range e.Failures {
		sameBuild := func(later Failure) bool { return later.Build == f.Build }
		switch {
		case now >= f.Until():
		case f.Build != "" && slices.ContainsFunc(e.Failures[i+1:], sameBuild): // a build counts once
		case f.Timeout:
			timeouts = append(timeouts, f)
		case f.Tool:
			tools = append(tools, f)
		default:
			failed = append(failed, f)
		}
	}
	if e.Strict && slices.ContainsFunc(failed, func(f Failure) bool { return !f.Cached }) {
		return true
	}
	counted = failed
	if len(timeouts) >= TimeoutsNeeded {
		counted = append(counted, timeouts...)
	}
	if agreed(tools) {
		counted = append(counted, tools...)
	}
	return len(counted) > retries && agreed(counted) && slices.ContainsFunc(counted, func(f Failure) bool { return !f.Cached })
}

// Unrun reports whether all failures of the entry are that a runner could not run the
// command: a tool is missing, which says nothing of the commit.
func (e *Entry) Unrun() bool {
	return e.Passed == 0 && len(e.Failures) > 0 && !slices.ContainsFunc(e.Failures, func(f Failure) bool { return !f.Tool })
}

// agreed reports whether some failing runs are not the fault of a single host, as
// far as can be told: they were on two hosts, or the last one was on the only host
// there was, or on one that nobody knows.
func agreed(runs []Failure) bool {
	if len(runs) == 0 {
		return false
	}
	last := runs[0]
	for _, f := range runs {
		if f.At >= last.At {
			last = f
		}
	}
	elsewhere := func(f Failure) bool { return f.Host != "" && f.Host != last.Host }
	return last.Host == "" || last.Alone || slices.ContainsFunc(runs, elsewhere)
}

// FailedOn returns the hosts of the entry's failures that still count, sorted.
func (e *Entry) FailedOn(now Instant) []string {
	var hosts []string
	for _, f := range e.Failures {
		if f.Host != "" && now < f.Until() {
			hosts = append(hosts, f.Host)
		}
	}
	slices.Sort(hosts)
	return slices.Compact(hosts)
}

// Expires returns when the first of the entry's failures that still count stops counting, or
// 0.
func (e *Entry) Expires(now Instant) Instant {
	var at Instant
	for _, f := range e.Failures {
		if end := f.Until(); end > now {
			at = Earliest(at, end)
		}
	}
	return at
}
