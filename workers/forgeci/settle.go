package forgeci

import (
	"time"

	"github.com/submitqueue/submitqueue/forge"
	"github.com/submitqueue/submitqueue/queue"
)

func (c *Controller) moment() moment {
	return moment{now: c.o.Now(), skew: c.skew, grace: c.o.Grace, pause: min(c.o.Linger, 2*time.Second), prefix: c.o.Prefix, name: c.o.Name, asked: c.o.Starter != nil}
}

// settle judges the jobs of a build, and reports the new results. The caller holds mu.
func (c *Controller) settle(e *entry) {
	defer poke(c.toSee)
	if e.done != nil {
		c.settled(e)
		return
	}
	if e.pushed.IsZero() {
		return
	}
	at := c.moment()
	open, again := 0, 0
	for _, j := range e.jobs {
		if j.done {
			continue
		}
		f := e.judge(j, at)
		c.begun(e, j, f)
		switch {
		case f.again:
			j.rerun = rerunWanted
			again++
			open++
		case f.outcome == queue.JobFailed && len(e.unread(f)) > 0:
			e.reading = true // read its log first
			open++
		case f.outcome == "":
			e.look = e.look || f.look
			open++
		default:
			c.decide(e, j, e.excused(j, f))
		}
	}
	if open > 0 {
		return
	}
	c.finish(e, c.outcome(e))
}

// settled takes in news about the runs of an ended build.
func (c *Controller) settled(e *entry) {
	if e.tidy || e.pushed.IsZero() {
		return
	}
	if e.busy(c.skew) == "" && e.told(c.skew) {
		e.tidyAt = c.o.Now()
		return
	}
	for _, r := range e.runs {
		if !r.Done && e.done.Outcome != queue.JobPassed && e.tidyAt.After(c.o.Now()) {
			e.tidyAt = c.o.Now() // it began after the others were cancelled
		}
	}
}

// begun reports, once, that a build has begun.
func (c *Controller) begun(e *entry, j *job, f finding) {
	for _, r := range f.list {
		if r.State == forge.CIQueued {
			continue
		}
		if j.running.IsZero() {
			j.running = c.o.Now()
		}
		if len(e.reported) == 0 {
			c.tell(e, queue.BuildStarted{Build: e.build.ID, Machine: c.o.Name})
		}
		return
	}
}

func (c *Controller) tell(e *entry, body queue.Body) {
	e.reported = append(e.reported, body)
	c.events.Put(body)
}

func (c *Controller) decide(e *entry, j *job, f finding) {
	j.done, j.out = true, f
	for _, r := range f.list {
		e.log.say("step %s: check %s: %s %s", j.Step.Name, r.Name, r.Word, r.URL)
	}
	if f.detail != "" {
		e.log.say("step %s: %s", j.Step.Name, f.detail)
	}
	if f.outcome == queue.JobInfra {
		return // no result; the end of the build says why
	}
	if len(e.reported) == 0 {
		c.tell(e, queue.BuildStarted{Build: e.build.ID, Machine: c.o.Name})
	}
	c.tell(e, e.result(j, f, c.moment()))
}

// outcome returns the outcome of a build once all its jobs are decided.
func (c *Controller) outcome(e *entry) queue.BuildDone {
	out := queue.BuildDone{Outcome: queue.JobPassed}
	for _, j := range e.jobs {
		switch j.out.outcome {
		case queue.JobInfra:
			if out.Outcome != queue.JobInfra || j.out.noCheck && !out.NoCheck {
				out.Outcome, out.Detail, out.NoCheck, out.Matched = queue.JobInfra, j.out.detail, j.out.noCheck, j.out.matched
			}
		case queue.JobPassed:
		default:
			if out.Outcome == queue.JobPassed {
				out.Outcome = queue.JobFailed
			}
		}
	}
	return out
}

// finish ends a build; d lacks only the build and the action. Its refs are
// tidied up afterwards. The caller holds mu.
func (c *Controller) finish(e *entry, d queue.BuildDone) {
	d.Build, d.Action = e.build.ID, e.action
	e.done, e.endedAt = &d, c.o.Now()
	e.log.say("%s %s", d.Outcome, d.Detail)
	e.log.end()
	c.events.Put(d)
	c.ended = append(c.ended, e.build.ID)
	waits := e.pushed.IsZero() && !e.pushing()
	if waits && e.tries == 0 && !e.arrived && !e.single && !e.unsure {
		e.tidy = true
	} else if waits { // a push failed, or was refused in part, or its ref is to be pushed anew: some refs may be there
		e.pushed, e.tidyAt = c.o.Now(), c.o.Now()
	} else if e.tidyAt = c.o.Now(); d.Outcome == queue.JobPassed {
		e.tidyAt = e.tidyAt.Add(c.o.Linger) // news of the end of its runs may be about to come
	}
	c.forget()
	poke(c.toSee)
}

// forget drops the oldest builds that have ended and left nothing behind.
func (c *Controller) forget() {
	kept := c.ended[:0]
	over := len(c.ended) - maxEnded
	for _, id := range c.ended {
		if over > 0 && c.builds[id] != nil && c.builds[id].tidy {
			delete(c.builds, id)
			over--
			continue
		}
		kept = append(kept, id)
	}
	c.ended = kept
}

// next returns when to look at a build that has no news; ok is false if that is not needed. The
// caller holds mu.
func (c *Controller) next(e *entry) (at time.Time, ok bool) {
	switch {
	case e.done != nil:
		return e.tidyAt, !e.tidy && !e.pushed.IsZero()
	case e.pushed.IsZero():
		return e.beginAt, e.unstarted()
	case e.reading:
		return e.pushed, true
	case e.look:
		return e.pollAfter, true
	}
	last := e.pushed
	for _, t := range []time.Time{e.polled, e.heard} {
		if t.After(last) {
			last = t
		}
	}
	every := c.o.Poll
	if !c.heard.IsZero() && c.o.Now().Sub(c.heard) < 5*c.o.Poll {
		every = 5 * c.o.Poll // webhooks come
	}
	at = last.Add(every)
	m := c.moment()
	for _, j := range e.jobs {
		if j.done {
			continue
		}
		if f := e.judge(j, m); !f.due.IsZero() && f.due.Before(at) {
			at = f.due
		} else if f.look {
			at = e.pushed
		}
		if j.rerun == rerunWanted && e.listed.Add(c.o.Linger).Before(at) {
			at = e.listed.Add(c.o.Linger) // its run is about to end
		}
	}
	if at.Before(e.pollAfter) {
		at = e.pollAfter
	}
	return at, true
}
