package web

import (
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// bar is the progress of one build.
type bar struct {
	Build string
	Value int    // per cent
	Label string // the same in words
	Why   string
}

func (p *Pages) bar(v queue.BuildView, now queue.Instant) bar {
	out := barOf(v, now)
	out.Why = clean(p.words.Why(v.Build.Worth, v.Build.Why))
	return out
}

func barOf(v queue.BuildView, now queue.Instant) bar {
	b := v.Build
	out := bar{Build: string(b.ID)}
	switch {
	case b.Cancel:
		out.Label = "stopping"
		return out
	case b.Started == 0:
		out.Label = "waits for a runner"
		return out
	}
	if n := v.Steps(); n > 0 {
		out.Value = 100 * v.Done / n
		if n > 1 {
			out.Label = count(v.Done, "", "") + " of " + count(n, "step", "steps")
		}
	}
	left := "for " + span(now.Sub(b.Started))
	if v.Expected > b.Started {
		// A build that takes longer than expected is nearly done, not done.
		byTime := int(100 * float64(now.Sub(b.Started)) / float64(v.Expected.Sub(b.Started)))
		out.Value = min(max(out.Value, byTime), 97)
		left = "about " + span(v.Expected.Sub(now).Round(time.Second)) + " left"
		switch {
		case now > v.Expected.Add(v.Usual/2):
			left = "longer than the usual " + span(v.Usual)
		case v.Expected.Sub(now) < time.Second:
			left = "usually done by now"
		}
	}
	if out.Label != "" {
		out.Label += " · "
	}
	out.Label += left
	return out
}

// build is one live build in full.
type build struct {
	bar
	Commit  string
	Attempt int
	Assumes []ref
	For     []ref // the changes that it is for, where there are several
	Main    bool  // a build of the target branch itself
	Jobs    []job
	Asked   stamp
	LogPath string
	Worth   *worth
	Log     *Log
}

// job is one step of a build.
type job struct {
	Step    string
	Done    bool
	Targets string
}

// targetsShown is how many targets of a step are named.
const targetsShown = 4

func (p *Pages) build(d *directory, v queue.BuildView, logs []Log) build {
	b := v.Build
	out := build{
		bar: p.bar(v, d.now), Commit: short(b.Commit), Attempt: b.Attempt, Assumes: d.refs(b.Assumes()), For: shared(d, b),
		Main: b.Change == "", Asked: stampOf(b.At, d.now), LogPath: logPath(b.ID),
		Worth: p.worth(d, b),
	}
	for _, j := range b.Jobs {
		names := j.Targets()
		text := strings.Join(names[:min(len(names), targetsShown)], ", ")
		if more := len(names) - targetsShown; more > 0 {
			text += " and " + count(more, "more", "more")
		}
		out.Jobs = append(out.Jobs, job{Step: clean(j.Step.Title()), Done: j.Done, Targets: clean(text)})
	}
	for _, l := range logs {
		if l.Build == b.ID {
			l.Text, _ = PlainLog([]byte(l.Text), true) // plain text stays as it is
			out.Log = &l
		}
	}
	return out
}

// shared names the changes that a build is for, where there are several.
func shared(d *directory, b queue.Build) []ref {
	if len(b.Also) == 0 {
		return nil
	}
	return d.refs(b.For())
}
