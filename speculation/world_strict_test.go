package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// repeated asks for new targets under each run of steps that are strict with them, and not
// under the steps themselves. Of a tree that cannot be divided nothing is new.
func (w *law) repeated(parent, t tree, keys []queue.Key) []queue.Key {
	was, now := w.hashes(parent), w.hashes(t)
	whole := func(h queue.TargetHash) bool { return h.Target == config.TargetTree }
	if slices.ContainsFunc(was, whole) || slices.ContainsFunc(now, whole) {
		return keys
	}
	var out []queue.Key
	for _, k := range keys {
		old := slices.ContainsFunc(was, func(h queue.TargetHash) bool { return h.Target == k.Target })
		if runs := w.runsOf(t, []queue.Key{k}); !old && len(runs) > 0 {
			out = append(out, runs...)
		} else {
			out = append(out, k)
		}
	}
	return out
}

// runsOf returns the keys of the runs that keys of a tree have where their targets are new.
func (w *law) runsOf(t tree, keys []queue.Key) (out []queue.Key) {
	steps := stepsOf(t)
	for _, k := range keys {
		st, _ := queue.NewStepSet(steps).Step(k.Step)
		for _, s := range steps {
			if s.Repeat > 0 && s.Once().Digest() == st.Digest() {
				out = append(out, queue.Key{Step: s.Digest(), Target: k.Target, Hash: k.Hash})
			}
		}
	}
	return out
}

// freshIn lets runs of new targets fail by chance.
func (w *world) freshIn(j queue.Job, red []queue.Key) []queue.Key {
	if w.fresh == nil || j.Step.Repeat == 0 {
		return red
	}
	for _, k := range j.Keys {
		if !slices.Contains(red, k) && w.fresh(k) {
			red = append(slices.Clone(red), k)
		}
	}
	return red
}
