package app

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// APIError is the answer to a request that did not work.
type APIError struct {
	Error string `json:"error"` // what is wrong and what to do next
}

// APIReason says why, as data and in words.
type APIReason struct {
	Code   string   `json:"code"` // one of queue.ReasonCode
	Text   string   `json:"text"` // the same in words, for people
	Names  []string `json:"names,omitempty"`
	Detail string   `json:"detail,omitempty"`
}

// APIQueueSummary is one queue of a list.
type APIQueueSummary struct {
	Name     string `json:"name"`
	Branch   string `json:"branch"`
	Tip      string `json:"tip,omitempty"`
	Length   int    `json:"length"` // changes without a verdict, parked ones included
	Parked   int    `json:"parked"`
	Slots    int    `json:"slots"`
	Running  int    `json:"running"` // builds
	Unproven int    `json:"unproven"`
	Red      int    `json:"red"`
	Paused   bool   `json:"paused"`
}

// APIQueue is a queue as it stands.
type APIQueue struct {
	APIQueueSummary
	PausedBy     string      `json:"paused_by,omitempty"`
	PausedReason string      `json:"paused_reason,omitempty"`
	ConfigError  string      `json:"config_error,omitempty"` // why the branch's configuration is not used
	RedTargets   []string    `json:"red_targets,omitempty"`
	MainBuilds   []APIBuild  `json:"main_builds,omitempty"` // builds of the branch itself
	Order        []APIChange `json:"order"`                 // changes without a verdict; parked ones last
	Recent       []APIChange `json:"recent"`                // verdicts, newest first
}

// APIChange is one change. Times are RFC 3339 in UTC and left out where not
// known.
type APIChange struct {
	ID        string        `json:"id"`
	Number    int           `json:"number"`
	Title     string        `json:"title"`
	Author    string        `json:"author"`
	Requester string        `json:"requester"` // who said /land
	URL       string        `json:"url,omitempty"`
	Head      string        `json:"head"`
	Phase     string        `json:"phase"` // one of queue.Phase
	Final     bool          `json:"final"` // the phase is a verdict
	Reason    *APIReason    `json:"reason,omitempty"`
	Position  int           `json:"position,omitempty"` // from 1
	Total     int           `json:"total,omitempty"`
	Waits     []APIReason   `json:"waits,omitempty"` // what it waits for, the most telling first
	Ahead     []string      `json:"ahead,omitempty"` // ids of conflicting changes ahead that are not decided
	Conflicts []APIConflict `json:"conflicts,omitempty"`
	Builds    []APIBuild    `json:"builds,omitempty"` // live ones
	Attempts  int           `json:"attempts"`         // builds started for it so far
	Arrived   time.Time     `json:"arrived,omitzero"`
	Expected  time.Time     `json:"expected,omitzero"` // verdict
	Decided   time.Time     `json:"decided,omitzero"`
	Until     time.Time     `json:"until,omitzero"` // parked: looked at again then
	Verdict   *APIVerdict   `json:"verdict,omitempty"`
}

// APIConflict is a change that may influence another, with names that say why.
type APIConflict struct {
	With      string   `json:"with"`
	Kind      string   `json:"kind"`
	Witnesses []string `json:"witnesses,omitempty"`
}

// APIBuild is a live build.
type APIBuild struct {
	ID       string    `json:"id"`
	Commit   string    `json:"commit"`
	Chain    []string  `json:"chain,omitempty"` // changes it assumes landed
	Attempt  int       `json:"attempt"`
	Why      string    `json:"why"`
	Steps    int       `json:"steps"`
	Done     int       `json:"done"` // steps with a result
	Asked    time.Time `json:"asked"`
	Started  time.Time `json:"started,omitzero"`
	Expected time.Time `json:"expected,omitzero"` // end
}

// APIVerdict is how a change ended, with evidence.
type APIVerdict struct {
	Commit   string        `json:"commit,omitempty"`
	Tested   bool          `json:"tested"` // landed: this very commit was built
	Keys     int           `json:"keys"`   // checks that the landed commit added
	Reused   int           `json:"reused"` // of these, passed in builds made for something else
	Attempts int           `json:"attempts,omitempty"`
	Bypassed []string      `json:"bypassed,omitempty"` // conflicting changes ahead that it did not wait for
	Failures []APIEvidence `json:"failures,omitempty"`
	Paths    []string      `json:"paths,omitempty"` // that do not merge
}

// APIEvidence is one failing step.
type APIEvidence struct {
	Step    string   `json:"step"`
	Targets []string `json:"targets"`
	Build   string   `json:"build"`
	Timeout bool     `json:"timeout"`
	Tail    string   `json:"tail"` // last lines of the log
}

// APINote is one line of a queue's history.
type APINote struct {
	At     time.Time  `json:"at"`
	Change string     `json:"change,omitempty"`
	Number int        `json:"number,omitempty"`
	Build  string     `json:"build,omitempty"`
	What   string     `json:"what"`
	Reason *APIReason `json:"reason,omitempty"`
	Commit string     `json:"commit,omitempty"`
}

// APILog is a part of a build's log, without terminal codes.
type APILog struct {
	Text string `json:"text"`
	Next int64  `json:"next"` // ask with after=next for what follows
	Done bool   `json:"done"` // nothing follows
}

func summaryOf(v queue.QueueView) APIQueueSummary {
	s := APIQueueSummary{
		Name: v.Name, Branch: v.Main.Branch, Tip: string(v.Main.Tip), Length: len(v.Order), Slots: v.Slots,
		Running: len(v.MainBuilds), Unproven: v.Unproven, Red: len(v.Red), Paused: v.Main.Paused != nil,
	}
	for _, c := range v.Order {
		s.Running += len(c.Builds)
		if c.Change.Phase == queue.Parked {
			s.Parked++
		}
	}
	return s
}

func (s *Server) apiQueueOf(v queue.QueueView) APIQueue {
	q := APIQueue{
		APIQueueSummary: summaryOf(v), ConfigError: v.Main.Broken, RedTargets: v.Red,
		MainBuilds: apiBuildsOf(v.MainBuilds), Order: []APIChange{}, Recent: []APIChange{},
	}
	if p := v.Main.Paused; p != nil {
		q.PausedBy, q.PausedReason = p.By, p.Reason
	}
	for _, c := range v.Order {
		q.Order = append(q.Order, s.apiChangeOf(c))
	}
	for _, c := range v.Recent {
		q.Recent = append(q.Recent, s.apiChangeOf(queue.View{Change: c}))
	}
	return q
}

func (s *Server) apiChangeOf(v queue.View) APIChange {
	c := v.Change
	out := APIChange{
		ID: string(c.ID), Number: c.Number, Title: c.Title, Author: c.Author, Requester: c.Requester, URL: c.URL,
		Head: string(c.Head), Phase: string(c.Phase), Final: c.Phase.Final(), Reason: s.apiReasonOf(c.Reason),
		Position: v.Position, Total: v.Total, Ahead: texts(v.Ahead), Builds: apiBuildsOf(v.Builds), Attempts: c.Builds,
		Arrived: moment(c.Arrival), Expected: moment(v.Finish), Decided: moment(c.Decided), Until: moment(c.Until),
		Verdict: apiVerdictOf(c.Verdict),
	}
	for _, r := range v.Waits {
		out.Waits = append(out.Waits, *s.apiReasonOf(r))
	}
	for _, k := range v.Conflicts {
		out.Conflicts = append(out.Conflicts, APIConflict{With: string(k.With), Kind: string(k.Kind), Witnesses: k.Witnesses})
	}
	return out
}

func (s *Server) apiReasonOf(r queue.Reason) *APIReason {
	if r.Code == "" {
		return nil
	}
	return &APIReason{Code: string(r.Code), Text: s.o.Words(r), Names: r.Names, Detail: r.Detail}
}

func apiBuildsOf(views []queue.BuildView) []APIBuild {
	var out []APIBuild
	for _, v := range views {
		b := v.Build
		out = append(out, APIBuild{
			ID: string(b.ID), Commit: string(b.Commit), Chain: texts(b.Chain), Attempt: b.Attempt, Why: b.Why,
			Steps: len(b.Jobs), Done: v.Done, Asked: moment(b.At), Started: moment(b.Started), Expected: moment(v.Expected),
		})
	}
	return out
}

func apiVerdictOf(v *queue.Verdict) *APIVerdict {
	if v == nil {
		return nil
	}
	out := &APIVerdict{
		Commit: string(v.Commit), Tested: v.Tested, Keys: v.Keys, Reused: v.Reused, Attempts: v.Attempts,
		Bypassed: texts(v.Bypassed), Paths: v.Conflicts,
	}
	for _, f := range v.Failures {
		out.Failures = append(out.Failures, APIEvidence{Step: f.Step, Targets: f.Targets, Build: string(f.Build), Timeout: f.Timeout, Tail: f.Tail})
	}
	return out
}

func (s *Server) apiNoteOf(n queue.Note) APINote {
	return APINote{
		At: moment(n.At), Change: string(n.Change), Number: n.Number, Build: string(n.Build), What: n.What,
		Reason: s.apiReasonOf(n.Reason), Commit: string(n.Commit),
	}
}

func texts[T ~string](in []T) []string {
	var out []string
	for _, t := range in {
		out = append(out, string(t))
	}
	return out
}
