package demo

import (
	"cmp"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Row is the product's state of one pull request at one moment.
type Row struct {
	Number   int
	Mark     string           // what the forge writes before the number; "": "#"
	Title    string           // hostile text
	Author   string           // hostile text
	Phase    queue.Phase      // "" before the command has arrived
	Reason   queue.ReasonCode // why it is in this phase, or what it waits for
	Detail   string           // the same in words; hostile text
	Progress float64          // 0 to 1
	Running  bool             // a build of it is under way
	Failure  string           // rejected: what failed, in one line; hostile text
	Keys     int              // landed: keys that it added
	Reused   int              // landed: of these, passed in builds made for another change
	Tested   bool             // landed: its very commit was built
	Bypassed int              // undecided conflicting changes ahead of it at its verdict
}

// RowOf makes a row from a view; detail is the product's words for its reason.
func RowOf(v queue.View, detail string, now queue.Instant) Row {
	c := v.Change
	r := Row{
		Number: c.Number, Title: c.Title, Author: c.Author,
		Phase: c.Phase, Reason: c.Reason.Code, Detail: detail, Progress: progress(v, now),
	}
	if len(v.Waits) > 0 && !c.Phase.Final() {
		r.Reason = v.Waits[0].Code
	}
	for _, b := range v.Builds {
		r.Running = r.Running || b.Build.Started != 0
	}
	r.Failure = failure(c.Verdict)
	if c.Verdict != nil {
		r.Keys, r.Reused, r.Tested, r.Bypassed = c.Verdict.Keys, c.Verdict.Reused, c.Verdict.Tested, len(c.Verdict.Bypassed)
	}
	return r
}

// ref is the number as the forge writes it.
func (r Row) ref() string { return cmp.Or(r.Mark, "#") + strconv.Itoa(r.Number) }

// progress estimates how far a change is: the first tenth is the analysis, the last
// tenth is landing, and the part between follows its furthest build.
func progress(v queue.View, now queue.Instant) float64 {
	switch v.Change.Phase {
	case queue.Analyzing:
		return 0.06
	case queue.Landing:
		return 0.95
	case queue.Pending:
		best := 0.0
		for _, b := range v.Builds {
			start, end := b.Build.Started, b.Expected
			if start == 0 || end <= start {
				continue
			}
			best = max(best, min(1, float64(now-start)/float64(end-start)))
		}
		return 0.1 + 0.8*best
	}
	if v.Change.Phase.Final() {
		return 1
	}
	return 0
}

// result is the row's verdict as the product states it.
func (r Row) result() Result {
	switch {
	case r.Phase == queue.Landed:
		return ResultLanded
	case r.Phase == queue.Rejected && r.Reason == queue.ReasonMergeConflict:
		return ResultMerge
	case r.Phase == queue.Rejected && r.Reason == queue.ReasonFailed:
		return ResultBuild
	case r.decided():
		return ResultOther
	}
	return ResultNone
}

// decided reports whether the row is final: it has a verdict, or its command was
// refused.
func (r Row) decided() bool { return r.Phase.Final() || r.Phase == "" && r.Detail != "" }

// why is the text beside the row's label: for a rejection the failure, for a landing
// nothing, and else the product's words.
func (r Row) why() string {
	switch {
	case r.Phase == queue.Landed:
		return ""
	case r.Phase == queue.Rejected && r.Failure != "":
		return r.Failure
	}
	return r.Detail
}

// broke reports whether the row is parked for infrastructure errors: a process that was
// killed, a disk that is full. Its author would say /land retry.
func (r Row) broke() bool { return r.Phase == queue.Parked && r.Reason == queue.ReasonInfra }

// state has to change from time to time, or the row counts as stuck.
func (r Row) state() string { return string(r.Phase) + " " + string(r.Reason) }

// label is the phase in a word of at most nine letters.
func (r Row) label() string {
	switch r.Phase {
	case "":
		if r.decided() {
			return "refused"
		}
		return "opened"
	case queue.Pending:
		if r.Reason == queue.ReasonWaitsBuild {
			return "building"
		}
		return "waiting"
	case queue.NothingToLand:
		return "nothing"
	}
	return string(r.Phase)
}

// Stopwatch measures turnaround from outside: from the command to the first
// look that shows a verdict.
type Stopwatch struct {
	asked, decided map[int]time.Time
}

// NewStopwatch returns a stopwatch that has seen nothing.
func NewStopwatch() *Stopwatch {
	return &Stopwatch{asked: map[int]time.Time{}, decided: map[int]time.Time{}}
}

// Asked notes when a pull request was asked to land.
func (s *Stopwatch) Asked(number int, at time.Time) { s.asked[number] = at }

// Look notes the verdicts among the rows.
func (s *Stopwatch) Look(rows []Row, at time.Time) {
	for _, r := range rows {
		if _, seen := s.decided[r.Number]; !seen && r.decided() {
			s.decided[r.Number] = at
		}
	}
}

// Turnarounds returns how long each decided pull request took.
func (s *Stopwatch) Turnarounds() []time.Duration {
	var list []time.Duration
	for number, at := range s.decided {
		if asked, ok := s.asked[number]; ok {
			list = append(list, at.Sub(asked))
		}
	}
	return list
}
