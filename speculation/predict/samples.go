package predict

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
)

// Sample is one change of the past: its facts when it was first analyzed, and its
// outcome.
type Sample struct {
	Change queue.ChangeID
	Number int // of its pull request
	At     queue.Instant
	Case   *Case

	Decided  bool    // it has landed, or was turned down for a failure
	Landed   bool    // it has landed
	Sound    bool    // it has landed, or is believed to have broken with others and not on its own
	Took     float64 // seconds of its first build of all its targets; 0: it had none
	Censored bool    // that build was aborted after Took
}

// Slim returns the parts of a row that Samples reads, and false for a row that it does
// not read.
func Slim(r queue.Row) (queue.Row, bool) {
	out := queue.Row{At: r.At}
	switch {
	case r.Arrival != nil:
		a := r.Arrival
		out.Arrival = &queue.ArrivalRow{Change: a.Change, Number: a.Number, Arrival: a.Arrival, Affected: a.Affected, Features: a.Features}
	case r.Verdict != nil:
		v := r.Verdict
		out.Verdict = &queue.VerdictRow{Change: v.Change, Outcome: v.Outcome, Reason: v.Reason, Sound: v.Sound}
	case r.Build != nil:
		b := r.Build
		out.Build = &queue.BuildRow{Build: b.Build, Change: b.Change, Also: b.Also, Asked: b.Asked, Started: b.Started, Outcome: b.Outcome, Steps: b.Steps}
	default:
		return queue.Row{}, false
	}
	return out, true
}

// Samples returns the changes of an event archive in the order in which they were analyzed.
// Changes without a row of their arrival are left out. Only changes that ended by a landing
// or a failure, and not by a push for example, are Decided.
func Samples(rows []queue.Row) []Sample {
	var out []Sample
	arrivals := map[queue.ChangeID]*queue.ArrivalRow{}
	at := map[queue.ChangeID]queue.Instant{}
	verdicts := map[queue.ChangeID]*queue.VerdictRow{}
	builds := map[queue.ChangeID]*queue.BuildRow{}
	ended := map[queue.BuildID]queue.Instant{}
	for _, r := range rows {
		switch {
		case r.Arrival != nil:
			arrivals[r.Arrival.Change], at[r.Arrival.Change] = r.Arrival, r.At
		case r.Verdict != nil:
			verdicts[r.Verdict.Change] = r.Verdict
		case r.Build != nil:
			b := r.Build
			ended[b.Build] = r.At
			if first := builds[b.Change]; whole(b, arrivals[b.Change]) && (first == nil || b.Asked < first.Asked) {
				builds[b.Change] = b
			}
		}
	}
	for id, a := range arrivals {
		s := Sample{Change: id, Number: a.Number, At: at[id], Case: CaseOf(a.Features)}
		if v := verdicts[id]; v != nil {
			s.Landed = v.Outcome == queue.Landed
			s.Sound = Sound(s.Landed, v.Sound)
			s.Decided = s.Landed || v.Outcome == queue.Rejected && v.Reason == queue.ReasonFailed
		}
		if b := builds[id]; b != nil {
			s.Took = max(0, ended[b.Build].Sub(b.Started).Seconds())
			s.Censored = b.Outcome == queue.JobStopped
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Sample) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Change, b.Change)) })
	return out
}

// whole reports whether a build ran for one change alone, on all targets of that
// change.
func whole(b *queue.BuildRow, a *queue.ArrivalRow) bool {
	if a == nil || b.Started == 0 || len(b.Also) > 0 {
		return false
	}
	switch b.Outcome {
	case queue.JobPassed, queue.JobFailed, queue.JobStopped:
	default:
		return false // how long it ran says nothing of the change
	}
	return len(b.Steps) == 0 || slices.ContainsFunc(b.Steps, func(s queue.StepRow) bool { return s.Targets >= a.Affected })
}
