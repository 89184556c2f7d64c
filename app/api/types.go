package api

import (
	"cmp"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
)

// Error is the answer to a request that did not work.
type Error struct {
	Error string `json:"error"`         // what is wrong and what to do next
	Doc   string `json:"doc,omitempty"` // path of this server's documentation about it, such as /docs/operate#tokens; "": none
}

// Reason says why, as data and in words.
type Reason struct {
	Code   string   `json:"code"`           // one of queue.ReasonCode
	Text   string   `json:"text,omitempty"` // the same in words, for people; not in short
	Short  string   `json:"short"`          // the same in a few words
	Names  []string `json:"names,omitempty"`
	Detail string   `json:"detail,omitempty"`

	Until time.Time `json:"until,omitzero"` // looked at again then
	Doc   string    `json:"doc,omitempty"`  // path under which this server explains it, e.g. /docs/reasons#red-main; not in short
}

// QueueSummary is one queue of a list.
type QueueSummary struct {
	Key       string   `json:"key,omitempty"` // can be used in place of the name everywhere, and never changes
	Name      string   `json:"name"`          // by the present names of repository and branch
	Branch    string   `json:"branch"`
	Tip       string   `json:"tip,omitempty"`
	Length    int      `json:"length"` // changes without a verdict, parked ones included
	Parked    int      `json:"parked"`
	Slots     int      `json:"slots"`
	Running   int      `json:"running"` // builds
	Unproven  int      `json:"unproven"`
	Red       int      `json:"red"`
	Paused    bool     `json:"paused"`
	Proven    bool     `json:"proven"`              // each check of the tip has passed
	Waits     string   `json:"waits,omitempty"`     // why requests to the forge wait at the moment, and until when
	Trouble   []string `json:"trouble,omitempty"`   // what keeps failing, and when it is tried again
	Default   string   `json:"default,omitempty"`   // says that the default branch is another one, and what to do
	Isolation string   `json:"isolation,omitempty"` // of the steps that this server runs: uid, namespace, sandbox or none
	Away      string   `json:"away,omitempty"`      // why this server does not show the present state, e.g. that it starts
}

// Queue is a queue as it stands.
type Queue struct {
	QueueSummary
	PausedBy     string     `json:"paused_by,omitempty"`
	PausedReason string     `json:"paused_reason,omitempty"`
	PausedAt     time.Time  `json:"paused_at,omitzero"`
	PausedUntil  time.Time  `json:"paused_until,omitzero"`  // the pause ends on its own then
	ConfigError  string     `json:"config_error,omitempty"` // why the branch's configuration is not used
	Configured   bool       `json:"configured"`             // a configuration is in force: that of the branch, or the last good one
	Trust        Trust      `json:"trust"`
	RedTargets   []string   `json:"red_targets,omitempty"`
	Failing      []Evidence `json:"failing,omitempty"`         // the failures that make them red
	Unrun        []Evidence `json:"unrun,omitempty"`           // steps that verify the branch and that no runner can run
	UnrunText    string     `json:"unrun_text,omitempty"`      // the same in words, with advice
	Analyzer     string     `json:"analyzer,omitempty"`        // version of the analyzer in force
	Model        ModelUse   `json:"model,omitzero"`            // the model that it plans with; /api/models has the others
	Upgrade      *Upgrade   `json:"upgrade,omitempty"`         // a newer version is being proven
	Drift        []Drift    `json:"drift,omitempty"`           // checks that fail on the branch now, though nothing in it has changed
	Over         []string   `json:"quarantine_over,omitempty"` // entries of quarantine past their last day, in words
	MainBuilds   []Build    `json:"main_builds,omitempty"`     // builds of the branch itself
	Hosts        []Host     `json:"hosts,omitempty"`           // hosts that its builds run on, as far as they are known, by name
	Order        []Change   `json:"order"`                     // changes without a verdict; parked ones last
	Recent       []Change   `json:"recent"`                    // verdicts, newest first; in short the latest 50
	Verdicts     int        `json:"verdicts"`                  // how many there are of the last day
}

// Drift is a check of the branch that had passed, and fails at the same content.
type Drift struct {
	Step   string    `json:"step"`
	Target string    `json:"target"`
	Good   time.Time `json:"good,omitzero"` // when it was last seen to pass
	Bad    time.Time `json:"bad"`           // when it was first seen to fail after that
	Build  string    `json:"build,omitempty"`
	Text   string    `json:"text"`
}

// Host is a computer that runs builds.
type Host struct {
	Name    string    `json:"name"`
	Slots   int       `json:"slots"`                 // builds that it can run at once; 0: it is away
	Faults  int       `json:"faults"`                // how many of its latest builds failed keys that another host has passed
	Runs    int       `json:"runs"`                  // how many latest builds that counts
	Benched bool      `json:"benched"`               // it gets no builds that another host can run
	Since   time.Time `json:"since,omitzero"`        // when it was benched
	Until   time.Time `json:"until,omitzero"`        // when it is probed
	Probing string    `json:"probing,omitempty"`     // the build that probes it now
	Text    string    `json:"text,omitempty"`        // the same in words
	Other   []string  `json:"other_tools,omitempty"` // steps of which it gets no builds, and why
}

// Upgrade is the proof of the branch under a newer version of its analyzer.
type Upgrade struct {
	From       string   `json:"from"` // the version in force
	To         string   `json:"to"`
	Proven     int      `json:"proven"` // keys of the branch that have passed under the newer version
	Total      int      `json:"total"`  // 0: not counted yet
	RedTargets []string `json:"red_targets,omitempty"`
	Unknown    string   `json:"unknown,omitempty"` // why it cannot tell the branch's targets
	Text       string   `json:"text"`
}

// Called returns the number of the change as its forge writes it, as Accepted.Called does.
func (c Change) Called() string { return cmp.Or(c.Name, "#"+strconv.Itoa(c.Number)) }

// Change is one change. Times are RFC 3339 in UTC and left out where not known. In the
// short form of a queue, each change has only the fields that changeShort fills in.
type Change struct {
	ID        string     `json:"id"`
	Number    int        `json:"number"`
	Name      string     `json:"name"` // the number as its forge writes it: "#7", at GitLab "!7"
	Title     string     `json:"title"`
	Branch    string     `json:"branch,omitempty"` // of the head
	Author    string     `json:"author"`
	Requester string     `json:"requester"` // the author of the command to land
	URL       string     `json:"url,omitempty"`
	Lane      string     `json:"lane,omitempty"`
	Base      string     `json:"base,omitempty"`   // the branch that it asks for, where that is not the queue's
	Parent    int        `json:"parent,omitempty"` // number of the pull request that it is on top of, until that has landed
	OnTop     string     `json:"on_top,omitempty"` // the same in words
	Head      string     `json:"head"`
	Phase     string     `json:"phase"` // one of queue.Phase
	Final     bool       `json:"final"` // the phase is a verdict
	Reason    *Reason    `json:"reason,omitempty"`
	Position  int        `json:"position,omitempty"` // from 1
	Total     int        `json:"total,omitempty"`
	Waits     []Reason   `json:"waits,omitempty"`   // what it waits for, the most important first
	Ahead     []string   `json:"ahead,omitempty"`   // ids of conflicting changes ahead that are not decided
	Touches   *Touches   `json:"touches,omitempty"` // once it has been analyzed
	Conflicts []Conflict `json:"conflicts,omitempty"`
	Builds    []Build    `json:"builds,omitempty"`   // live ones
	Partners  *Partners  `json:"partners,omitempty"` // the changes that it is built or lands with
	Attempts  int        `json:"attempts"`           // builds started for it so far
	Arrived   time.Time  `json:"arrived,omitzero"`
	From      time.Time  `json:"expected_from,omitzero"` // the verdict is expected between these two times, where known
	By        time.Time  `json:"expected_by,omitzero"`
	Forecast  string     `json:"forecast,omitempty"` // the same in words
	Notice    *Reason    `json:"notice,omitempty"`   // the answer to the latest command that was not followed
	NoticeTo  string     `json:"notice_to,omitempty"`
	Answer    []string   `json:"answer,omitempty"` // its comment's answer to try and explain, in lines of plain text; not in lists
	Decided   time.Time  `json:"decided,omitzero"`
	Until     time.Time  `json:"until,omitzero"` // parked: looked at again then
	Verdict   *Verdict   `json:"verdict,omitempty"`
	Answered  time.Time  `json:"answered,omitzero"` // when a command on it last had its answer
	Next      *Next      `json:"next,omitempty"`    // why no further build of it is started now
	Outlook   *Outlook   `json:"outlook,omitempty"` // what the queue predicts of it; not in lists
}

// Conflict is a change that may influence another, with names that say why.
type Conflict struct {
	With      string   `json:"with"`
	Kind      string   `json:"kind"`
	Witnesses []string `json:"witnesses,omitempty"`
	Text      string   `json:"text"` // why, in words
}

// Touches sums up what a change touches.
type Touches struct {
	Targets  int     `json:"targets"` // targets that it affects
	Graph    bool    `json:"graph"`   // it adds edges to the graph, or changes files that shape the graph
	Files    int     `json:"files"`
	Dirs     int     `json:"dirs"`
	All      bool    `json:"all"`               // it touches something that everything depends on, or it could not be analyzed
	Unknown  string  `json:"unknown,omitempty"` // why it could not be analyzed
	Unread   string  `json:"unread,omitempty"`  // why a part of the tree that it touches counts as one target
	Again    bool    `json:"again,omitempty"`   // it is analyzed again after a while
	FailRate float64 `json:"fail_rate"`         // the highest share of failures that its targets have shown lately
}

// Build is a live build.
type Build struct {
	ID       string    `json:"id"`
	Commit   string    `json:"commit"`
	Chain    []string  `json:"chain,omitempty"` // changes it assumes landed
	For      []string  `json:"for,omitempty"`   // the changes that it is for, where there are several
	Attempt  int       `json:"attempt"`
	Why      string    `json:"why,omitempty"`   // not in short
	Worth    *Worth    `json:"worth,omitempty"` // the same as data
	Steps    int       `json:"steps"`
	Done     int       `json:"done"` // steps with a result
	Asked    time.Time `json:"asked"`
	Started  time.Time `json:"started,omitzero"`
	Expected time.Time `json:"expected,omitzero"` // end
}

// Verdict is how a change ended, with evidence.
type Verdict struct {
	Commit   string     `json:"commit,omitempty"` // landed: the commit on the branch; does not merge: the commit that it does not merge with
	Tested   bool       `json:"tested"`           // landed: this very commit was built
	Keys     int        `json:"keys"`             // checks that the landed commit added
	Reused   int        `json:"reused"`           // of these, passed in builds made for something else
	Heads    int        `json:"heads,omitempty"`  // of these, passed on the own head of a change, in no build of the queue
	Attempts int        `json:"attempts,omitempty"`
	Excused  []string   `json:"excused,omitempty"`  // landed: targets that failed in quarantine, which did not count
	Together []string   `json:"together,omitempty"` // landed: the other changes of the same merge
	Bypassed []string   `json:"bypassed,omitempty"` // conflicting changes ahead that it did not wait for
	Failures []Evidence `json:"failures,omitempty"`
	Paths    []string   `json:"paths,omitempty"`   // that do not merge
	Against  []string   `json:"against,omitempty"` // landed changes that touch these, the latest first
	Text     string     `json:"text,omitempty"`    // the same in words
}

// Evidence is one failing step.
type Evidence struct {
	Step     string   `json:"step"`
	Run      string   `json:"run,omitempty"` // the step's command
	Targets  []string `json:"targets"`
	Build    string   `json:"build"`
	Change   string   `json:"change,omitempty"`   // the change of the build
	Commit   string   `json:"commit,omitempty"`   // the commit that it ran on: a trial merge
	Main     string   `json:"main,omitempty"`     // the commit of the branch that it was made on
	Chain    []string `json:"chain,omitempty"`    // changes merged onto it before this one
	Attempts int      `json:"attempts,omitempty"` // builds that failed
	Partners []string `json:"partners,omitempty"` // landed changes; it fails only together with them, or with one of them
	Timeout  bool     `json:"timeout"`
	Log      string   `json:"log"`            // path of the whole log on this server
	Tail     string   `json:"tail"`           // its last lines
	Line     string   `json:"line,omitempty"` // the line that says what failed, as far as that can be told
	Text     string   `json:"text"`           // where it failed, in words

	At   time.Time `json:"at,omitzero"`    // for a failure of the branch itself: when it ran last
	Host string    `json:"host,omitempty"` // for a failure of the branch itself: where that was
}

// Note is one line of a queue's history.
type Note struct {
	At     time.Time `json:"at"`
	Change string    `json:"change,omitempty"`
	Number int       `json:"number,omitempty"`
	Build  string    `json:"build,omitempty"`
	What   string    `json:"what"`
	Title  string    `json:"title"`          // the same in words, for people
	Text   string    `json:"text,omitempty"` // what there is to add
	Log    string    `json:"log,omitempty"`  // path of the build's log on this server
	Reason *Reason   `json:"reason,omitempty"`
	Commit string    `json:"commit,omitempty"`
	Worth  *Worth    `json:"worth,omitempty"` // build-asked: why
}

// Log is a part of a build's log, without terminal codes.
type Log struct {
	Text string `json:"text"`
	Next int64  `json:"next"` // ask with after=next for the rest
	Done bool   `json:"done"` // nothing follows
}

func (s *Handlers) summaryOf(v queue.QueueView) QueueSummary {
	q := QueueSummary{
		Isolation: string(s.o.Isolation),
		Key:       v.Key, Name: v.Name, Branch: v.Main.Branch, Tip: string(v.Main.Tip), Length: len(v.Order), Slots: v.Slots,
		Running: v.Running(), Unproven: v.Unproven, Red: len(v.Red), Paused: v.Main.Paused != nil, Default: v.Default, Away: v.Away, Waits: v.Waits, Trouble: v.Trouble,
		Proven: v.Main.Tip != "" && v.Main.Surveyed == v.Main.Tip && v.Unproven == 0,
	}
	for _, c := range v.Order {
		if c.Change.Phase == queue.Parked {
			q.Parked++
		}
	}
	return q
}

func (s *Handlers) queueOf(v queue.QueueView) Queue {
	q := Queue{
		QueueSummary: s.summaryOf(v), ConfigError: v.Main.Broken, Configured: v.Main.Config != nil, RedTargets: v.Red,
		Trust: Trust(v.Trust), MainBuilds: s.buildsOf(v.MainBuilds), Order: []Change{}, Recent: []Change{}, Verdicts: len(v.Recent),
	}
	q.Analyzer, q.Model = v.Main.Analyzer, modelUseOf(v.Models)
	q.Failing, q.Unrun = s.evidenceOf(queue.Change{}, v.Failing), s.evidenceOf(queue.Change{}, v.Unrun)
	if len(v.Unrun) > 0 {
		q.UnrunText = s.o.Words.Unrun(v.Unrun)
	}
	for _, d := range v.Main.Drift {
		q.Drift = append(q.Drift, Drift{Step: d.Step, Target: d.Target, Good: moment(d.Good), Bad: moment(d.Bad), Build: string(d.Build), Text: s.o.Words.Drift(d)})
	}
	for _, e := range v.Main.Config.Quarantines(s.o.Now()) {
		if e.Over {
			q.Over = append(q.Over, s.o.Words.QuarantineOver(e))
		}
	}
	for _, h := range v.Hosts {
		q.Hosts = append(q.Hosts, s.hostOf(h))
	}
	if u := v.Upgrade; u != nil {
		q.Upgrade = &Upgrade{From: u.From, To: u.To, Proven: u.Proven, Total: u.Total, RedTargets: u.Red, Unknown: u.Unknown, Text: s.o.Words.Upgrade(u)}
	}
	if p := v.Main.Paused; p != nil {
		q.PausedBy, q.PausedReason, q.PausedAt, q.PausedUntil = p.By, p.Reason, moment(p.At), moment(p.Until)
	}
	for _, c := range v.Order {
		q.Order = append(q.Order, s.changeOf(c))
	}
	for _, c := range v.Recent {
		q.Recent = append(q.Recent, s.changeOf(queue.View{Change: c}))
	}
	return q
}

func (s *Handlers) hostOf(h queue.HostView) Host {
	out := Host{Name: h.Name, Slots: h.Slots, Faults: h.Faults, Runs: h.Runs, Text: s.o.Words.Host(h)}
	for _, o := range h.Other {
		out.Other = append(out.Other, s.o.Words.OtherTools(h.Name, o))
	}
	if b := h.Bench; b != nil {
		out.Benched, out.Since, out.Until = true, moment(b.Since), moment(b.Until)
		if b.Probe != nil {
			out.Probing = string(b.Probe.ID)
		}
	}
	return out
}

func (s *Handlers) changeOf(v queue.View) Change {
	c := v.Change
	out := Change{
		ID: string(c.ID), Number: c.Number, Name: s.o.Words.Numbered(c.Number), Title: c.Title, Branch: c.Branch, Author: c.Author, Requester: c.Requester, URL: c.URL,
		Lane: c.Lane, Base: c.Base, Parent: c.Parent, OnTop: s.o.Words.OnTop(c), Head: string(c.Head), Phase: string(c.Phase), Final: c.Phase.Final(), Reason: s.reasonOf(c, c.Reason),
		Position: v.Position, Total: v.Total, Ahead: texts.Strings(v.Ahead), Builds: s.buildsOf(v.Builds), Partners: s.partnersOf(v), Attempts: c.Builds,
		Arrived: moment(c.Arrival), From: moment(v.Forecast.Early), By: moment(v.Forecast.Late), Decided: moment(c.Decided), Until: moment(c.Until),
		Forecast: s.o.Words.Forecast(v.Forecast, s.now()), Notice: s.reasonOf(c, v.Notice), NoticeTo: v.NoticeTo,
		Verdict: s.verdictOf(c), Answered: moment(v.Answered),
		Next: s.nextOf(c, v.Outlook.Next), Outlook: outlookOf(v.Outlook),
	}
	if t := c.Touches; t != (queue.Touches{}) {
		out.Touches = &Touches{Targets: t.Targets, Graph: t.Graph, Files: t.Files, Dirs: t.Dirs, All: t.All, Unknown: t.Unknown, Unread: t.Unread, Again: t.Again, FailRate: t.FailRate}
	}
	for _, r := range v.Waits {
		out.Waits = append(out.Waits, *s.reasonOf(c, r))
	}
	for _, k := range v.Conflicts {
		out.Conflicts = append(out.Conflicts, Conflict{With: string(k.With), Kind: string(k.Kind), Witnesses: k.Witnesses, Text: s.o.Words.Conflict(v, k)})
	}
	return out
}

func (s *Handlers) reasonOf(c queue.Change, r queue.Reason) *Reason {
	if r.Code == "" {
		return nil
	}
	return &Reason{Code: string(r.Code), Text: s.o.Words.Reason(c, r), Short: s.o.Words.Short(c, r), Names: r.Names, Detail: r.Detail, Until: moment(r.Until), Doc: texts.DocPath(r.Code)}
}

func (s *Handlers) buildsOf(views []queue.BuildView) []Build {
	var out []Build
	for _, v := range views {
		b := v.Build
		out = append(out, Build{
			ID: string(b.ID), Commit: string(b.Commit), Chain: texts.Strings(b.Assumes()), For: forOf(b), Attempt: b.Attempt, Why: s.o.Words.Why(b.Worth, b.Why), Worth: s.worthOf(b.Worth, b.Value),
			Steps: v.Steps(), Done: v.Done, Asked: moment(b.At), Started: moment(b.Started), Expected: moment(v.Expected),
		})
	}
	return out
}

func forOf(b queue.Build) []string {
	if len(b.Also) == 0 {
		return nil
	}
	return texts.Strings(b.For())
}

func (s *Handlers) verdictOf(c queue.Change) *Verdict {
	v := c.Verdict
	if v == nil {
		return nil
	}
	out := &Verdict{
		Commit: string(v.Commit), Tested: v.Tested, Keys: v.Keys, Reused: v.Reused, Heads: v.Heads, Attempts: v.Attempts, Excused: v.Excused,
		Together: texts.Strings(v.Together), Bypassed: texts.Strings(v.Bypassed), Paths: v.Conflicts, Against: texts.Strings(v.Against), Text: s.o.Words.Against(c),
	}
	if len(v.Failures) > 0 {
		out.Commit = "" // the failures say which commit it failed on
	}
	out.Failures = s.evidenceOf(c, v.Failures)
	return out
}

func (s *Handlers) evidenceOf(c queue.Change, list []queue.Evidence) (out []Evidence) {
	for _, f := range list {
		r := f.Ran
		out = append(out, Evidence{Step: f.Step, Run: f.Run, Targets: f.Targets, Build: string(f.Build),
			Change: string(r.Change), Commit: string(r.Commit), Main: string(r.Main), Chain: texts.Strings(r.Chain), Attempts: f.Attempts,
			Partners: texts.Strings(f.Partners), Timeout: f.Timeout, Log: texts.LogPath(string(f.Build)), Tail: f.Output(), Line: texts.FailingLine(f), Text: s.o.Words.Failure(c, f), At: moment(f.At), Host: f.Host})
	}
	return out
}

func (s *Handlers) noteOf(c queue.Change, n queue.Note) Note {
	out := Note{
		At: moment(n.At), Change: string(n.Change), Number: n.Number, Build: string(n.Build), What: n.What,
		Reason: s.reasonOf(c, n.Reason), Commit: string(n.Commit),
		Worth: s.worthOf(n.Worth, n.Worth.Value()),
	}
	out.Title, out.Text = s.o.Words.Note(c, n)
	if n.Build != "" {
		out.Log = texts.LogPath(string(n.Build))
	}
	return out
}

// Link is a link that opens one session of a browser. It is a secret.
type Link struct {
	URL    string    `json:"url,omitempty"` // of the server, for people; "": it does not know
	Path   string    `json:"path"`
	Until  time.Time `json:"until"`
	Public bool      `json:"public,omitempty"` // everybody may read, so nobody needs the link
}
