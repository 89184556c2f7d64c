package app

import (
	"cmp"
	"context"
	"slices"

	"github.com/submitqueue/submitqueue/conflict"
	"github.com/submitqueue/submitqueue/queue"
)

// watch says which keys main has of some steps and targets, or which of main's keys
// were last seen to pass before a given moment. It also returns the entries of these
// keys.
func (p *passes) watch(ctx context.Context, a *queue.Action, t queue.Watch) (queue.Body, error) {
	j, err := p.whole(ctx, t.Commit, t.Analyzer)
	if err != nil {
		return nil, err
	}
	out := queue.Controlled{Action: a.Key, Commit: t.Commit, Tree: j.tree, Steps: j.steps, Analyzer: j.version()}
	all := aimed(j.steps, conflict.Keys(nil, j.snapshot, nil, j.steps.Steps))
	if t.Before == 0 {
		out.Found = among(all, t.Aims)
		out.Passed, err = p.seen(ctx, keysOf(out.Found), j.steps)
		return out, err
	}
	known, err := p.seen(ctx, keysOf(all), j.steps)
	if err != nil {
		return nil, err
	}
	known = slices.DeleteFunc(known, func(e queue.Entry) bool { return e.Good() >= t.Before })
	slices.SortStableFunc(known, func(a, b queue.Entry) int { return cmp.Compare(a.Good(), b.Good()) })
	out.Passed = known[:min(len(known), t.Most)]
	old := map[queue.Digest]bool{}
	for _, e := range out.Passed {
		old[e.ID] = true
	}
	out.Found = slices.DeleteFunc(all, func(x queue.Aimed) bool { return !old[x.Key.ID()] })
	return out, nil
}

// aimed names keys by their steps and targets.
func aimed(steps queue.StepSet, keys []queue.Key) []queue.Aimed {
	names := map[queue.Digest]string{}
	for _, s := range steps.Steps {
		names[s.Digest()] = s.Name
	}
	out := make([]queue.Aimed, len(keys))
	for i, k := range keys {
		out[i] = queue.Aimed{Aim: queue.Aim{Step: names[k.Step], Target: k.Target}, Key: k}
	}
	return out
}

// among returns those of all keys that the aims name.
func among(all []queue.Aimed, aims []queue.Aim) []queue.Aimed {
	byAim := map[queue.Aim]queue.Aimed{}
	for _, x := range all {
		byAim[x.Aim] = x
		if some := (queue.Aim{Step: x.Step}); byAim[some].Step == "" {
			byAim[some] = queue.Aimed{Aim: some, Key: x.Key}
		}
	}
	var out []queue.Aimed
	for _, a := range aims {
		if x, has := byAim[a]; has {
			out = append(out, x)
		}
	}
	return out
}

func keysOf(found []queue.Aimed) []queue.Key {
	keys := make([]queue.Key, len(found))
	for i, x := range found {
		keys[i] = x.Key
	}
	return keys
}
