package queue

import (
	"slices"
	"time"
)

// Entry is what is known of one key, or of a set of keys that one command
// verified together without naming which of them failed.
//
// A pass of a key is reused for ever (until it expires); a failure is evidence
// with a count and a time, and decides only once there is enough of it.
type Entry struct {
	ID       Digest    `json:"id"`   // KeyID, or SetID of the keys
	Keys     []Key     `json:"keys"` // one, or the set
	Passed   Instant   `json:"passed,omitempty"`
	By       BuildID   `json:"by,omitempty"`       // the build that passed it
	Change   ChangeID  `json:"change,omitempty"`   // whose build it was; empty: main's
	Commit   CommitID  `json:"commit,omitempty"`   // on which it ran
	Failures []Failure `json:"failures,omitempty"` // oldest first
	Tries    int       `json:"tries,omitempty"`    // builds that gave a result, the passing one included
}

// Failure is one failing run.
type Failure struct {
	At      Instant `json:"at"`
	Build   BuildID `json:"build"`
	Machine string  `json:"machine,omitempty"`
	Ran     Ran     `json:"ran,omitzero"`
	Tail    string  `json:"tail,omitempty"` // last lines; hostile text
	Timeout bool    `json:"timeout,omitempty"`
	Pages   []Page  `json:"pages,omitempty"` // of those who ran it
}

// SetID names the set of the given keys, whatever their order; the set of one
// key is the key.
func SetID(keys []Key) Digest {
	if len(keys) == 1 {
		return keys[0].ID()
	}
	ids := make([]string, 0, len(keys)+1)
	for _, k := range keys {
		ids = append(ids, string(k.ID()))
	}
	slices.Sort(ids)
	return DigestOf(append([]string{"set1"}, ids...)...)
}

// Evidence rules: how much failing is enough.
const (
	// FailureExpiry is how long a failure counts.
	FailureExpiry = time.Hour
	// TimeoutsNeeded is how many time-outs make a failure: one is
	// infrastructure until it has happened again.
	TimeoutsNeeded = 2
)

// Decisive reports whether the entry's failures decide at a moment: more than
// `retries` failing runs by different builds that have not expired (time-outs
// count only once there are TimeoutsNeeded), and no pass.
func (e *Entry) Decisive(now Instant, retries int) bool {
	if e.Passed != 0 {
		return false
	}
	failed, timeouts := 0, 0
	for i, f := range e.Failures {
		sameBuild := func(later Failure) bool { return later.Build == f.Build }
		switch {
		case now.Sub(f.At) >= FailureExpiry:
		case f.Build != "" && slices.ContainsFunc(e.Failures[i+1:], sameBuild): // a build counts once
		case f.Timeout:
			timeouts++
		default:
			failed++
		}
	}
	if timeouts >= TimeoutsNeeded {
		failed += timeouts
	}
	return failed > retries
}

// Expires returns when the entry's oldest counted failure stops to count, or 0.
func (e *Entry) Expires(now Instant) Instant {
	var at Instant
	for _, f := range e.Failures {
		if end := f.At.Add(FailureExpiry); end > now {
			at = Earliest(at, end)
		}
	}
	return at
}
