package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// inspected follows a command, now that its author's permission and its pull
// request are known.
func (c *entering) inspected(b queue.Inspected) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	t, ok := a.Task.(queue.Inspect)
	if !ok {
		return
	}
	r := c.s.Requests[t.Request]
	if r == nil {
		return
	}
	c.mainline.seenAt = min(c.facts.Now, a.Deadline)
	if b.Missing {
		c.vanished(r)
		return
	}
	if r.Number != 0 && !b.Open {
		c.distrust(r.Number)
	}
	b, late := c.asItWas(a, r, b)
	if late {
		c.upkeep.reissue(a, seenAfter<<min(a.Renewed, 4), "")
		return
	}
	if b.ConfigAt != c.s.Main.ConfigAt && (r.Command.Verb != queue.CommandRecheck || b.Requires) {
		c.upkeep.reissue(a, 0, "") // the rules of protected paths and of blocks have changed since
		return
	}
	if r.Command.Verb == queue.CommandRecheck {
		c.recheck(a, r, b)
		return
	}
	if r.Command.Verb == queue.CommandAuto {
		c.looked(r, b)
		return
	}
	if c.landedMeanwhile(r) {
		c.forget(r)
		return
	}
	if r.Late && r.Comment != "" && r.Number != 0 {
		c.upkeep.ask(queue.React{Number: r.Number, Comment: r.Comment, Seen: true}) // one heard at once was acknowledged by hear
	}
	b = c.unvouched(r, b)
	if why := c.refusal(r, b); why.Code != "" {
		c.refuse(r, why)
	} else if c.takenBack(r) {
		c.forget(r)
	} else if c.waitsForPush(r, b) {
		r.Held, r.Head = true, b.Head // it is about this head, and not about one that is pushed while it waits
		c.touch(queue.KindRequest, r.ID)
		if ch := c.facts.Links.Active(r.Number); ch.Head != b.Head && !unsaid(r) {
			c.answer(r, queue.Reason{Code: queue.ReasonTooLate, Names: []string{string(ch.Head), string(b.Head)}}) // as it looks now
		}
	} else {
		c.follow(r, b)
	}
	if ch := c.facts.Links.Active(r.Number); ch != nil && ch.Phase != queue.Landing && (ch.Head != b.Head || c.unmet(r.Number, b).Code != "" || c.guarding.misses(ch, b)) {
		c.guarding.check(ch) // somebody pushed or closed it and the event is still to come, or this was read before that
	}
}

// vanished takes in that there is no pull request that a request is about: the forge has been asked
// several times, and shows the repository. Somebody has deleted it, so its change is taken out as if
// it had been closed; asking again would bring the same answer for ever.
func (c *entering) vanished(r *queue.Request) {
	c.forget(r)
	why := queue.Reason{Code: queue.ReasonClosed}
	c.settling.endTry(c.settling.tryOf(r.Number), queue.Cancelled, why, nil)
	if ch := c.facts.Links.Active(r.Number); ch != nil && ch.Phase != queue.Landing {
		c.withdrawn(r.Number)
		c.settling.decide(ch, queue.Cancelled, why, nil)
	}
}

// refusal says why a command is not followed, if so.
func (c *entering) refusal(r *queue.Request, b queue.Inspected) queue.Reason {
	if why := c.notAllowed(r, b); why.Code != "" {
		return why
	}
	if why := c.outdated(r, b); why.Code != "" {
		return why
	}
	if why := c.laneRefused(r, b); why.Code != "" {
		return why
	}
	return c.methodRefused(r)
}

// waitsForPush reports whether a command asks for something that a change which is being pushed
// cannot have: another method, lane or head, or to go before all others. How the push ends decides about
// it: if the change has landed, there is nothing left to do, and else the command is followed then,
// before the change is pushed again. Later commands do not wait for it, and a cancel ends it.
func (c *entering) waitsForPush(r *queue.Request, b queue.Inspected) bool {
	ch := c.facts.Links.Active(r.Number)
	if ch == nil || ch.Phase != queue.Landing {
		return false
	}
	if ch.Head != b.Head {
		return c.commands.Row(r.Command.Verb).Enters
	}
	lane := r.Command.Lane != "" && r.Command.Lane != ch.Lane
	switch r.Command.Verb {
	case queue.CommandNow:
		return ch.Now == nil
	case queue.CommandLand:
		return lane || c.anotherMethod(ch, r)
	case queue.CommandRetry:
		return lane
	}
	return false
}

// landedMeanwhile reports whether the push that a command has waited for has landed its change. There
// is nothing left to do then, whatever the pull request looks like by now.
func (c *entering) landedMeanwhile(r *queue.Request) bool {
	p := c.s.Pulls[r.Number]
	if !r.Held || p == nil || c.facts.Links.Active(r.Number) != nil {
		return false
	}
	last := c.s.Changes[p.Last]
	return last != nil && last.Phase == queue.Landed && r.At < last.Decided
}

// takenBack reports whether a command to land a pull request that was found later was given before
// another one to take it out that was followed already. The last word that people gave stands.
func (c *entering) takenBack(r *queue.Request) bool {
	p := c.s.Pulls[r.Number]
	return r.Late && p != nil && r.Before(p.Recalled) && c.commands.Row(r.Command.Verb).Enters
}

// dropHeld ends the commands about a pull request that wait, or have waited, for the end of a push, and
// were given before a command that takes the change back.
func (c *entering) dropHeld(cancel *queue.Request) {
	for _, id := range derived.Sorted(c.s.Requests) {
		if r := c.s.Requests[id]; r.Number == cancel.Number && r.Held && !cancel.Before(r.Word()) {
			c.forget(r)
		}
	}
}

// enter puts a pull request at its present head into the queue.
func (c *entering) enter(r *queue.Request, b queue.Inspected) {
	if r.Rule != "" && !c.byRule(r, b) {
		c.forget(r)
		return
	}
	if c.turnedAway(r, b) {
		return
	}
	arrival, lane := r.At, c.facts.Rules().DefaultLane
	var former queue.Change // the change in the queue that this one replaces under another method or restacked
	if ch := c.facts.Links.Active(r.Number); ch != nil {
		if ch.Head == b.Head && !c.anotherMethod(ch, r) {
			c.askedFor(ch)
			c.askedAt(ch, r, b)
			c.inStack(ch, b)
			if ch.Phase != queue.Landing && !c.guarding.admit(ch, b) {
				c.toLane(ch, r)
				c.accept(r)
				return
			}
			if ch.Phase == queue.Parked {
				c.standAsShown(ch, b)
				if ch.Reason.Code == queue.ReasonBuildCap {
					ch.Builds, ch.Spent = 0, 0 // a new /land may spend as much again
				}
				c.settling.unpark(ch)
			}
			c.toLane(ch, r)
			c.accept(r)
			return
		}
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonSuperseded, Names: []string{r.User}}, nil)
		if ch.Head == b.Head || restacked(ch, b) {
			former, arrival, lane = *ch, ch.Arrival, ch.Lane
		}
	}
	id := queue.NewChangeID(r.Number, b.Head, r.ID)
	if c.s.Changes[id] != nil {
		c.forget(r)
		return
	}
	ch := &queue.Change{
		ID: id, Number: r.Number, Head: b.Head, HeadRef: b.HeadRef, Branch: b.Branch, Title: b.Title, Author: b.Author,
		Requester: r.User, Made: r.Made, URL: b.URL, Basis: queue.Basis{Base: c.baseIn(b), Parent: c.parentIn(b), Stack: b.Stack.Native}, Arrival: arrival,
		// An administrator vouches for one head. A restacked head may hold edits of others in a
		// protected path, as goOn says.
		Lane: cmp.Or(r.Command.Lane, lane), Now: former.Now, Consent: queue.Consent{Vouched: former.Vouched && former.Head == b.Head},
		Manner: queue.Manner{Wording: b.Wording, Below: b.Below}, Own: r.Own, Rule: r.Rule, Facets: c.facetsOf(r.Number, b),
	}
	c.move(ch, queue.Analyzing, queue.Reason{Code: queue.ReasonAnalyzing})
	ch.Method, _ = c.MethodOf(r)
	ch.Skip = c.facts.Rules().Intermediate == config.IntermediateSkip && ch.Method.ByCommit()
	c.standOn(ch)
	c.s.Changes[id] = ch
	c.touchChange(ch)
	if i := slices.IndexFunc(c.s.Main.Suspects, func(l queue.LineCommit) bool { return l.Change == id && l.Head == b.Head }); i >= 0 {
		c.settling.landed(ch, c.s.Main.Suspects[i].Commit) // it landed before the state lost its memory of it
		c.forget(r)
		return
	}
	c.settling.endTry(c.settling.tryOf(r.Number), queue.Cancelled, queue.Reason{Code: queue.ReasonSuperseded, Names: []string{r.User}}, nil)
	p := c.pull(r.Number)
	p.Active, p.Head, p.Gone, p.Landed, p.Branch = id, b.Head, false, false, ""
	if !b.Fork {
		p.Branch = b.Branch
	}
	entered := queue.Note{Change: id, Number: r.Number, What: "entered", Commit: b.Head}
	if r.Rule != "" {
		entered.Reason.Names = []string{r.Rule}
		c.note(entered)
	} else {
		c.commanded(r.Number)
		c.note(entered)
		c.askBelow(r, b) // a rule of auto has to hold for each pull request separately
	}
	if !c.guarding.admit(ch, b) {
		c.accept(r)
		return
	}
	if why := c.settling.leaning(ch); why.Code != "" {
		c.settling.park(ch, why, 0)
		c.lookBelow(ch)
	} else {
		c.upkeep.ask(c.settling.analysis(ch))
	}
	c.accept(r)
}

// lookBelow asks about the pull request below a change, where the queue has none of its changes: others
// may have merged it while this one was looked at.
func (c *entering) lookBelow(ch *queue.Change) {
	if c.facts.Links.Active(ch.Parent) == nil {
		c.request(queue.Request{ID: "recheck/below/" + string(ch.ID), Number: ch.Parent, User: ch.Requester,
			Command: queue.Command{Verb: queue.CommandRecheck}, At: c.facts.Now})
	}
}

// askedAt notes when somebody has asked once more for the head of a change, or of a try: the author of
// that command has seen what was pushed before it. An administrator who has vouched for the head has not.
func (c *entering) askedAt(ch *queue.Change, r *queue.Request, b queue.Inspected) {
	if ch.Made != 0 && (r.Made == 0 || r.Made > ch.Made) && (b.Vouched || !ch.Vouched) {
		ch.Made, ch.Unseen = r.Made, false
		c.touchChange(ch)
	}
}

// turnedAway answers a command if its head cannot enter: the head has its verdict already, or
// does not meet what it takes.
func (c *entering) turnedAway(r *queue.Request, b queue.Inspected) bool {
	if c.facts.Links.Active(r.Number) == nil && c.isDecided(r, b.Head) { // before unmet: a verdict may have closed it
		c.accept(r)
		return true
	}
	if why := c.unmet(r.Number, b); why.Code != "" {
		c.refuse(r, why)
		return true
	}
	return false
}

// isDecided reports whether a command asks for a head that has its verdict: the command
// was given in another way, or a second time, before the verdict was known. A failure
// by one method says nothing of another.
func (c *entering) isDecided(r *queue.Request, head queue.CommitID) bool {
	p := c.s.Pulls[r.Number]
	if p == nil {
		return false
	}
	last := c.s.Changes[p.Last]
	if last == nil || last.Head != head || last.Phase == queue.Cancelled {
		return false
	}
	if last.Phase == queue.Rejected && c.anotherMethod(last, r) {
		return false
	}
	// One that was found later was perhaps heard before, as a label is.
	return (r.Command.Verb == queue.CommandLand || r.Command.Verb == queue.CommandNow || r.Held) && r.Given() < last.Decided
}

// unmet returns the first requirement to enter that is not met, if any. Requirements
// that a change waits for are not among them (wanting).
func (c *entering) unmet(number int, b queue.Inspected) queue.Reason {
	if why := c.offBase(number, b); why.Code != "" {
		return why
	}
	switch m := c.s.Main; {
	case !b.Open:
		return c.notOpen(number, b)
	case b.Draft && !b.Requires:
		return queue.Reason{Code: queue.ReasonDraft}
	case m.Config == nil:
		return queue.Reason{Code: queue.ReasonNoConfig, Detail: m.Broken}
	case len(b.Protected) > 0 && !b.Approved && !b.Requires:
		return queue.Reason{Code: queue.ReasonNeedsApprove, Names: b.Protected}
	}
	return queue.Reason{}
}

// notOpen says that a pull request is closed. The forge shows one that has landed as merged,
// or as closed where it cannot do that.
func (c *entering) notOpen(number int, b queue.Inspected) queue.Reason {
	why := queue.Reason{Code: queue.ReasonNotOpen}
	landed := false
	if p := c.s.Pulls[number]; p != nil && c.s.Changes[p.Last] != nil {
		last := c.s.Changes[p.Last]
		landed = last.Phase == queue.Landed && (last.Head == b.Head || last.Verdict != nil && last.Verdict.Commit == b.Head)
	}
	if b.Merged || landed {
		why.Names = []string{queue.NameMerged}
	}
	return why
}

// closedAs says that a pull request was closed, by a merge or without one.
func closedAs(merged bool) queue.Reason {
	why := queue.Reason{Code: queue.ReasonClosed}
	if merged {
		why.Names = []string{queue.NameMerged}
	}
	return why
}

// wasMerged adds the cause to the verdict that nothing is left to land of a pull request: others have
// merged it, and main has shown that before the forge told of it.
func (c *entering) wasMerged(number int) {
	p := c.s.Pulls[number]
	if p == nil {
		return
	}
	if ch := c.s.Changes[p.Last]; ch != nil && ch.Phase == queue.NothingToLand && ch.Head == p.Head && len(ch.Reason.Names) == 0 {
		ch.Reason.Names = []string{queue.NameMerged}
		c.touchChange(ch)
	}
}

// recheck takes a change out if its pull request is no longer as it was inspected.
func (c *entering) recheck(a *queue.Action, r *queue.Request, b queue.Inspected) {
	ch := c.facts.Links.Active(r.Number)
	if ch != nil && ch.Phase != queue.Landing && c.mainline.confirmBase(a, r, b) {
		return
	}
	c.forget(r)
	if try := c.settling.tryOf(r.Number); try != nil && !b.Open {
		c.settling.endTry(try, queue.Cancelled, closedAs(b.Merged), nil)
	} else if try != nil && try.Head != b.Head {
		c.settling.endTry(try, queue.Cancelled, queue.Reason{Code: queue.ReasonPushed, Names: []string{string(try.Head), string(b.Head)}}, nil)
	}
	if ch == nil && b.Merged && b.Base == c.s.Main.Branch {
		c.wasMerged(r.Number)
		if !b.Fork { // for those on top of it, as if the queue had landed it
			p := c.pull(r.Number)
			p.Landed, p.Branch = true, b.Branch
		}
	}
	if ch == nil || ch.Phase == queue.Landing {
		return
	}
	if r.Again {
		defer c.guarding.reconsider(ch)
	}
	switch why := c.unmet(r.Number, b); {
	case restacked(ch, b) && why.Code == "" && !b.Draft && c.guarding.stillMay(ch, b) && c.goOn(ch, b):
	case !b.Open:
		c.pull(r.Number).Landed = b.Merged && b.Base == c.s.Main.Branch
		c.settling.decide(ch, queue.Cancelled, closedAs(b.Merged), nil)
	case b.Head != ch.Head:
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonPushed, Names: []string{string(ch.Head), string(b.Head)}}, nil)
	case why.Code == queue.ReasonWrongBase:
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonRetargeted, Names: why.Names}, nil)
	case why.Code == queue.ReasonDraft, why.Code == queue.ReasonStackCircle, why.Code == queue.ReasonStackDeep:
		c.settling.decide(ch, queue.Cancelled, why, nil)
	case b.Draft && !waitsOutside(ch):
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonDraft}, nil)
	case !c.guarding.stillMay(ch, b):
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonNoPermission, Names: []string{ch.Requester, string(c.commands.Who(queue.CommandLand, c.facts.Permissions()))}}, nil)
	case !c.rebase(ch, b):
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonRetargeted, Names: []string{b.Base}}, nil)
	default:
		if p := c.s.Pulls[r.Number]; p != nil && p.Head != ch.Head {
			c.pull(r.Number).Head = ch.Head // a late event has named an older one
		}
		if ch.Phase == queue.Parked && b.Facets != nil && ch.Facets != nil { // it has not come in yet, or comes in anew
			fresh := *b.Facets
			fresh.Attempts, fresh.Pushes = ch.Facets.Attempts, ch.Facets.Pushes
			ch.Facets = &fresh
			c.touchChange(ch)
		}
		c.guarding.stay(ch, b)
	}
}

// retry discards the failures of a change's keys and takes it up again.
func (c *entering) retry(r *queue.Request, b queue.Inspected) {
	ch := c.facts.Links.Active(r.Number)
	if try := c.settling.tryToRetry(r.Number); try != nil {
		c.settling.tryAgain(r, b, try.ID)
		return
	}
	if ch == nil {
		before := c.before(r.Number, b.Head)
		if len(before) == 0 {
			c.refuse(r, queue.Reason{Code: queue.ReasonNotQueued})
			return
		}
		for _, id := range before {
			c.forgetFailures(id)
		}
		c.enter(r, b)
		return
	}
	if ch.Head != b.Head {
		c.enter(r, b) // somebody pushed, and the event is still to come
		return
	}
	if c.turnedAway(r, b) {
		return
	}
	if m := &c.s.Main; ch.Phase == queue.Parked && onMain(ch.Reason.Code) && m.Retry != 0 {
		m.Retry, m.Backoff = c.facts.Now, 0 // people may have mended main before they ask
		c.touchMain()
	}
	c.forgetFailures(ch.ID)
	ch.Builds, ch.Spent, ch.Infra, ch.InfraOn, ch.Unfit = 0, 0, 0, nil, 0
	c.touchChange(ch)
	c.askedFor(ch)
	c.askedAt(ch, r, b)
	c.inStack(ch, b)
	if ch.Phase == queue.Parked && c.guarding.admit(ch, b) {
		c.standAsShown(ch, b)
		c.settling.unpark(ch)
	}
	c.toLane(ch, r)
	c.accept(r)
}

// before returns the changes with a verdict that a retry is about: the pull
// request's last, and those of the same head, which may have had other numbers.
func (c *entering) before(number int, head queue.CommitID) []queue.ChangeID {
	var out []queue.ChangeID
	last := queue.ChangeID("")
	if p := c.s.Pulls[number]; p != nil {
		last = p.Last
	}
	for _, id := range derived.Sorted(c.s.Changes) {
		if ch := c.s.Changes[id]; id == last || ch.Head == head && ch.Phase.Final() && ch.Phase != queue.Tried {
			out = append(out, id)
		}
	}
	return out
}

// forgetFailures drops the failing evidence of the keys of a change's links.
func (c *entering) forgetFailures(id queue.ChangeID) {
	held := map[queue.Digest]bool{}
	for l := range c.facts.Links.LinksOf[id] {
		for _, f := range c.facts.Links.Info(l).Facts {
			held[f.ID] = true
		}
	}
	c.forgetEvidence(func(k queue.Key) bool { return held[k.ID()] })
}

// forgetEvidence drops the failures of keys, and of the sets that hold one.
func (c *entering) forgetEvidence(of func(queue.Key) bool) {
	for _, eid := range derived.Sorted(c.s.Ledger) {
		e := c.s.Ledger[eid]
		if len(e.Failures) == 0 || !slices.ContainsFunc(e.Keys, of) {
			continue
		}
		e.Failures = nil
		c.touch(queue.KindEntry, string(eid))
		if e.Passed == 0 {
			c.judging.dropEntry(eid)
		}
	}
}

func (c *entering) accept(r *queue.Request) {
	if r.Number != 0 && (r.Comment != "" || r.Box || r.Command.Verb == queue.CommandLand) {
		if p := c.pull(r.Number); p.Notice.Code != "" {
			p.Notice, p.NoticeTo = queue.Reason{}, ""
		}
	}
	c.react(r, true)
}

// refuse answers a command that is not followed.
func (c *entering) refuse(r *queue.Request, why queue.Reason) {
	if unsaid(r) {
		c.forget(r)
		return
	}
	if p := c.s.Pulls[r.Number]; why.Code == queue.ReasonNotOpen && p != nil && p.Notice.Code != "" && p.NoticeTo == r.User && r.At <= p.Answered {
		// It was given before the answer that has closed what it is about, as a refusal does in
		// a plain repository: that answer stands.
		c.forget(r)
		return
	}
	c.answer(r, why)
	c.react(r, false)
}

func (c *entering) answer(r *queue.Request, why queue.Reason) {
	if r.Number == 0 {
		c.note(queue.Note{What: "command-refused", Reason: why})
		return
	}
	p := c.pull(r.Number)
	p.Notice, p.NoticeTo = why, r.User
}

func (c *entering) react(r *queue.Request, accepted bool) {
	if r.Comment != "" && r.Number != 0 && !accepted { // that it has arrived was said, and its comment says the rest
		c.upkeep.ask(queue.React{Number: r.Number, Comment: r.Comment})
	}
	c.forget(r)
}

func (c *entering) forget(r *queue.Request) {
	delete(c.s.Requests, r.ID)
	c.touch(queue.KindRequest, r.ID)
	if r.Number != 0 && r.Command.Verb != queue.CommandRecheck && !unsaid(r) {
		p := c.pull(r.Number)
		p.Answered = c.facts.Now
		if r.Box {
			p.Edited = c.facts.Now
		}
	}
}
