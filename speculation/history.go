package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Models learn from these records beside durations: how the changes of authors have ended
// and where they work, which directories change together, how main's steps went and which
// targets flaked. Only models read them, so they cannot change a verdict.

// facetsOf returns the forge's facts of a pull request together with the queue's own
// counts. The counts may have begun later than the pull request.
func (c *entering) facetsOf(number int, b queue.Inspected) *queue.Facets {
	var f queue.Facets
	if b.Facets != nil {
		f = *b.Facets
	}
	if p := c.s.Pulls[number]; p != nil {
		f.Attempts, f.Pushes = max(f.Attempts, p.Ended), max(f.Pushes, p.Pushes)
	}
	return &f
}

// recordEnded writes that a change has ended into the records of its author, of its
// directories, and of how changes end.
func (c *judging) recordEnded(ch *queue.Change) {
	landed := ch.Phase == queue.Landed
	failed := ch.Phase == queue.Rejected && ch.Reason.Code == queue.ReasonFailed
	var dirs []string
	if f := c.s.Footprints[ch.ID]; f != nil {
		dirs = derived.Directories(f)
	}
	if ch.Author != "" {
		c.s.Authors[ch.Author] = predict.SeeAuthor(c.s.Authors[ch.Author], ch.Author,
			predict.Ended{At: ch.Decided, Came: ch.Arrival, Judged: landed || failed, Landed: landed, Dirs: dirs})
		c.touch(queue.KindAuthor, ch.Author)
	}
	if landed && len(dirs) <= predict.WideChange {
		for _, d := range dirs {
			c.s.Areas[d] = predict.SeeArea(c.s.Areas[d], d, dirs, ch.Decided)
			c.touch(queue.KindArea, d)
		}
	}
	switch was := c.s.Learned.Failing; {
	case failed:
		c.s.Learned.Failing++
		c.touch(queue.KindMeta, queue.MetaLearned)
	case landed && was != 0:
		c.s.Learned.Failing = 0
		c.touch(queue.KindMeta, queue.MetaLearned)
	}
}

// countBuild takes in how a build for changes has ended.
func (c *judging) countBuild(b *queue.Build, outcome queue.JobOutcome) {
	if outcome != queue.JobPassed && outcome != queue.JobFailed {
		return
	}
	for _, id := range b.For() {
		ch := c.s.Changes[id]
		if ch == nil {
			continue
		}
		if outcome == queue.JobPassed {
			ch.Green++
		} else {
			ch.Red++
		}
		c.touchChange(ch)
	}
}

// shaky returns the targets of keys that have failed by name and not passed yet: if they
// pass after all, they were flaky.
func (c *judging) shaky(keys []queue.Key) map[string]bool {
	out := map[string]bool{}
	for _, k := range keys {
		e := c.s.Ledger[k.ID()]
		if e == nil || e.Passed != 0 {
			continue
		}
		if slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return !f.Timeout && !f.Tool }) {
			out[k.Target] = true
		}
	}
	return out
}

// observeFlakes writes down, for models, how often targets pass after they have failed.
// passed are the targets of a job that have passed now, shaky those that had failed before;
// the targets in r.Flaked have failed within the run.
func (c *judging) observeFlakes(j *queue.Job, r queue.JobDone, shaky map[string]bool, passed []string) {
	if r.Outcome == queue.JobTimeout || len(j.Keys) == 0 {
		return
	}
	share := 0.0 // if a run was run again until it passed, its flaky targets are not known
	if r.Again > 0 {
		share = 1 / float64(len(j.Keys))
	}
	flaked := map[string]bool{}
	for _, t := range passed {
		flaked[t] = shaky[t] || slices.Contains(r.Flaked, t)
	}
	for _, k := range j.Keys {
		id, by := derived.DurationID(j.Step.Name, k.Target), share
		if flaked[k.Target] {
			by = 1
		}
		if d := c.s.Durations[id]; d != nil && (by != 0 || d.Flaked != 0) {
			next := predict.Flake(d, by)
			if next.Flakes > d.Flakes {
				next.Shaken, next.ShakenIn = c.facts.Now, r.Build
			}
			c.s.Durations[id] = next
			c.touch(queue.KindDuration, id)
		}
	}
}

// observeMain writes down the result of a step on main itself.
func (c *judging) observeMain(b *queue.Build, r queue.JobDone) {
	if b.Change != "" || b.Worth.Kind == queue.WorthHunt || b.Worth.Kind == queue.WorthRevert {
		return // the build is not of main as it is
	}
	c.s.Learned.Main = predict.SeeMain(c.s.Learned.Main, r.Outcome == queue.JobPassed)
	c.touch(queue.KindMeta, queue.MetaLearned)
}

// tidyHistory forgets authors and directories that have had no change for long.
// due says whether a record of a moment has been kept for a time.
func (c *upkeep) tidyHistory(due func(at queue.Instant, keep time.Duration) bool) {
	for name, a := range c.s.Authors {
		if due(a.At, keepHistory) {
			delete(c.s.Authors, name)
			c.touch(queue.KindAuthor, name)
		}
	}
	for dir, a := range c.s.Areas {
		if due(a.At, keepHistory) {
			delete(c.s.Areas, dir)
			c.touch(queue.KindArea, dir)
		}
	}
}
