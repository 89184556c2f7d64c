package web

import (
	"cmp"
	"io"
	"net/url"

	"github.com/submitqueue/submitqueue/app/texts"
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Change holds the facts that the page of one change shows.
type Change struct {
	Queue     queue.QueueView
	View      queue.View
	Notes     []queue.Note // of this change, newest first
	NoHistory bool         // the history could not be read
	Logs      []Log        // of its live builds
}

// Log is the end of a build's log, as PlainLog returned it.
type Log struct {
	Build queue.BuildID
	Text  string
	Next  int64 // the byte at which the rest begins
	Done  bool
}

type changeModel struct {
	page
	Row       row
	Head      string
	HeadFull  string
	HeadPage  string // of the head at the forge; empty: none
	Requester string
	Lane      string // the lane, where it is not the default one
	OnTop     string // the pull request that it is on top of, in words
	Total     int
	Waits     []wait
	Notice    string
	NoticeTo  string
	Conflicts []conflict
	Builds    []build
	Partners  *partners
	Outlook   *outlook
	Verdict   *verdict
	Previous  *row
	Notes     []note
	NoHistory bool
	Started   int
}

// wait is one thing that a change waits for.
type wait struct {
	Text  string
	Until stamp  // when it is looked at again
	Doc   string // the place in the documentation that explains it; empty: none
}

// conflict is a change that may influence this one.
type conflict struct {
	ref
	Ahead     bool
	Why       string
	Witnesses []string
}

// verdict is how a change ended.
type verdict struct {
	Landed   bool
	Commit   string
	Full     string
	Proof    string
	Bypassed []ref
	Paths    []string
	Against  []ref
	Failures []failure
}

// failure is one failing step: what failed, how often, and on which commit.
type failure struct {
	Step     string
	Run      string // its command
	Own      bool   // the queue's own step: the configuration cannot be used
	Targets  []string
	More     int
	Attempts int
	Partners []ref // landed changes that it fails only together with
	Build    string
	Log      string
	Ran      *ran
	Timeout  bool
	Unrun    bool // no runner could run the command
	When     stamp
	Tail     string
}

// ran is the commit that a build ran on.
type ran struct {
	Commit string
	Full   string
	Tip    bool // it is the branch itself, as it is
	Of     *ref // nil: this change
	Main   string
	Chain  []ref
}

// note is one line of a change's history.
type note struct {
	At     stamp
	What   string
	Tone   string
	Words  string
	Build  string
	Log    string
	Commit string
}

// logPath is where the log of a build is shown.
func logPath(id queue.BuildID) string {
	if id == "" {
		return ""
	}
	return "/log?build=" + url.QueryEscape(string(id))
}

// Change renders one change.
func (p *Pages) Change(w io.Writer, c Change, now queue.Instant) error {
	p = p.of(c.Queue)
	d := newDirectory(c.Queue, now)
	v := c.View
	m := changeModel{
		page: page{Title: cmp.Or(c.Queue.Mark, "#") + count(v.Change.Number, "", "") + " " + titleOf(v.Change), Queue: c.Queue.Name, Noun: p.words.Noun(), Live: true},
		Row:  p.row(d, v), Head: short(v.Change.Head), HeadFull: string(v.Change.Head), HeadPage: d.commitURL(v.Change.Head), Requester: clean(v.Change.Requester), Lane: clean(v.Lane), OnTop: clean(p.words.OnTop(v.Change)),
		Total: v.Total, Verdict: p.verdict(d, v.Change), NoHistory: c.NoHistory, Started: v.Change.Builds,
	}
	m.Row.Ahead, m.Row.More = d.refs(v.Ahead), 0
	for _, r := range v.Waits {
		if text := p.say(v.Change, r); text != "" {
			m.Waits = append(m.Waits, wait{Text: text, Until: dueOf(r.Until, now), Doc: texts.DocPath(r.Code)})
		}
	}
	if len(m.Waits) == 0 && m.Row.Words != "" {
		m.Waits = []wait{{Text: m.Row.Words}}
		if v.Change.Phase != queue.Landed {
			m.Waits[0].Doc = texts.DocPath(v.Change.Reason.Code)
		}
	}
	m.Outlook, m.Partners = d.outlook(v), p.partners(d, v)
	if m.Notice = p.say(v.Change, v.Notice); m.Notice != "" {
		m.NoticeTo = clean(v.NoticeTo)
	}
	ahead := map[queue.ChangeID]bool{}
	for _, id := range v.Ahead {
		ahead[id] = true
	}
	for _, k := range v.Conflicts {
		m.Conflicts = append(m.Conflicts, conflict{ref: d.ref(k.With), Ahead: ahead[k.With], Why: clean(p.words.Conflict(v, k)), Witnesses: cleanAll(k.Witnesses)})
	}
	for _, b := range v.Builds {
		m.Builds = append(m.Builds, p.build(d, b, c.Logs))
	}
	if v.Previous != nil {
		r := p.row(d, queue.View{Change: *v.Previous})
		m.Previous = &r
	}
	for _, n := range c.Notes {
		what, more := p.words.Note(v.Change, n)
		m.Notes = append(m.Notes, note{At: clockOf(n.At, now), What: clean(what), Tone: noteTone(n.What), Words: clean(more),
			Build: short(n.Build), Log: logPath(n.Build), Commit: noteCommit(n)})
	}
	return p.render(w, "change", m)
}

func (p *Pages) verdict(d *directory, c queue.Change) *verdict {
	if c.Verdict == nil {
		return nil
	}
	v := &verdict{Landed: c.Phase == queue.Landed, Commit: short(c.Verdict.Commit), Full: string(c.Verdict.Commit),
		Bypassed: d.refs(c.Verdict.Bypassed), Paths: cleanAll(c.Verdict.Conflicts), Against: d.refs(c.Verdict.Against)}
	if v.Landed {
		v.Proof = proof(*c.Verdict)
	}
	for _, f := range c.Verdict.Failures {
		v.Failures = append(v.Failures, d.failure(c, f))
	}
	return v
}

func (d *directory) failure(c queue.Change, f queue.Evidence) failure {
	shown := f.Targets[:min(len(f.Targets), 12)]
	if len(shown) == 1 && shown[0] == config.TargetTree {
		shown = nil // the whole tree: there is nothing to name
	}
	text, _ := PlainLog([]byte(f.Output()), true)
	out := failure{Step: clean(f.Step), Run: clipTo(clean(f.Run), commandShown), Own: f.Step == config.Path,
		Targets: cleanAll(shown), More: len(f.Targets) - len(shown), Attempts: f.Attempts, Partners: d.refs(f.Partners),
		Build: short(f.Build), Log: logPath(f.Build), Timeout: f.Timeout, Tail: text}
	if f.At != 0 {
		out.When = stampOf(f.At, d.now)
	}
	if len(f.Targets) == 1 {
		out.More = 0
	}
	if r := f.Ran; r.Commit != "" {
		out.Ran = &ran{Commit: short(r.Commit), Full: string(r.Commit), Main: short(r.Main), Chain: d.refs(r.Chain)}
		if out.Ran.Tip = r.Change == "" && r.Main == r.Commit; r.Change != c.ID {
			of := d.ref(r.Change)
			out.Ran.Of = &of
		}
	}
	return out
}

// commandShown is how much of a step's command is shown.
const commandShown = 160

// noteCommit returns the commit that a line of the history is about, where people can
// find that commit. They find the trial merges of builds in the log.
func noteCommit(n queue.Note) string {
	switch n.What {
	case "entered", "landed":
		return short(n.Commit)
	}
	return ""
}

// proof says which checks a landing rests on.
func proof(v queue.Verdict) string {
	switch {
	case v.Unproven: // somebody else had pushed meanwhile: no check of this commit is known
		return "Not proven: it was merged onto another commit than it was proven on. The branch itself is verified since, as after every push of others."
	case v.Keys == 0 && !v.Tested:
		return "It adds nothing that a step would have to verify anew."
	}
	text := "Each of the " + count(v.Keys, "check", "checks") + " that it added had passed"
	if v.Keys == 1 {
		text = "The check that it added had passed"
	}
	switch {
	case v.Tested:
		text = "This very commit was built: " + count(v.Keys, "check", "checks")
	case v.Heads > 0:
		text += ", " + count(v.Heads, "", "") + " of them on the own head of a change"
	case v.Reused > 0:
		text += ", " + count(v.Reused, "", "") + " of them in builds made for something else"
	}
	if v.Attempts > 1 {
		text += "; the most stubborn one on attempt " + count(v.Attempts, "", "")
	}
	if n := len(v.Excused); n > 0 {
		text += "; " + count(n, "target", "targets") + " failed in quarantine, which did not count"
	}
	if v.MainRed > 0 {
		text += ". At that moment " + count(v.MainRed, "check", "checks") + " of the branch itself had not passed"
	}
	return text + "."
}

func noteTone(what string) string {
	switch what {
	case "landed", "build-passed":
		return "good"
	case "rejected", "step-failed", "step-timeout":
		return "bad"
	case "parked", "build-infrastructure", "quarantined":
		return "warn"
	}
	return "calm"
}

func cleanAll(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		out = append(out, clean(s))
	}
	return out
}
