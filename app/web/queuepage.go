package web

import (
	"io"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// recentShown is how many verdicts a queue's page lists.
const recentShown = 20

// queueHead is the summary of a queue as a whole.
type queueHead struct {
	Name       string
	Repository string
	Branch     string
	Tip        string
	TipFull    string
	TipPage    string // of the tip at the forge; empty: none
	Chips      []chip
	Waiting    int // in the order
	Parked     int
	Slots      int
	Used       int
	Next       string // when the next verdict is expected; empty: not known
}

func (p *Pages) head(v queue.QueueView, now queue.Instant) queueHead {
	h := queueHead{
		Name: v.Name, Branch: clean(v.Main.Branch), Tip: short(v.Main.Tip), TipFull: string(v.Main.Tip),
		Chips: chipsOfMain(v), Slots: v.Slots, Used: v.Running(),
	}
	h.TipPage = (&directory{web: strings.TrimSuffix(safeURL(v.Web), "/")}).commitURL(v.Main.Tip)
	h.Repository = clean(strings.TrimSuffix(v.Name, "@"+v.Main.Branch))
	var next queue.Forecast
	for _, c := range v.Order {
		if c.Change.Phase == queue.Parked {
			h.Parked++
			continue
		}
		h.Waiting++
		if f := c.Forecast; f.Late >= now && (next.Late == 0 || f.Late < next.Late) {
			next = f
		}
	}
	h.Next = p.words.Forecast(next, now)
	return h
}

// alert is something a maintainer has to know or do.
type alert struct {
	Tone  string
	Title string
	Text  string
	Names []string
	Doc   string // its place in the documentation: page and anchor

	Failures []failure // the evidence
}

type queueModel struct {
	page
	Head       queueHead
	Alerts     []alert
	MainBuilds []build
	Sketch     *sketch
	Order      []row
	Parked     []row
	Recent     []row
	Models     *models
	Land       string // how to ask for landing
}

// Queue renders one queue.
func (p *Pages) Queue(w io.Writer, v queue.QueueView, now queue.Instant) error {
	p = p.of(v)
	d := newDirectory(v, now)
	m := queueModel{
		page:   page{Title: clean(v.Name), Queue: v.Name, Noun: p.words.Noun(), Live: true},
		Land:   p.words.Land(),
		Head:   p.head(v, now),
		Alerts: p.alerts(d, v, now),
		Sketch: newSketch(d, v),
		Models: p.models(v.Models, now),
	}
	for _, b := range v.MainBuilds {
		m.MainBuilds = append(m.MainBuilds, p.build(d, b, nil))
	}
	for _, c := range v.Order {
		if c.Change.Phase == queue.Parked {
			m.Parked = append(m.Parked, p.row(d, c))
		} else {
			m.Order = append(m.Order, p.row(d, c))
		}
	}
	for _, c := range v.Recent[:min(len(v.Recent), recentShown)] {
		r := p.row(d, queue.View{Change: c})
		r.Words = p.brief(c)
		m.Recent = append(m.Recent, r)
	}
	return p.render(w, "queue", m)
}

func (p *Pages) alerts(d *directory, v queue.QueueView, now queue.Instant) []alert {
	var out []alert
	if v.Away != "" {
		out = append(out, alert{Tone: "warn", Doc: "troubleshoot#not-up-to-date", Title: "Not up to date", Text: clean(v.Away) + "."})
	}
	if v.Waits != "" {
		out = append(out, alert{Tone: "warn", Doc: "troubleshoot#waiting-for-the-forge", Title: "Waiting for the forge", Text: clean(v.Waits) + "."})
	}
	for _, text := range v.Trouble[:min(len(v.Trouble), 3)] {
		out = append(out, alert{Tone: "warn", Doc: "troubleshoot#failing", Title: "Failing", Text: clean(text) + "."})
	}
	if v.Default != "" {
		out = append(out, alert{Tone: "calm", Doc: "troubleshoot#another-default-branch", Title: "Another default branch", Text: clean(v.Default) + "."})
	}
	if pause := v.Main.Paused; pause != nil {
		text := clean(pause.Reason)
		if pause.Code != "" {
			text = clean(p.words.Short(queue.Change{}, queue.Reason{Code: pause.Code, Detail: pause.Reason})) + ": " + text
		}
		if text != "" && !strings.HasSuffix(text, ".") {
			text += "."
		}
		if pause.Window != nil {
			out = append(out, alert{Tone: "warn", Doc: "troubleshoot#frozen-or-paused", Title: "Frozen until " + pause.Until.Time().Format("2 Jan 15:04 UTC"),
				Text: strings.TrimSpace(text + " Builds go on; until then emergencies land, and what queue.freeze in the configuration excepts. " + p.words.Resume())})
		} else if pause.Until != 0 {
			out = append(out, alert{Tone: "warn", Doc: "troubleshoot#frozen-or-paused", Title: "Frozen by " + clean(pause.By) + " until " + pause.Until.Time().Format("2 Jan 15:04 UTC"),
				Text: strings.TrimSpace(text + " Builds go on, and nothing but emergencies lands until then.")})
		} else if pause.Probe != 0 {
			out = append(out, alert{Tone: "warn", Doc: "troubleshoot#frozen-or-paused", Title: "Paused by " + clean(pause.By) + " " + stampOf(pause.At, now).Words,
				Text: strings.TrimSpace(text + " Builds go on. From time to time one change is pushed, and when it gets through, landings go on by themselves. " + p.words.Resume())})
		} else {
			out = append(out, alert{Tone: "warn", Doc: "troubleshoot#frozen-or-paused", Title: "Paused by " + clean(pause.By) + " " + stampOf(pause.At, now).Words,
				Text: strings.TrimSpace(text + " Builds go on, nothing lands. " + p.words.Resume())})
		}
	}
	if v.Main.Broken != "" {
		title, what := "cannot be used as it is", "The last good one stays in force."
		if v.Main.Config == nil {
			title, what = "cannot be used", "Nothing can land before there is one."
		}
		out = append(out, alert{Tone: "bad", Doc: "troubleshoot#the-configuration-cannot-be-used", Title: "The configuration on " + clean(v.Main.Branch) + " " + title,
			Text: strings.TrimSuffix(clean(v.Main.Broken), ".") + ". " + what})
	}
	for _, q := range v.Main.Config.Quarantines(now.Time()) {
		if q.Over {
			out = append(out, alert{Tone: "warn", Doc: "troubleshoot#a-quarantine-is-over", Title: "A quarantine is over", Text: clean(p.words.QuarantineOver(q)) + "."})
		}
	}
	if u := v.Upgrade; u != nil {
		a := alert{Tone: "calm", Doc: "troubleshoot#a-newer-version-of-the-analyzer", Title: "A newer version of the analyzer is being proven", Text: clean(p.words.Upgrade(u)) + "."}
		if len(u.Red) > 0 || u.Unknown != "" {
			a.Tone, a.Title = "warn", "The newer version of the analyzer is not in force"
		}
		out = append(out, a)
	}
	for _, h := range v.Hosts {
		if h.Bench != nil {
			out = append(out, alert{Tone: "warn", Doc: "troubleshoot#a-host-is-benched", Title: "Host " + clean(h.Name) + " is benched", Text: clean(p.words.Host(h)) + "."})
		}
	}
	for _, h := range v.Hosts {
		for _, o := range h.Other {
			out = append(out, alert{Tone: "warn", Doc: "troubleshoot#a-host-has-other-tools", Title: "Host " + clean(h.Name) + " has other tools", Text: clean(p.words.OtherTools(h.Name, o)) + "."})
		}
	}
	for _, d := range v.Main.Drift {
		out = append(out, alert{Tone: "bad", Doc: "troubleshoot#the-branch-has-drifted", Title: clean(v.Main.Branch) + " has drifted",
			Text: clean(p.words.Drift(d)) + ". Changes that fail on it wait; all others land as usual."})
	}
	if len(v.Unrun) > 0 {
		out = append(out, alert{Tone: "bad", Doc: "troubleshoot#nobody-can-build-the-branch", Title: "Nobody can build " + clean(v.Main.Branch), Text: clean(p.words.Unrun(v.Unrun)), Failures: d.failures(v.Unrun, true)})
	}
	if len(v.Red) > 0 {
		names := make([]string, 0, len(v.Red))
		for _, n := range v.Red {
			names = append(names, clean(n))
		}
		out = append(out, alert{Tone: "bad", Doc: "troubleshoot#the-branch-is-red", Title: clean(v.Main.Branch) + " itself is red",
			Text: "These targets fail without any change of the queue. Changes that repair them land as usual.", Names: names,
			Failures: d.failures(v.Failing, false)})
		if len(v.Blame.Culprits) > 0 || len(v.Blame.Names) > 0 {
			out = append(out, alert{Tone: "bad", Doc: "reasons#culprit", Title: p.words.Short(queue.Change{}, v.Blame), Text: clean(p.words.Reason(queue.Change{}, v.Blame))})
		}
	}
	return out
}

// failures are the failing steps of the target branch itself.
func (d *directory) failures(list []queue.Evidence, unrun bool) []failure {
	out := make([]failure, 0, len(list))
	for _, f := range list {
		one := d.failure(queue.Change{}, f)
		one.Unrun = unrun
		out = append(out, one)
	}
	return out
}
