package demo

import (
	"github.com/submitqueue/submitqueue/cmd/submitqueue/print"

	"math"
	"slices"
	"time"
)

// Figures are what --json writes. The names and types of the members up to
// bypasses are kept; more may follow after them.
type Figures struct {
	Changes         int         `json:"changes"`
	Landed          int         `json:"landed"` // on the branch, as git has it
	Rejected        int         `json:"rejected"`
	WrongOutcomes   int         `json:"wrong_outcomes"` // against the plan, odd commits included
	CommitsChecked  int         `json:"commits_checked"`
	Green           bool        `json:"green"` // commits were checked, and each passed
	Turnaround      Percentiles `json:"turnaround_seconds"`
	Builds          int         `json:"builds"` // for changes, not for main itself
	BuildsPerChange float64     `json:"builds_per_change"`
	Bypasses        int         `json:"bypasses"` // verdicts before a conflicting change ahead was decided

	OvertookSlow int            `json:"overtook_slow"`            // changes asked to land after the slow change, and on main before it
	BuildsSaved  int            `json:"builds_saved"`             // changes that landed as a commit that no build had checked out: the ledger had passes of all its keys
	Keys         int            `json:"keys"`                     // keys that the landed changes added
	Reused       int            `json:"reused"`                   // of these, passed in builds made for another change
	Seconds      float64        `json:"seconds"`                  // from the first command to the last verdict
	PeakMemory   int64          `json:"peak_rss_bytes,omitempty"` // the most memory that the process of server, forge and runner pool had resident; left out where not known
	Wrong        []WrongOutcome `json:"wrong"`
}

// Percentiles are of durations in seconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
}

// percentiles returns the nearest ranks, rounded to milliseconds.
func percentiles(list []time.Duration) Percentiles {
	if len(list) == 0 {
		return Percentiles{}
	}
	slices.Sort(list)
	rank := func(p float64) float64 {
		i := int(math.Ceil(p*float64(len(list)))) - 1
		return math.Round(list[max(0, i)].Seconds()*1000) / 1000
	}
	return Percentiles{P50: rank(0.50), P95: rank(0.95)}
}

// WriteFile writes the figures as JSON.
func (f Figures) WriteFile(path string) error {
	if f.Wrong == nil {
		f.Wrong = []WrongOutcome{}
	}
	return print.Figures(path, f)
}
