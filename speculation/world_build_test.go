package speculation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// start begins a build, once: one that is known already says again what it has
// said, because the queue may have lost it.
func (w *world) start(t queue.Run) []queue.Body {
	if r := w.runs[t.Build]; r != nil {
		return slices.Clone(r.said)
	}
	b := w.core.State().Builds[t.Build]
	if h := w.core.benching.probedHost(t.Build); h != nil {
		b = h.Bench.Probe
	}
	if b == nil {
		return nil
	}
	r := &run{build: *b, at: w.now}
	r.build.Jobs = slices.Clone(b.Jobs)
	w.runs[t.Build] = r
	if b.Only == "" {
		w.audit.started(&r.build)
	}
	if w.infra != nil {
		if bad, noRunner := w.infra(&r.build); bad {
			r.over = true
			r.said = []queue.Body{queue.BuildDone{Build: b.ID, Outcome: queue.JobInfra, Detail: "machine lost", NoRunner: noRunner}}
			if w.matched {
				r.said = []queue.Body{queue.BuildDone{Build: b.ID, Outcome: queue.JobInfra, Detail: "step unit has failed, and its log matches retry_on: reset", Matched: true, Host: w.hosts.place(&r.build)}}
			}
			return slices.Clone(r.said)
		}
	}
	if w.refusesRef != nil {
		if rule := w.refusesRef(b); rule != "" {
			r.over = true
			r.said = []queue.Body{queue.BuildDone{Build: b.ID, Outcome: queue.JobInfra, Detail: "the forge refused the ref: " + rule, NoCheck: true, Refused: rule}}
			return slices.Clone(r.said)
		}
	}
	if w.divides != nil && b.Only == "" {
		r.divide(w.divides)
	}
	r.divideSteps()
	r.host = w.hosts.place(&r.build)
	r.said = []queue.Body{queue.BuildStarted{Build: b.ID, Machine: cmp.Or(r.host, "m1")}}
	if r.host != "" && r.host == w.hosts.broken {
		for !r.over {
			w.advance(r)
		}
	}
	return slices.Clone(r.said)
}

// divide runs jobs in shards, as runners do.
func (r *run) divide(first func(b *queue.Build, keys int) int) {
	var jobs []queue.Job
	for _, j := range r.build.Jobs {
		n := 0
		if !j.Step.ByForge() && j.Step.Scope != config.ScopeRepository && len(j.Keys) > 1 {
			n = first(&r.build, len(j.Keys))
		}
		if n == 0 {
			jobs, r.asked = append(jobs, j), append(r.asked, nil)
			continue
		}
		at := max(n, -n)
		own, rest := j, j
		own.Keys, rest.Keys = j.Keys[:at], j.Keys[at:]
		if n < 0 {
			own, rest = rest, own
		}
		jobs, r.asked = append(jobs, own, rest), append(r.asked, own.Targets(), rest.Targets())
	}
	r.build.Jobs = jobs
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
	if w.breaksOff(r) {
		return r.said[len(r.said)-1:]
	}
	var out []queue.Body
	if r.jobs < len(r.build.Jobs) {
		done := w.job(r, r.build.Jobs[r.jobs])
		if r.asked != nil {
			done.Asked = r.asked[r.jobs]
		}
		out = append(out, done)
		r.jobs++
		r.at = w.now
	}
	if r.jobs == len(r.build.Jobs) {
		r.over = true
		outcome := queue.JobPassed
		for _, b := range append(slices.Clone(r.said), out...) {
			if j, ok := b.(queue.JobDone); ok && j.Outcome != queue.JobPassed && outcome != queue.JobInfra {
				outcome = queue.JobFailed
				if j.Outcome == queue.JobInfra {
					outcome = queue.JobInfra
				}
			}
		}
		out = append(out, queue.BuildDone{Build: r.build.ID, Outcome: outcome, Host: r.host, Alone: len(w.hosts.unbenched(&r.build)) == 1})
	}
	r.said = append(r.said, out...)
	return out
}

// soundly runs a step on a host that is not broken.
func (w *world) soundly(r *run, t tree, j queue.Job) queue.JobDone {
	out := queue.JobDone{Build: r.build.ID, Step: j.Step.Digest(), Outcome: queue.JobPassed, Took: minute, Machine: "m1"}
	for _, k := range j.Keys {
		if d, ok := w.took[k.Target]; ok {
			if out.PerTarget == nil {
				out.PerTarget = map[string]time.Duration{}
			}
			out.PerTarget[k.Target], out.Took = d, out.Took+d
		}
	}
	hangs := w.timeout != nil && w.timeout(j.Keys)
	if j.Limit != nil && (hangs || out.Took > j.Limit.After) {
		out.Outcome, out.Cut, out.Took, out.PerTarget = queue.JobTimeout, true, j.Limit.After, nil
		return out
	}
	if hangs {
		out.Outcome = queue.JobTimeout
		return out
	}
	red := w.freshIn(j, w.shakyIn(t, j, w.redIn(t, j)))
	if len(red) == 0 && w.flake != nil && w.flake(j.Keys) {
		red = j.Keys
	}
	if len(red) > 0 {
		out.Outcome = queue.JobFailed
	}
	if j.Step.Report != config.ReportGoTestJSON {
		if out.Outcome == queue.JobPassed && w.passes != nil {
			ran := j.Keys
			if j.Step.Counts == config.CountsTree {
				ran = queue.KeysOf(j.Step, t.id(), w.hashes(t))
			}
			w.passes(t, ran)
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
			if w.reruns != nil && w.reruns(k.Target) {
				out.Flaked = append(out.Flaked, k.Target)
			}
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
	w.wide.word(p, user, text, "c"+e.ID)
	return e
}

// commitOutside puts a commit on main that the queue did not make.
func (w *world) commitOutside(t tree) {
	c := w.put(commit{parent: w.main, tree: t})
	if p := w.core.State().Push; p != nil && p.Expected == w.main && p.Tip() == c.id {
		w.arrived(p)
	}
	w.main = c.id
	w.logf("== outside push: main is %s", w.main)
	if w.branches != nil && w.branches.gitlab != nil {
		w.branches.gitlab.pushed(0)
		return
	}
	for n := 1; n <= len(w.pulls); n++ { // it may be the very head of one: a forge takes that for a merge
		if p := w.pulls[n]; p != nil && p.open && p.head == c.id && p.base == "main" {
			p.open, p.merged = false, true
			w.logf("## so pull %d is merged", n)
		}
	}
}
