package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// A step that the forge's CI runs may run everything on a commit, whatever it was asked
// for, and fail without a name. Such a failure says nothing of a target on a commit where
// another target of the step was red before it: main is red for a, an innocent commit
// touches b, and the check fails because of a. The commit is in the shadow of a.

// shadowed reports whether the failure of a trail on a commit of its line may be that of
// another trail, which was red on the commit before it.
func (c *hunting) shadowed(h *queue.Hunt, t *queue.Trail, at int) bool {
	if !t.Opaque || !c.runsAll(h.Line[at], t.Step) {
		return false
	}
	for _, o := range c.s.Hunts {
		for i := range o.Trails {
			y := &o.Trails[i]
			if _, red := y.Bad(); red && y != t && y.Step == t.Step && mayBeRedBefore(o, y, h, at) {
				return true
			}
		}
	}
	return false
}

// mayBeShadowed reports whether a trail is shadowed on a commit of its line, or it is not
// known yet, since main has keys of the step of which nothing is known.
func (c *hunting) mayBeShadowed(h *queue.Hunt, t *queue.Trail, at int) bool {
	if !t.Opaque || !c.runsAll(h.Line[at], t.Step) {
		return false
	}
	root := c.facts.Root()
	if root == nil || c.s.Main.Surveyed != root.Commit || c.shadowed(h, t, at) {
		return true
	}
	for i, f := range c.facts.Links.Info(root).Facts {
		k := root.Keys[i]
		if st, ok := c.facts.Links.Step(root, k); ok && st.Name == t.Step && !f.Passed() && !slices.Contains(t.Targets, k.Target) && !c.followed(t.Step, k.Target) {
			return true
		}
	}
	return false
}

// followed reports whether a hunt that goes on follows a step on a target.
func (c *hunting) followed(step, target string) bool {
	for _, h := range c.s.Hunts {
		if h.Over == 0 && slices.ContainsFunc(h.Trails, func(t queue.Trail) bool {
			_, red := t.Bad()
			return red && t.Over == 0 && t.Step == step && slices.Contains(t.Targets, target)
		}) {
			return true
		}
	}
	return false
}

// mayBeRedBefore reports whether a trail of a hunt is not known to be good on the commit
// before one of another hunt's line, and was not mended before.
func mayBeRedBefore(o *queue.Hunt, y *queue.Trail, h *queue.Hunt, at int) bool {
	if there := placeOn(o, h.Line[at].Commit); there >= 0 {
		return y.Good < 0 || y.Spots[y.Good].At < there-1
	}
	tip := placeOn(h, o.Tip)
	return y.Over == 0 && tip >= 0 && tip < at
}

// placeOn returns the place of a commit on a hunt's line, or -1.
func placeOn(h *queue.Hunt, commit queue.CommitID) int {
	return slices.IndexFunc(h.Line, func(l queue.HuntCommit) bool { return l.Commit == commit })
}

// runsAll reports whether a step may run everything on a commit, whatever it was asked for.
func (c *hunting) runsAll(at queue.HuntCommit, step string) bool {
	set := c.s.Steps[at.Steps]
	return set != nil && slices.ContainsFunc(set.Steps, func(s config.Step) bool {
		return s.Name == step && (s.ByForge() || s.Counts == config.CountsTree)
	})
}
