package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Main drifts where a key of it that has passed fails by now, at the same hash: a
// certificate has expired, a service that a test talks to has changed, the runner's
// image is another one. Controls and watch builds show it. When such a key has failed
// as often as a verdict needs, its pass is revoked, here and in the archive, and main
// is surveyed again. The key is then in the link of main's unproven keys, is run again
// like any red key of main, and holds the rejections that it may excuse (blame). But no
// commit has brought it, so it holds up no landing, even under `external: hold`: passes
// beside it, and on top of it, count.

// revokeDrifted revokes the passes that a run on main has refuted.
func (c *judging) revokeDrifted(b *queue.Build, j *queue.Job, failed []string) {
	if b.Change != "" || b.Worth.Kind == queue.WorthUpgrade || b.Worth.Kind == queue.WorthHunt {
		return
	}
	again := b.Worth.Kind == queue.WorthControl || b.Worth.Kind == queue.WorthWatch
	var gone []queue.Key
	var evidence []queue.Failure
	for _, k := range j.Keys {
		e := c.s.Ledger[k.ID()]
		good := queue.Instant(0)
		if e != nil {
			good = e.Good()
		}
		if e == nil || e.Passed == 0 {
			if !again || c.isUnproven(k) || c.facts.Ledger.IsDrift(k) {
				continue // it was unproven already
			}
		}
		of := e
		if !slices.Contains(failed, k.Target) {
			of = c.s.Ledger[opaqueID(j.Keys)]
		}
		if of == nil {
			continue
		}
		against := derived.Filtered(of, func(f queue.Failure) bool { return f.Ran.Change == "" && f.At > good })
		if against == nil {
			continue
		}
		now := *against
		if now.Passed, now.Confirmed = 0, 0; c.facts.Ledger.Decides(&now) {
			gone, evidence = append(gone, k), now.Failures
			c.unprove(k, j.Step.Name, now.Failures)
		}
	}
	if len(gone) == 0 {
		return
	}
	c.cloud(j.Step.Name)
	var names []string
	for _, k := range gone {
		names = append(names, k.Target)
	}
	c.note(queue.Note{What: "drift", Build: b.ID, Commit: b.Commit,
		Reason: queue.Reason{Code: queue.ReasonRedMain, Names: append([]string{j.Step.Name}, names[:min(len(names), 5)]...), Until: evidence[0].At}})
	c.facts.Rejudge()
	c.s.Main.Surveyed = ""
	c.touchMain()
	c.upkeep.renew(queue.Survey{Commit: c.s.Main.Tip, Analyzer: c.s.Main.Analyzer})
}

// unprove takes a pass of main back, here and in the archive.
func (c *judging) unprove(k queue.Key, step string, against []queue.Failure) {
	e := c.entry(k)
	good := e.Good()
	*e = queue.Entry{ID: e.ID, Keys: e.Keys, Tries: e.Tries, Lost: max(good, 1), Failures: e.Failures}
	e.Failures = slices.DeleteFunc(slices.Clone(e.Failures), func(f queue.Failure) bool { return f.At <= good || f.Ran.Change != "" })
	c.facts.Ledger.Learned(e.ID, e)
	c.turn.Archive = slices.DeleteFunc(c.turn.Archive, func(x queue.Entry) bool { return x.ID == e.ID })
	c.turn.Archive = append(c.turn.Archive, *e)
	m := &c.s.Main
	last := against[len(against)-1]
	m.Drift = append(slices.Clone(m.Drift), queue.Drift{Aim: queue.Aim{Step: step, Target: k.Target}, Key: e.ID, Good: good, Bad: against[0].At, Build: last.Build})
	c.touchMain()
	c.hunting.lostGround(func(_ *queue.Trail, o queue.Key) bool { return o == k })
}

// cloud marks the failures of a step that name no targets: main may have been to blame
// for them.
func (c *judging) cloud(step string) {
	for _, id := range derived.Sorted(c.s.Ledger) {
		e := c.s.Ledger[id]
		if !e.IsSet() || e.Step != step {
			continue
		}
		e.Failures = slices.Clone(e.Failures)
		for i := range e.Failures {
			if f := &e.Failures[i]; f.Ran.Change != "" && !f.Clouded {
				f.Clouded = true
				c.touch(queue.KindEntry, string(id))
			}
		}
		c.facts.Ledger.Learned(id, e)
	}
}

// isUnproven reports whether main's root link has a key: main has not proven it.
func (c *judging) isUnproven(k queue.Key) bool {
	root := c.facts.Root()
	return root != nil && slices.Contains(root.Keys, k)
}

// recovered ends the drift of keys that have passed again.
func (c *judging) recovered(j *queue.Job, passed []string) {
	c.endDrift(func(d queue.Drift) bool {
		return slices.ContainsFunc(j.Keys, func(k queue.Key) bool { return slices.Contains(passed, k.Target) && k.ID() == d.Key })
	})
}

// endDrift forgets drift that is over.
func (c *judging) endDrift(over func(queue.Drift) bool) {
	m := &c.s.Main
	var left []queue.Drift
	for _, d := range m.Drift {
		if !over(d) {
			left = append(left, d)
			continue
		}
		c.note(queue.Note{What: "drift-over", Commit: m.Tip, Reason: queue.Reason{Names: []string{d.Step, d.Target}, Until: d.Bad}})
	}
	if len(left) != len(m.Drift) {
		m.Drift = left
		c.facts.Rejudge()
		c.touchMain()
	}
}

// driftOf returns the drift of some targets of main.
func (c *judging) driftOf(targets []string) []queue.Drift {
	var out []queue.Drift
	for _, d := range c.s.Main.Drift {
		if slices.Contains(targets, d.Target) {
			out = append(out, d)
		}
	}
	return out[:min(len(out), 5)]
}
