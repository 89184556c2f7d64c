package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// The bounds for changes that probably break a step on the whole tree.
//
// Members behind such a change on the train are built in vain, so a change
// that probably breaks a step is no member. It is tried on the train's last commit,
// aside, while the others follow on that same commit. If it passes there, it is a
// member like any other. If it fails, main stops at that commit once, and the change
// gets its verdict on the real main. If steps fail often enough, changes are also
// checked alone while their first build runs, so that it is known before they board.
const (
	treeDoubtful = 0.5 // chance above which a change is no member of the train
	maxTrials    = 16  // changes that are tried aside at a time
)

// doubtful reports whether a change is left out of the train because it probably
// breaks a step on the whole tree. A change that has passed the step is not left out.
func (c *landing) doubtful(at queue.CommitID, id queue.ChangeID) bool {
	if c.facts.Without(config.IngredientTrials) || !c.facts.TreeSteps.HasTreeSteps() || c.facts.TreeSteps.Breaks(id) <= treeDoubtful {
		return false
	}
	l := c.s.Links[queue.LinkOf(at, id)]
	return l == nil || c.facts.Links.State(l).Status != derived.Verified
}

// try chooses the commits on which doubtful changes are tried: the commit where a
// change is being tried already, else the last one of the line.
func (c *landing) try(ready []queue.ChangeID, in map[queue.ChangeID]bool, line map[queue.CommitID]bool, end queue.CommitID) {
	var trials []derived.Trial
	defer func() { c.facts.TreeSteps.SetTrials(trials) }()
	for _, id := range ready {
		if len(trials) == maxTrials {
			return
		}
		if in[id] || !c.doubtful(end, id) || !c.mayJoin(id, in) || c.hasLink(line, id, c.failsOn) {
			continue
		}
		var on *queue.Link
		for l := range c.facts.Links.LinksOf[id] {
			if len(l.With) == 0 && line[l.Parent] && c.facts.Links.State(l).Status == derived.TreeKeysOnly && (on == nil || cmp.Or(cmp.Compare(l.At, on.At), cmp.Compare(l.ID, on.ID)) > 0) {
				on = l
			}
		}
		switch {
		case on != nil:
			c.boarding[id] = true
			trials = append(trials, derived.Trial{At: on.Parent, ID: id})
		case c.s.Links[queue.LinkOf(end, id)] == nil:
			c.boarding[id] = true
			c.wants = append(c.wants, derived.Want{Base: end, Picks: []queue.ChangeID{id}})
		}
	}
}

// trying reports whether a change is being tried on a commit: main waits there
// for the result, as it would for a member.
func (c *landing) trying(at queue.CommitID) bool {
	return slices.ContainsFunc(c.facts.TreeSteps.Trials(), func(t derived.Trial) bool {
		if t.At != at {
			return false
		}
		l := c.s.Links[queue.LinkOf(at, t.ID)]
		return l != nil && slices.ContainsFunc(c.facts.Links.Info(l).Facts, func(f *derived.Fact) bool { return f.Build != nil })
	})
}
