package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// capacity takes in how many builds can run at once. If the forge's CI has no slots and
// no hosts are listed, only the number of slots is stored.
func (c *guarding) capacity(b queue.Capacity) {
	kept := b
	if b.Forge == 0 && !c.facts.ToldFleet() {
		kept = queue.Capacity{}
	}
	if c.s.Capacity != kept {
		c.s.Capacity = kept
		c.touch(queue.KindMeta, queue.MetaCapacity)
	}
	c.setSlots(b)
}

// configured follows the steps that have come into force.
func (c *guarding) configured() {
	if c.s.Capacity != (queue.Capacity{}) {
		c.setSlots(c.s.Capacity)
	}
}

// setSlots counts the slots for builds under the steps in force. A build of steps on
// runners takes a slot of the runners, a build of checks takes one of the forge's CI,
// and a build of both takes one of each. The slots of benched hosts do not count.
func (c *guarding) setSlots(b queue.Capacity) {
	b.Slots = max(b.Slots-c.benching.benchedSlots(), min(b.Slots, 1))
	n, byForge, byRunner := b.Slots, false, false
	if cfg := c.s.Main.Config; cfg != nil {
		byForge = slices.ContainsFunc(cfg.Steps, config.Step.ByForge)
		byRunner = slices.ContainsFunc(cfg.Steps, func(s config.Step) bool { return !s.ByForge() })
	}
	switch {
	case b.Forge == 0: // builds of checks go to the runners, which say that they cannot run them
	case byForge && byRunner:
		n = min(b.Slots, b.Forge)
	case byForge:
		n = b.Forge
	}
	if c.s.Slots != n {
		c.s.Slots = n
		c.touch(queue.KindMeta, queue.MetaSlots)
	}
}

// ranAgain counts the runs of a job, or of targets of it, that came before the one that passed.
func (c *guarding) ranAgain(j *queue.Job, r queue.JobDone) {
	for _, k := range j.Keys {
		if slices.Contains(r.Flaked, k.Target) && slices.Contains(r.Passed, k.Target) {
			c.judging.entry(k).Tries++
		}
	}
	if r.Again <= 0 || r.Outcome != queue.JobPassed {
		return
	}
	for _, k := range j.Keys {
		c.judging.entry(k).Tries += r.Again
	}
}

// passTree takes a pass of a step that covers the tree for every key that the
// step has on the commit. These are the keys of the links that the commit is made of,
// each target as the uppermost link has it, down to the keys that are unproven on main.
// A link's keys of commits on the way to its own commit (queue.Halfway) are of other
// trees: the pass tells nothing of them.
func (c *guarding) passTree(j *queue.Job, b *queue.Build, r queue.JobDone) {
	if j.Step.Counts != config.CountsTree || j.Step.Scope == config.ScopeRepository {
		return
	}
	l := c.s.Links[b.Link]
	if l == nil || l.Commit != b.Commit {
		return
	}
	step, seen := j.Step.Digest(), map[string]bool{}
	take := func(l *queue.Link) {
		own := l.OwnKeys()
		for _, k := range own {
			if k.Step != step || seen[k.Target] {
				continue
			}
			if f := c.facts.Ledger.Keys[k.ID()]; f == nil || !f.Passed() {
				c.judging.writePass(k, c.judging.shownIn(b, k, r))
			}
		}
		for _, k := range own {
			seen[k.Target] = true // under another step it has another digest, but the same content
		}
		for _, t := range l.Gone {
			seen[t] = true
		}
	}
	for l != nil && l.Outcome == queue.Merged {
		take(l)
		below := l.Parent
		if l.Change == "" {
			return // a root link: it is main itself
		}
		if l = c.facts.Links.LinkTo(below); l == nil {
			if root := c.facts.Root(); root != nil && root.Parent == below {
				take(root)
			}
		}
	}
}
