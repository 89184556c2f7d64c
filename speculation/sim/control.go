package sim

import (
	"container/heap"
	"fmt"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// watch returns the keys that main has now, of those that failed with changes. No key
// drifts in these worlds, so it does not look for keys that were proven long ago. The
// cost of a control is still measured.
func (d *driver) watch(key string, t queue.Watch) queue.Body {
	out := queue.Controlled{Action: key, Commit: t.Commit, Steps: d.tree.steps}
	for _, a := range t.Aims {
		k, has := d.tree.keyOf(a)
		if !has {
			continue
		}
		out.Found = append(out.Found, queue.Aimed{Aim: a, Key: k})
		if e, known := d.passed[k.ID()]; known {
			out.Passed = append(out.Passed, e)
		}
	}
	return out
}

// keyOf returns main's key of a step on a target.
func (f *forest) keyOf(a queue.Aim) (queue.Key, bool) {
	whole := queue.Digest(fmt.Sprintf("%016x", f.content(len(f.line), nil)))
	for _, s := range f.steps.Steps {
		if s.Name != a.Step {
			continue
		}
		if s.Scope == config.ScopeRepository || f.w.Opaque {
			return queue.Key{Step: s.Digest(), Target: config.TargetTree, Hash: whole}, true
		}
		if n, has := f.number[a.Target]; has {
			return queue.Key{Step: s.Digest(), Target: a.Target, Hash: queue.Digest(fmt.Sprintf("%016x", f.main[n]))}, true
		}
	}
	return queue.Key{}, false
}

// startOnMain begins a build of main itself, which passes: in these worlds main is
// never red where a control looks. The build takes as long as its targets take in
// changes that affect them; if no targets are named, as long as some change takes.
func (d *driver) startOnMain(b *queue.Build) {
	d.serial++
	r := &run{id: b.ID, serial: d.serial, change: -1, began: d.now, failing: map[int]bool{}}
	took := 0.0
	var like []int
	for _, j := range b.Jobs {
		if j.Step.Scope == config.ScopeRepository {
			r.whole = true
			took += d.w.TreeStepMin
			continue
		}
		if d.w.Opaque {
			like = []int{len(d.w.Changes) / 2}
			r.targets = slices.Clone(d.w.Changes[like[0]].Targets)
			continue
		}
		for _, k := range j.Keys {
			t := d.tree.number[k.Target]
			r.targets = append(r.targets, t)
			if at := slices.IndexFunc(d.w.Changes, func(c Change) bool { return slices.Contains(c.Targets, t) }); at >= 0 && !slices.Contains(like, at) {
				like = append(like, at)
			}
		}
	}
	sortInts(r.targets)
	if len(r.targets) > 0 {
		took += d.w.BatchMinutes(like, r.targets)
	}
	r.end = d.now + max(1, queue.Instant(took*60000+0.5))
	d.runs[b.ID] = r
	d.out.began(clock(d.now))
	heap.Push(&d.ends, r)
	d.tellLater(queue.BuildStarted{Build: b.ID, Machine: "worker"})
}
