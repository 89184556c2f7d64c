package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A failure of a target in quarantine does not count. This file decides that, and all of the
// core goes by it: the key's entry gets a pass that is marked (Entry.Excused). So the gate
// lets it through, no change is blamed, and main is not red.
//
// A target of a key is in quarantine where both say so at this moment:
//
//   - the configuration in force, of main: no change excuses its own failures, and a change
//     that adds an entry is judged without it;
//   - the step in the tree of the commit that has the key: a change that takes an entry out
//     must pass the target, so that main is green by its own configuration when it has
//     landed.
//
// Say that main has `quarantine: [{targets: [./web]}]`, and ./web fails in the build of a
// change. Its entry is excused, and the change lands. A week later the entry's last day is
// over: the excuse no longer counts, main is surveyed, and ./web is run there. If it fails,
// main is red, as if there had been no quarantine.
//
// Excused passes are never in the archive. A step that names no target fails for all targets
// of its job, and that failure is excused only if all of them are in quarantine; so such
// targets form a separate job (apart).

// excuses reports whether failures of a step's target do not count now. own is the step in
// the tree of the commit.
func (c *judging) excuses(own config.Step, target string) bool {
	return own.Quarantined(target, c.facts.Now.Time()) && c.inQuarantine(queue.Aim{Step: own.Name, Target: target})
}

// inQuarantine reports whether main's configuration has a target in quarantine now.
func (c *judging) inQuarantine(a queue.Aim) bool {
	base, ok := c.s.Main.Config.StepNamed(a.Step)
	return ok && !c.s.Main.Unread && base.Quarantined(a.Target, c.facts.Now.Time())
}

// excused returns a result without the failures that do not count, and the targets of
// these failures. If no other target has failed or is unknown, the result has passed.
func (c *judging) excused(j *queue.Job, r queue.JobDone) (queue.JobDone, []string) {
	if r.Outcome != queue.JobFailed && r.Outcome != queue.JobTimeout || len(j.Step.Quarantine) == 0 {
		return r, nil
	}
	var out []string
	if len(r.Passed)+len(r.Failed) == 0 {
		if slices.ContainsFunc(j.Keys, func(k queue.Key) bool { return !c.excuses(j.Step, k.Target) }) {
			return r, nil
		}
		r.Outcome = queue.JobPassed
		return r, j.Targets()
	}
	asked := j.Targets()
	r.Failed = slices.DeleteFunc(slices.Clone(r.Failed), func(f queue.TargetFailure) bool {
		if !slices.Contains(asked, f.Target) || !c.excuses(j.Step, f.Target) {
			return false
		}
		if !slices.Contains(out, f.Target) {
			out = append(out, f.Target)
		}
		return true
	})
	if len(out) > 0 && len(r.Failed) == 0 && !slices.ContainsFunc(asked, func(t string) bool { return !slices.Contains(out, t) && !slices.Contains(r.Passed, t) }) {
		r.Outcome = queue.JobPassed
	}
	return r, out
}

// partlyExcused reports whether some of a job's targets are in quarantine by now, but not all, as they
// were put there since the build was asked for: a failure that names no target may be of these alone.
func (c *judging) partlyExcused(j *queue.Job) bool { return len(c.apart(j.Step, j.Keys)) > 1 }

// excuse writes that a key has failed in a build, and that the failure does not count. r
// is the complete result of the build. A failure that cannot be excused, because passes from before
// it are forgotten, is not written at all: the run may have named no target, so that it would be
// evidence against a key that did not fail; and the key is run again.
func (c *judging) excuse(b *queue.Build, j *queue.Job, k queue.Key, r queue.JobDone) {
	s := c.shownIn(b, k, r)
	if !c.facts.Ledger.Passed(k) && c.tooOld(k, s) {
		j.Outdated = true
		return
	}
	tail := r.Tail
	for _, f := range r.Failed {
		if f.Target == k.Target && f.Tail != "" {
			tail = f.Tail
		}
	}
	e := c.entry(k)
	c.writeFailure(e, b, r, tail)
	c.excuseAs(e, s)
	id := derived.DurationID(j.Step.Name, k.Target)
	next := queue.Duration{ID: id} // a target that has never passed may have no record yet
	if d := c.s.Durations[id]; d != nil {
		next = *d
	}
	next.Excused++
	next.Shaken, next.ShakenIn = c.facts.Now, b.ID
	c.s.Durations[id] = &next
	c.touch(queue.KindDuration, id)
}

// excuseAs marks an entry of one key that has failed as excused: it counts as passed now.
func (c *judging) excuseAs(e *queue.Entry, s shown) {
	if e.Passed != 0 {
		return
	}
	e.Excused, e.Confirmed, e.Began = s.ended, 0, s.began
	e.Passed, e.By, e.Change, e.Commit, e.Head = s.ended, s.by, s.change, s.commit, false
	e.Step, e.Machine, e.Host, e.Tools = s.step.Name, s.machine, s.host, s.step.Fingerprint
	c.touch(queue.KindEntry, string(e.ID))
	c.facts.Ledger.Learned(e.ID, e)
}

// weighQuarantine takes in that another configuration is in force, or that entries of it
// have ended. Excuses of targets that are no longer in quarantine end. Failures of
// targets that are in quarantine now do not count, and neither do those of sets with such targets:
// the parts are run apart.
func (c *judging) weighQuarantine() {
	for _, id := range derived.Sorted(c.s.Ledger) {
		e := c.s.Ledger[id]
		if e == nil || e.Excused == 0 && (e.Passed != 0 || len(e.Failures) == 0) {
			continue
		}
		own, known := c.stepOf(e)
		holds := known && !slices.ContainsFunc(e.Keys, func(k queue.Key) bool { return !c.excuses(own, k.Target) })
		switch {
		case e.Excused != 0 && !holds:
			c.revoke(e)
		case e.Excused == 0 && holds:
			c.excuseFailed(e, own)
		case e.IsSet() && known && len(c.apart(own, e.Keys)) > 1:
			c.dropEntry(id) // it failed before some of its targets were in quarantine, and perhaps of these alone
		}
	}
}

// excuseFailed excuses an entry, of one key or of a set, that has failed before its targets
// were in quarantine.
func (c *judging) excuseFailed(e *queue.Entry, own config.Step) {
	last := e.Failures[len(e.Failures)-1]
	if last.Tool {
		return
	}
	for _, k := range e.Keys {
		s := shown{span: span{last.Start(), last.At}, asked: last.Start(), by: last.Build, change: last.Ran.Change, commit: last.Ran.Commit,
			step: own, machine: last.Machine, host: last.Host}
		if !c.tooOld(k, s) {
			c.excuseAs(c.entry(k), s)
		}
	}
}

// apart divides the keys that a build asks of a step that names no targets: those in
// quarantine form a separate job, so that their failures are told from the others'.
func (c *judging) apart(st config.Step, keys []queue.Key) [][]queue.Key {
	if len(keys) == 0 {
		return nil
	}
	if st.NamesTargets() || len(st.Quarantine) == 0 {
		return [][]queue.Key{keys}
	}
	var counts, not []queue.Key
	for _, k := range keys {
		if c.excuses(st, k.Target) {
			not = append(not, k)
		} else {
			counts = append(counts, k)
		}
	}
	return slices.DeleteFunc([][]queue.Key{counts, not}, func(part []queue.Key) bool { return len(part) == 0 })
}

// unread takes in that a push of ours has moved main to a link with a tree that has
// another quarantine than the configuration in force: until main has been read,
// nothing is in quarantine.
func (c *judging) unread(l *queue.Link) {
	if !c.otherQuarantine(l) {
		return
	}
	c.s.Main.Unread = true
	c.touchMain()
	c.weighQuarantine()
}

// mayExcuse reports whether all failed targets on a path are in quarantine in its tree, and
// may be so on main when the changes below it have landed. Main's quarantine at that time
// decides, and not the present one.
func (c *judging) mayExcuse(l *queue.Link, broken []*queue.Entry) bool {
	if l.Parent == c.s.Main.Tip {
		return false
	}
	return !slices.ContainsFunc(broken, func(e *queue.Entry) bool {
		return slices.ContainsFunc(e.Keys, func(k queue.Key) bool {
			own, ok := c.facts.Links.Step(l, k)
			return !ok || !own.Quarantined(k.Target, c.facts.Now.Time())
		})
	})
}

// editsQuarantine reports whether any of some changes brings another quarantine than main
// has.
func (c *judging) editsQuarantine(changes []queue.ChangeID) bool {
	return slices.ContainsFunc(changes, func(id queue.ChangeID) bool {
		for l := range c.facts.Links.LinksOf[id] {
			if c.otherQuarantine(l) {
				return true
			}
		}
		return false
	})
}

// otherQuarantine reports whether the tree of a link has another quarantine than the
// configuration in force.
func (c *judging) otherQuarantine(l *queue.Link) bool {
	set := c.s.Steps[l.Steps]
	return set != nil && slices.ContainsFunc(set.Steps, func(st config.Step) bool {
		base, _ := c.s.Main.Config.StepNamed(st.Name)
		return !config.SameQuarantine(base, st)
	})
}

// stepOf returns the step of an entry's keys, if a link or build still has it.
func (c *judging) stepOf(e *queue.Entry) (config.Step, bool) {
	for _, id := range derived.Sorted(c.s.Steps) {
		if st, ok := c.s.Steps[id].Step(e.Keys[0].Step); ok {
			return st, true
		}
	}
	return config.Step{}, false
}

// endQuarantine takes in that the last day of entries is over, and asks for a turn when the
// next one will be.
func (c *judging) endQuarantine() {
	m := &c.s.Main
	if m.Config == nil {
		return
	}
	var next queue.Instant
	over := false
	for _, s := range m.Config.Steps {
		for _, q := range s.Quarantine {
			ends := q.Ends()
			if ends.IsZero() {
				continue
			}
			switch at := queue.At(ends); {
			case at > c.facts.Now:
				next = queue.Earliest(next, at)
			case at > m.Lapsed:
				over = true
			}
		}
	}
	c.wakeAt(next)
	if !over {
		return
	}
	m.Lapsed = c.facts.Now
	c.touchMain()
	c.weighQuarantine()
	if m.Tip != "" {
		c.surveyAnew() // failures of main in quarantine are in no archive
	}
	c.note(queue.Note{What: "quarantine-over", Commit: m.Tip, Reason: queue.Reason{Names: overNow(m)}})
}

// overNow names the targets of main's quarantine entries that are over, up to
// queue.MostExcused.
func overNow(m *queue.Main) (names []string) {
	for _, q := range m.Config.Quarantines(m.Lapsed.Time()) {
		if q.Over {
			names = append(names, q.Targets...)
		}
	}
	return names[:min(len(names), queue.MostExcused)]
}

// onlyExcused reports whether all failures of a build were excused.
func (c *judging) onlyExcused(b *queue.Build) bool {
	some := false
	for _, k := range b.Keys() {
		e := c.s.Ledger[k.ID()]
		if e == nil || e.Passed == 0 {
			return false
		}
		some = some || e.Excused != 0 && slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return f.Build == b.ID })
	}
	return some
}
