package speculation

import (
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Bounds of repeated actions.
const (
	maxAttempts = 5
	minBackoff  = time.Second
	maxBackoff  = 5 * time.Minute
	mainBackoff = 45 * time.Second // for reading main, which a landing waits for after a push without a known result, and for actions held up by an outage of the forge

	// While the forge itself is in trouble (queue.Failed.Outage), only further tries help.
	// At mainBackoff, a change is parked after an hour at the earliest, and a command is
	// given back after a day.
	changeAttempts  = 80
	commandAttempts = 1920

	parkedRetry = 10 * time.Minute // a change that is parked because no answer came is looked at again after this
)

// patience is how long an attempt may take before it is tried again.
func (c *upkeep) patience(t queue.Task) time.Duration {
	switch t := t.(type) {
	case queue.Run:
		limit := 15 * time.Minute // to fetch, check out and report
		if b := c.s.Builds[t.Build]; b != nil {
			for _, j := range b.Jobs {
				limit += j.Step.Timeout
			}
		}
		return limit
	case queue.ProbeHost:
		limit := 15 * time.Minute
		if h := c.benching.probedHost(t.Build); h != nil {
			limit += h.Bench.Probe.Jobs[0].Step.Timeout
		}
		return limit
	case queue.Learn:
		return time.Hour // it waits for the Learn tasks of other queues, and gives way to all else
	case queue.Survey, queue.Trace, queue.Weigh, queue.Watch, queue.Analyze, queue.Resolve:
		limit := 10 * time.Minute
		if m := c.s.Main.Config; m != nil {
			limit += 2 * m.Analysis.ToolTime() // for the tree before, and for the one after
		}
		return limit
	case queue.Observe:
		if t.From == "" {
			return 24 * time.Hour // the first one fetches the whole repository
		}
		return time.Hour
	case queue.MoveHeads, queue.SeeHeads:
		return time.Minute // main waits for them
	default:
		return 2 * time.Minute
	}
}

// ask emits an action for a task, unless one is under way.
func (c *upkeep) ask(t queue.Task) { c.askAttempt(t, 1, 0, "") }

// askAttempt is ask, for the n-th attempt, after a wait and with the cause of the
// attempt before.
func (c *upkeep) askAttempt(t queue.Task, attempt int, wait time.Duration, cause string) {
	c.issue(t, attempt, 0, wait, cause)
}

// reissue asks once more for the task of an action that has ended without a failure:
// the task may fail as often as before.
func (c *upkeep) reissue(a *queue.Action, wait time.Duration, cause string) {
	c.issue(a.Task, a.Attempt, a.Renewed+1, wait, cause)
}

func (c *upkeep) issue(t queue.Task, attempt, renewed int, wait time.Duration, cause string) {
	if c.facts.Asked(t) != "" {
		return
	}
	kind, subject := t.Name()
	key := queue.ActionKey(kind, subject, attempt, renewed)
	if c.settling.repeated(t) {
		// This task is asked again and again for the same tip. An answer to one action
		// does not answer the next one, nor one that was asked, and answered, at this
		// very instant.
		for at := int64(c.facts.Now); ; at++ {
			key = queue.ActionKey(kind, subject+"@"+strconv.FormatInt(at, 10), attempt, renewed)
			if !slices.Contains(c.turn.Ended, key) {
				break
			}
		}
	}
	a := &queue.Action{
		Key: key, Attempt: attempt, Renewed: renewed, At: c.facts.Now,
		Deadline: c.facts.Now.Add(wait + c.patience(t)), Error: cause, Task: t,
	}
	if wait > 0 {
		a.NotBefore = c.facts.Now.Add(wait)
	}
	c.began(a)
	c.wakeAt(a.Deadline)
	c.s.Actions[a.Key] = a
	c.touch(queue.KindAction, a.Key)
	c.turn.Actions = append(c.turn.Actions, *a)
}

func (c *upkeep) began(a *queue.Action) {
	c.facts.Began(a)
	switch t := a.Task.(type) {
	case queue.Observe:
		c.mainline.observing = a.Key
	case queue.Watch:
		c.mainline.watching++
	case queue.Analyze:
		c.analyzing[t.Change]++
	case queue.Meet:
		c.settling.asking[t.Change] = true
	case queue.Publish:
		c.telling.publishing[t.Number] = t.Want
	case queue.ReturnHeads:
		for _, id := range changesOf(t) {
			c.returning[id] = true
		}
	}
}

func (c *upkeep) ended(a *queue.Action) {
	c.facts.Ended(a)
	switch t := a.Task.(type) {
	case queue.Observe:
		if c.mainline.observing == a.Key {
			c.mainline.observing = ""
		}
	case queue.Watch:
		c.mainline.watching--
	case queue.Analyze:
		if c.analyzing[t.Change]--; c.analyzing[t.Change] <= 0 {
			delete(c.analyzing, t.Change)
		}
	case queue.Meet:
		delete(c.settling.asking, t.Change)
		c.settling.unasked[t.Change] = true
	case queue.Publish:
		delete(c.telling.publishing, t.Number)
	case queue.ReturnHeads:
		for _, id := range changesOf(t) {
			delete(c.returning, id)
		}
	}
}

// renew asks for a reading that begins now: one under way is given up, because it
// may show an older state.
func (c *upkeep) renew(t queue.Task) {
	if a := c.done(c.facts.Asked(t)); a != nil {
		c.issue(t, a.Attempt, a.Renewed+1, 0, a.Error)
		return
	}
	c.ask(t)
}

// observe has main read, as it is from now on. A reading that is under way may
// finish: it shows a state that main has had, and reasons to read may never end.
func (c *upkeep) observe() {
	if c.mainline.observing != "" {
		if !c.s.Main.Again {
			c.s.Main.Again = true
			c.touchMain()
		}
		return
	}
	c.ask(queue.Observe{From: c.s.Main.Tip})
}

// done ends an action and returns it, or nil when it has ended before.
func (c *upkeep) done(key string) *queue.Action {
	a := c.s.Actions[key]
	if a == nil {
		return nil
	}
	delete(c.s.Actions, key)
	c.ended(a)
	c.touch(queue.KindAction, key)
	if i := slices.IndexFunc(c.turn.Actions, func(b queue.Action) bool { return b.Key == key }); i >= 0 {
		c.turn.Actions = slices.Delete(c.turn.Actions, i, i+1)
	} else {
		c.turn.Ended = append(c.turn.Ended, key)
	}
	return a
}

// drop ends the action of a task that is no longer wanted.
func (c *upkeep) drop(t queue.Task) {
	if key := c.facts.Asked(t); key != "" {
		c.done(key)
	}
}

// expire tries actions again when their deadlines have passed without a result.
func (c *upkeep) expire() {
	var late []string
	for key, a := range c.s.Actions {
		if c.facts.Now < a.Deadline {
			c.wakeAt(a.Deadline)
			continue
		}
		late = append(late, key)
	}
	slices.Sort(late)
	for _, key := range late {
		a := c.s.Actions[key]
		if a == nil || c.settling.overslept(a) {
			continue
		}
		_, asks := a.Task.(queue.Inspect) // the forge, and nothing else
		c.failed(queue.Failed{Action: key, Error: "no answer within " + c.patience(a.Task).String(), Transient: true, Outage: asks})
	}
}

// attend asks for each answer that a record waits for, if it is not asked for yet.
func (c *upkeep) attend() {
	m := &c.s.Main
	if p := c.s.Push; p != nil && !p.Unsure {
		c.mainline.proceed()
	}
	if c.mainline.observing == "" && (m.Tip == "" || c.s.Push != nil && c.s.Push.Unsure) {
		c.observe()
	}
	c.inspect()
	for _, b := range c.facts.Builds.Building {
		if !b.Asked {
			c.ask(queue.Run{Build: b.ID})
		}
	}
	if m.Tip == "" {
		return
	}
	c.mainline.survey()
	c.mainline.surveyNext()
	c.entering.explainAll()
	var waiting []queue.ChangeID
	c.judging.askHeads()
	for id, ch := range c.facts.Open {
		if c.analyzing[id] > 0 {
			continue
		}
		held := c.settling.heldBack(ch)
		if ch.Phase == queue.Analyzing && !held || (ch.Phase == queue.Pending || held) && (ch.Stale || c.settling.dueAgain(ch)) {
			waiting = append(waiting, id)
		}
	}
	slices.Sort(waiting)
	for _, id := range waiting {
		c.ask(c.settling.analysis(c.s.Changes[id]))
	}
}

// idle reports whether no record waits for a task any more.
func (c *upkeep) idle(t queue.Task) bool {
	switch t := t.(type) {
	case queue.Observe:
		return t.From != c.s.Main.Tip
	case queue.Survey:
		n := c.s.Main.Next
		return t.Commit != c.s.Main.Tip || t.Former != "" && (n == nil || n.Analyzer != t.Analyzer)
	case queue.Trace:
		h := c.s.Hunts[t.Hunt]
		return h == nil || h.Over != 0 || len(h.Line) > 0
	case queue.Watch:
		return t.Before != 0 || t.Epoch != c.s.Main.Line.Epoch || len(c.s.Controls) == 0
	case queue.Inspect:
		return c.s.Requests[t.Request] == nil
	case queue.Analyze:
		ch := c.s.Changes[t.Change]
		return ch == nil || ch.Phase.Final()
	case queue.Meet:
		ch := c.s.Changes[t.Change]
		return ch == nil || ch.Phase.Final()
	case queue.Attest:
		ch := c.s.Changes[t.Change]
		return ch == nil || ch.Phase.Final()
	case queue.Resolve:
		return slices.ContainsFunc(t.Picks, func(p queue.Pick) bool {
			ch := c.s.Changes[p.Change]
			return ch == nil || ch.Phase.Final()
		})
	case queue.Run:
		return c.s.Builds[t.Build] == nil
	case queue.ProbeHost:
		return c.benching.probedHost(t.Build) == nil
	case queue.Stop:
		return c.s.Builds[t.Build] == nil
	case queue.MoveHeads:
		return !c.mainline.pushing(t.Push, queue.PushingHeads)
	case queue.SeeHeads:
		return !c.mainline.pushing(t.Push, queue.AwaitingSeen)
	case queue.Land:
		return !c.mainline.pushing(t.Push, queue.PushingMain)
	case queue.Publish:
		return c.s.Pulls[t.Number] == nil
	case queue.Weigh:
		_, x := c.hunting.culpritIn(t.Hunt, t.Commit)
		return x == nil || t.Tip != c.s.Main.Tip
	case queue.Propose:
		_, x := c.hunting.culpritIn(t.Hunt, t.Commit)
		return x == nil || x.Revert == nil || x.Revert.Number != 0
	case queue.Tell:
		return t.Commit != c.s.Main.Tip
	case queue.Learn:
		return t.Version != c.s.Model.Latest
	}
	return false
}

// pauseAfter returns the pause before something is asked for again that was in vain so often.
func pauseAfter(tries int, most time.Duration) time.Duration {
	return min(minBackoff<<min(tries, 20), most)
}

// failed tries an action again after a pause, or gives up on it. Neither is
// ever a verdict on a change.
func (c *upkeep) failed(f queue.Failed) {
	a := c.done(f.Action)
	if a == nil || c.idle(a.Task) {
		return
	}
	if f.Away {
		c.mainline.kept(a, f)
		return
	}
	most := maxBackoff
	if _, reads := a.Task.(queue.Observe); reads || f.Outage {
		most = mainBackoff
	}
	wait := pauseAfter(a.Attempt-1, most)
	wait = max(wait, f.After)
	if f.Transient && a.Attempt < c.attempts(a.Task, f.Outage) {
		c.askAttempt(a.Task, a.Attempt+1, wait, f.Error)
		return
	}
	c.giveUp(a, wait, f.Error)
}

// attempts is how often a task is tried before people are told that it failed.
func (c *upkeep) attempts(t queue.Task, outage bool) int {
	if !outage {
		return maxAttempts
	}
	switch t := t.(type) {
	case queue.Inspect:
		if r := c.s.Requests[t.Request]; r != nil && !r.Boarding {
			return commandAttempts
		}
		return changeAttempts
	case queue.Analyze:
		return changeAttempts
	case queue.Resolve:
		if len(t.Picks) == 1 && t.Together == 0 { // of several picks, one alone may be wrong
			return changeAttempts
		}
	}
	return maxAttempts
}

func (c *upkeep) giveUp(a *queue.Action, wait time.Duration, cause string) {
	switch t := a.Task.(type) {
	case queue.Observe, queue.Survey, queue.Trace, queue.Weigh, queue.Watch, queue.Publish, queue.Stop, queue.Tell, queue.ReturnHeads:
		// Nobody else would do these; they go on, ever more rarely: a forge that
		// refuses an action for good may have done so by mistake.
		c.askAttempt(a.Task, a.Attempt+1, wait, cause)
	case queue.Inspect:
		r := c.s.Requests[t.Request]
		if r.Boarding {
			c.guarding.unanswered(r, cause)
			return
		}
		if r.Command.Verb == queue.CommandRecheck {
			c.askAttempt(a.Task, a.Attempt+1, wait, cause)
			return
		}
		c.entering.refuse(r, queue.Reason{Code: queue.ReasonForge, Detail: cause})
	case queue.Analyze:
		c.analyzed(c.settling.unknown(t, cause), true)
	case queue.Meet:
		c.settling.writePairs(t, nil)
	case queue.Attest:
		c.judging.writeAttested(t, queue.Attested{Doubts: []queue.HeadDoubt{{Why: cause}}})
	case queue.Resolve:
		if t.Together > 0 {
			c.landing.dissolve(c.s.Changes[t.Picks[len(t.Picks)-1].Change])
		}
		if len(t.Picks) > 1 {
			c.ask(queue.Resolve{Base: t.Base, Picks: t.Picks[:1], Analyzer: t.Analyzer, Former: t.Former, Protected: t.Protected}) // one by one, they show which merge cannot be made
			return
		}
		c.settling.park(c.s.Changes[t.Picks[0].Change], queue.Reason{Code: queue.ReasonStuck, Detail: cause}, c.facts.Now.Add(parkedRetry))
	case queue.Run:
		c.judging.buildDone(queue.BuildDone{Build: t.Build, Outcome: queue.JobInfra, Detail: cause})
	case queue.ProbeHost:
		c.judging.buildDone(queue.BuildDone{Build: t.Build, Outcome: queue.JobInfra, Detail: cause})
	case queue.MoveHeads, queue.SeeHeads:
		c.mainline.pushMain(c.s.Push) // main does not wait for branches that only show what landed
	case queue.Land:
		c.mainline.unsure(t.Push)
	case queue.Propose:
		c.hunting.notProposed(t, cause)
	case queue.Learn:
		c.learning.tried(cause)
	}
}
