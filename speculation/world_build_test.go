package speculation

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// start begins a build, once: one that is known already says again what it has
// said, because the queue may have lost it.
func (w *world) start(t queue.Run) []queue.Body {
	if r := w.runs[t.Build]; r != nil {
		return slices.Clone(r.said)
	}
	b := w.core.State().Builds[t.Build]
	if b == nil {
		return nil
	}
	r := &run{build: *b}
	r.build.Jobs = slices.Clone(b.Jobs)
	w.runs[t.Build] = r
	w.audit.started(&r.build)
	if w.infra != nil {
		if bad, noRunner := w.infra(&r.build); bad {
			r.over = true
			r.said = []queue.Body{queue.BuildDone{Build: b.ID, Outcome: queue.JobInfra, Detail: "machine lost", NoRunner: noRunner}}
			return slices.Clone(r.said)
		}
	}
	r.said = []queue.Body{queue.BuildStarted{Build: b.ID, Machine: "m1"}}
	return slices.Clone(r.said)
}

// going returns the builds that run, oldest first.
func (w *world) going() []*run {
	var out []*run
	for _, r := range w.runs {
		if !r.over {
			out = append(out, r)
		}
	}
	slices.SortFunc(out, func(a, b *run) int {
		if a.build.At != b.build.At {
			return int(a.build.At - b.build.At)
		}
		return strings.Compare(string(a.build.ID), string(b.build.ID))
	})
	return out
}

// advance finishes the next job of a build, and the build with its last.
func (w *world) advance(r *run) []queue.Body {
	var out []queue.Body
	if r.jobs < len(r.build.Jobs) {
		out = append(out, w.job(r, r.build.Jobs[r.jobs]))
		r.jobs++
	}
	if r.jobs == len(r.build.Jobs) {
		r.over = true
		outcome := queue.JobPassed
		for _, b := range append(slices.Clone(r.said), out...) {
			if j, ok := b.(queue.JobDone); ok && j.Outcome != queue.JobPassed {
				outcome = queue.JobFailed
			}
		}
		out = append(out, queue.BuildDone{Build: r.build.ID, Outcome: outcome})
	}
	r.said = append(r.said, out...)
	return out
}

func (w *world) job(r *run, j queue.Job) queue.JobDone {
	t := w.commits[r.build.Commit].tree
	out := queue.JobDone{Build: r.build.ID, Step: j.Step.Digest(), Outcome: queue.JobPassed, Took: minute, Machine: "m1"}
	if w.timeout != nil && w.timeout(j.Keys) {
		out.Outcome = queue.JobTimeout
		return out
	}
	var red []queue.Key
	for _, k := range j.Keys {
		if !w.green(t, k) {
			red = append(red, k)
		}
	}
	if len(red) == 0 && w.flake != nil && w.flake(j.Keys) {
		red = j.Keys
	}
	if len(red) > 0 {
		out.Outcome = queue.JobFailed
	}
	if j.Step.Report != queue.ReportGoTestJSON {
		if out.Outcome == queue.JobPassed && w.passes != nil {
			w.passes(t, j.Keys)
		}
		return out
	}
	named := j.Keys
	if w.forgets != nil && w.forgets(&r.build) {
		named = named[:len(named)-1]
	}
	for _, k := range named {
		if slices.Contains(red, k) {
			out.Failed = append(out.Failed, queue.TargetFailure{Target: k.Target, Tail: "--- FAIL"})
		} else {
			out.Passed = append(out.Passed, k.Target)
			if w.passes != nil {
				w.passes(t, []queue.Key{k})
			}
		}
	}
	return out
}

// open opens a pull request with an edit of main as it is at a commit.
func (w *world) open(from queue.CommitID, e edit) *pull {
	p := &pull{number: len(w.pulls) + 1, open: true, base: "main"}
	p.head = w.put(commit{parent: from, tree: w.commits[from].tree.with(e)}).id
	w.pulls[p.number] = p
	w.logf("## pull %d at %s: %v", p.number, p.head, e)
	return p
}

// say comments on a pull request and returns the event that tells of it.
func (w *world) say(p *pull, user, text string) queue.Event {
	e := w.event(nil)
	e.Body = queue.Commented{Number: p.number, Comment: "c" + e.ID, Author: user, Body: text}
	p.commands = append(p.commands, e)
	return e
}

// commitOutside puts a commit on main that the queue did not make.
func (w *world) commitOutside(t tree) {
	w.main = w.put(commit{parent: w.main, tree: t}).id
	w.logf("== outside push: main is %s", w.main)
}
