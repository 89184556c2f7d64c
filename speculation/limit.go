package speculation

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/predict"
)

// Learned time-outs. A step that asks for it (config.Step.TimeoutFrom) is ended after
// a multiple of the time that nearly all of its runs have taken. A run that is only
// longer tells nothing of the commit, so a run that such a limit has ended is not
// written into the ledger. The changes that the build was for have the step's whole
// time-out from then on, and only that time-out can fail them. Builds that are for no
// change, of main and of hunts, have it always.

// limit returns the learned time-out of a job of a build, or nil if the job has the
// step's own.
func (c *Core) limit(b *queue.Build, st config.Step, keys []queue.Key) *queue.Limit {
	if st.TimeoutFrom == 0 || st.ByForge() || b.Change == "" {
		return nil
	}
	for _, id := range b.For() {
		if slices.Contains(c.s.Changes[id].Cut, st.Name) {
			return nil
		}
	}
	usual, runs := predict.P99(c.s.Learned.Took, st.Name)
	if usual == 0 {
		return nil
	}
	after := predict.LimitFactor * usual
	var work time.Duration // a run of more targets than most takes longer than most runs
	for _, k := range keys {
		work += c.facts.Beliefs.Duration(st.Name, k.Target)
	}
	if after = max(after, st.TimeoutFrom).Round(time.Second); after >= st.Timeout || predict.LimitFactor*work >= after {
		return nil
	}
	return &queue.Limit{After: after, Usual: usual, Runs: runs}
}

// cut takes in that a job was ended by its learned time-out.
func (c *judging) cut(b *queue.Build, j *queue.Job) {
	j.Done, j.Cut = true, true
	c.facts.Builds.Recheck(b)
	c.touch(queue.KindBuild, string(b.ID))
	for _, id := range b.For() {
		ch := c.s.Changes[id]
		if ch == nil || slices.Contains(ch.Cut, j.Step.Name) {
			continue
		}
		ch.Cut = append(ch.Cut, j.Step.Name)
		slices.Sort(ch.Cut)
		c.touchChange(ch)
	}
	l := j.Limit
	c.landing.noteBuild(b, queue.Note{What: "step-cut", Reason: queue.Reason{Names: []string{j.Step.Name, shortly(l.After), shortly(l.Usual), strconv.Itoa(l.Runs), shortly(j.Step.Timeout)}}})
}

// onlyCut says why a build has no result, if learned time-outs have ended jobs of it
// and no other job has failed.
func (c *judging) onlyCut(b *queue.Build) (why string) {
	for _, j := range b.Jobs {
		switch {
		case j.Cut:
			why = fmt.Sprintf("step %s was stopped after %s, by what its runs have taken", j.Step.Name, shortly(j.Limit.After))
		case c.failedIn(opaqueID(j.Keys), b) || c.namedFailure(&j, b):
			return ""
		}
	}
	return why
}

// failedIn reports whether an entry has failed in a build.
func (c *judging) failedIn(id queue.Digest, b *queue.Build) bool {
	e := c.s.Ledger[id]
	return e != nil && slices.ContainsFunc(e.Failures, func(f queue.Failure) bool { return f.Build == b.ID })
}

// isCut reports whether a job of a build was ended by a learned time-out.
func isCut(b *queue.Build) bool {
	return slices.ContainsFunc(b.Jobs, func(j queue.Job) bool { return j.Cut })
}

// observeLimits learns from a run that has passed.
func (c *judging) observeLimits(j *queue.Job, r queue.JobDone) {
	if r.Outcome != queue.JobPassed || j.Step.TimeoutFrom == 0 {
		return
	}
	c.s.Learned.Took = predict.ObserveTook(c.s.Learned.Took, j.Step.Name, r.Took)
	c.touch(queue.KindMeta, queue.MetaLearned)
}

// shortly writes a duration without its zero parts.
func shortly(d time.Duration) string {
	text := d.Round(time.Second).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if n := len(text) - len(zero) + 1; n > 0 && text[n-1:] == zero {
			text = text[:n]
		}
	}
	return text
}
