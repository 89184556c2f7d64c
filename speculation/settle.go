package speculation

import (
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
	"github.com/submitqueue/submitqueue/speculation/plan"
)

// settle gives the verdicts that follow from facts. Landing is not one of
// them: a change lands through the train and the gate.
func (c *settling) settle() {
	c.landing.sortOrder()
	c.mainline.proveMain()
	for c.settleOnce() {
		c.restack()
		c.landing.sortOrder()
	}
}

// settleOnce goes through the order once; it reports whether a verdict has
// changed the order.
func (c *settling) settleOnce() bool {
	if c.s.Push != nil {
		c.onTip = tipLinks{}
		return false // where main is at this moment is not known, so no verdict can rest on it
	}
	tip := c.s.Main.Tip
	for _, l := range c.turnedAway() {
		id, st := l.Change, c.facts.Links.State(l)
		if c.facts.Order.Stacked[id] != nil {
			continue // the change below it gets its verdict first
		}
		if ahead := c.facts.Order.FirstAhead(id); len(ahead) > 0 {
			if c.facts.Without(config.IngredientBypass) {
				continue
			}
			n := c.facts.Futures.Node(id)
			known := st.Status == derived.Failed && n != nil && c.facts.Futures.Regardless(n, nil) == derived.Failed && c.endsAs(l, derived.Failed) && !c.judging.editsQuarantine(ahead)
			if !known && !c.allPathsEnd(tip, ahead, id, st.Status) {
				continue
			}
		}
		if c.reject(c.s.Changes[id], l, *st) {
			return true
		}
	}
	return false
}

// tipLinks are the links of pending changes onto main's tip. They are collected again
// when main or the order has changed; links that have come since are in the turn.
type tipLinks struct {
	tip    queue.CommitID
	orders int
	serial int
	links  []*queue.Link
}

// turnedAway returns, in order, the links onto main's tip by which a pending change
// cannot land.
func (c *settling) turnedAway() []*queue.Link {
	t := &c.onTip
	switch tip := c.s.Main.Tip; {
	case t.tip != tip || t.orders != c.facts.Order.Seating() || t.orders == 0:
		t.tip, t.orders, t.links = tip, c.facts.Order.Seating(), t.links[:0]
		for _, id := range c.facts.Order.IDs {
			if l := c.s.Links[queue.LinkOf(tip, id)]; l != nil {
				t.links = append(t.links, l)
			}
		}
	case t.serial != c.facts.Links.Serial():
		for r := range c.dirty {
			if r.Kind != queue.KindLink {
				continue
			}
			l := c.s.Links[queue.LinkID(r.ID)]
			if l == nil || l.Parent != tip || len(l.With) > 0 || slices.Contains(t.links, l) {
				continue
			}
			if _, pending := c.facts.Order.Rank[l.Change]; pending {
				t.links = append(t.links, l)
			}
		}
	}
	t.serial = c.facts.Links.Serial()
	var out []*queue.Link
	for _, l := range t.links {
		if c.facts.Links.Infos[l] != nil && c.landing.failsOn(l) { // else it has been forgotten since
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b *queue.Link) int { return c.facts.Order.Rank[a.Change] - c.facts.Order.Rank[b.Change] })
	return out
}

// allPathsEnd reports whether all paths of a change over the undecided changes ahead
// of it are known and have the given status (BLRD: EuroSys'19 authors,
// "Bypassing Large Diffs", 2023). Paths that cannot be the final one count, too. Paths
// with a base that does not merge do not count.
func (c *settling) allPathsEnd(base queue.CommitID, ahead []queue.ChangeID, id queue.ChangeID, want derived.Status) bool {
	if len(ahead) > plan.MaxBypass {
		return false
	}
	for mask := range 1 << len(ahead) {
		l, rest, void := c.facts.Links.Walk(base, subset(ahead, mask, id))
		switch {
		case void != "":
			continue
		case len(rest.Picks) > 0 || l == nil:
			return false
		}
		if !c.endsAs(l, want) {
			return false
		}
	}
	return true
}

// endsAs reports whether the end of a path has a status, or an equal one: a change that
// fails and one that does not merge count alike, since neither can land.
func (c *settling) endsAs(l *queue.Link, want derived.Status) bool {
	st := c.facts.Links.State(l)
	switch want {
	case derived.Failed, derived.Conflicting:
		if st.Status == derived.Failed {
			own, _ := c.blame(l, st.Broken)
			return own != nil && !c.judging.mayExcuse(l, own)
		}
		return st.Status == derived.Conflicting
	}
	return st.Status == want
}

// subset returns the members of ahead that mask selects, in order, and then id.
func subset(ahead []queue.ChangeID, mask int, id queue.ChangeID) []queue.ChangeID {
	out := make([]queue.ChangeID, 0, len(ahead)+1)
	for i, a := range ahead {
		if mask&(1<<i) != 0 {
			out = append(out, a)
		}
	}
	return append(out, id)
}

// reject ends a change that cannot land on the real main of this moment. It
// returns false if the evidence does not count, or not yet: main itself may be to
// blame, or may have moved unseen.
func (c *settling) reject(ch *queue.Change, l *queue.Link, st derived.LinkState) bool {
	switch st.Status {
	case derived.Conflicting, derived.Empty:
		if !c.mainline.mainSeen() {
			return false
		}
	}
	switch st.Status {
	case derived.Conflicting:
		c.decide(ch, queue.Rejected, queue.Reason{Code: queue.ReasonMergeConflict, Names: l.Conflicts, Detail: l.Refused},
			&queue.Verdict{Commit: l.Parent, Conflicts: l.Conflicts, Against: c.landedOver(ch.ID, l.Conflicts)})
		return true
	case derived.Empty:
		c.decide(ch, queue.NothingToLand, queue.Reason{Code: queue.ReasonAlready}, &queue.Verdict{Commit: l.Parent})
		return true
	}
	if m := c.s.Main; m.Surveyed != m.Tip {
		return false // whether main is to blame is not known yet
	}
	own, red := c.blame(l, st.Broken)
	if own == nil {
		if len(red) > 0 {
			c.park(ch, c.restsOnMain(red), 0)
			return true
		}
		return false
	}
	if own = slices.DeleteFunc(own, func(e *queue.Entry) bool { return !c.judging.mainCleared(l, e) }); len(own) == 0 {
		return false // main may be to blame: a control will tell
	}
	if !c.mainline.mainSeen() {
		return false
	}
	v := &queue.Verdict{Commit: l.Commit, Keys: len(l.Keys), Failures: c.failures(l, own)}
	names := []string{}
	for _, f := range v.Failures {
		names = append(names, f.Step)
	}
	slices.Sort(names)
	c.blaming.measure(ch, false)
	c.blaming.explain(ch.ID)
	c.decide(ch, queue.Rejected, queue.Reason{Code: queue.ReasonFailed, Names: slices.Compact(names)}, v)
	return true
}

// blame splits decisive failures against a link into the change's own and those that
// rest on unproven keys of main. Of the latter it names the targets that are red on
// main. A failure rests on main if its target is unproven there; a failure without a
// target does so if any key of the step is unproven.
func (c *settling) blame(l *queue.Link, broken []*queue.Entry) (own []*queue.Entry, red []string) {
	for _, e := range broken {
		unproven, bad := c.mainAt(l, e)
		if red = append(red, bad...); !unproven {
			own = append(own, e)
		}
	}
	slices.Sort(red)
	return own, slices.Compact(red)
}

// mainAt reports whether main is unproven on the step and targets of an entry, and
// which of the targets are red there.
func (c *settling) mainAt(l *queue.Link, e *queue.Entry) (unproven bool, red []string) {
	step, ok := c.facts.Links.Step(l, e.Keys[0])
	if e.IsSet() && ok {
		unproven, red = c.facts.Ledger.MainIn(step.Name)
	}
	for _, k := range e.Keys {
		some, bad := c.mainline.mainOn(k.Target)
		if unproven = unproven || some; bad {
			red = append(red, k.Target)
		}
	}
	return unproven, red
}

// excused reports whether main is unproven on the step and targets of an entry.
func (c *settling) excused(l *queue.Link, e *queue.Entry) bool {
	unproven, _ := c.mainAt(l, e)
	return unproven
}

// restsOnMain is the reason to park a change that fails only where main does, on the
// given targets: main is red there, or no runner can run main's commands there.
func (c *settling) restsOnMain(targets []string) queue.Reason {
	why := queue.Reason{Code: queue.ReasonRedMain, Names: targets, Drift: c.judging.driftOf(targets)}
	root := c.facts.Root()
	if root == nil {
		return why
	}
	reds := c.facts.Ledger.RedOn(root)
	if len(reds.Unrun) == 0 || slices.ContainsFunc(targets, func(t string) bool { return slices.Contains(reds.Targets, t) }) {
		return why
	}
	return queue.Reason{Code: queue.ReasonNoTool, Names: targets, Unrun: c.failuresOfMain(root, reds.Unrun)}
}

// onMain reports whether a reason to be parked ends once main is proven on the targets
// that it names.
func onMain(code queue.ReasonCode) bool {
	return code == queue.ReasonRedMain || code == queue.ReasonNoTool
}

// failuresOfMain are the failures of main itself, with when and where they were seen last.
func (c *settling) failuresOfMain(root *queue.Link, entries []*queue.Entry) []queue.Evidence {
	out := c.failures(root, entries)
	for i := range out {
		last := entries[i].Failures[len(entries[i].Failures)-1]
		out[i].At, out[i].Host = last.At, last.Host
	}
	return out
}

func (c *settling) failures(l *queue.Link, broken []*queue.Entry) []queue.Evidence {
	var out []queue.Evidence
	for _, e := range broken {
		last := e.Failures[len(e.Failures)-1]
		ev := queue.Evidence{Build: last.Build, Ran: last.Ran, Attempts: e.Tries, Tail: last.Tail, Timeout: last.Timeout, Pages: last.Pages}
		st, ok := c.facts.Links.Step(l, e.Keys[0])
		if ok {
			ev.Step, ev.Run = st.Name, clipRun(st.Command())
		}
		if ok && st.Repeat > 0 {
			if ev.Runs, ev.Fails = st.StrictNew, c.failedRuns(st, e.Keys); slices.ContainsFunc(out, func(o queue.Evidence) bool {
				return o.Runs > 0 && o.Step == st.Name && o.Targets[0] == e.Keys[0].Target
			}) {
				continue // another run of the same target
			}
		}
		c.judging.against(&ev, l, e)
		ev.Partners = c.partners(l, e)
		for _, k := range e.Keys {
			ev.Targets = append(ev.Targets, k.Target)
		}
		out = append(out, ev)
	}
	if len(out) > 5 {
		out = out[:5]
	}
	return out
}

// failedRuns returns how many of the runs of new targets have failed, by name or together.
func (c *settling) failedRuns(st config.Step, keys []queue.Key) (n int) {
	for i := range st.StrictNew {
		st.Repeat = i + 1
		own := slices.Clone(keys)
		for k := range own {
			own[k].Step = st.Digest()
		}
		for _, id := range []queue.Digest{own[0].ID(), queue.OpaqueID(own)} {
			if e := c.s.Ledger[id]; e != nil && len(e.Failures) > 0 {
				n++
				break
			}
		}
	}
	return n
}

// decide ends a change.
func (c *settling) decide(ch *queue.Change, phase queue.Phase, why queue.Reason, v *queue.Verdict) {
	if ch == nil || ch.Phase.Final() {
		return
	}
	if ch.Phase == queue.Trying {
		c.endTry(ch, queue.Cancelled, why, nil)
		return
	}
	if derived.InOrder(ch) {
		c.landing.leave(ch.ID)
	}
	c.landing.dissolve(ch)
	c.upkeep.drop(c.analysis(ch))
	c.facts.Links.Left()
	c.facts.Links.Untidied(ch.ID)
	c.facts.Decided()
	if phase != queue.Landed {
		c.upkeep.turned = append(c.upkeep.turned, ch.ID) // other changes may have been built on it
		defer c.guarding.releaseFrom(ch.ID)
	}
	c.move(ch, phase, why)
	ch.Decided, ch.Until, ch.Verdict = c.facts.Now, 0, v
	c.touchChange(ch)
	c.blaming.rethinkWith(ch.ID)
	p := c.pull(ch.Number)
	if p.Last = ch.ID; p.Active == ch.ID {
		p.Active = ""
	}
	p.Ended++
	c.judging.recordEnded(ch)
	p.Landed = p.Landed || phase == queue.Landed || phase == queue.NothingToLand
	commit := queue.CommitID("")
	if v != nil {
		commit = v.Commit
	}
	c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: string(phase), Reason: why, Commit: commit})
	c.rowVerdict(ch)
	c.topple(ch)
	c.entering.over(ch)
}

// landed ends a change that is on main as the given commit.
func (c *settling) landed(ch *queue.Change, commit queue.CommitID) {
	if ch == nil || ch.Phase == queue.Landed {
		return
	}
	v := &queue.Verdict{}
	if ch.Verdict != nil {
		*v = *ch.Verdict
	}
	v.Commit = commit
	if ch.Phase.Final() {
		// Main is the truth: it has landed, in spite of the state.
		c.move(ch, queue.Pending, queue.Reason{})
		c.facts.Futures.Distrust() // merges on top of it count again
	}
	c.blaming.absolve(ch.ID, func(d *queue.Doubt) bool { return d.Pair == "" })
	f := c.s.Footprints[ch.ID]
	var hit map[queue.ChangeID]bool
	if f != nil && (len(f.Edges) > 0 || f.All) && derived.InOrder(ch) {
		hit = c.facts.Order.ConflictsOf(ch.ID)
	}
	if hit == nil && derived.InOrder(ch) {
		c.blaming.keepPairs(ch.ID, c.facts.Order.ConflictsOf(ch.ID))
	} else {
		c.blaming.keepPairs(ch.ID, hit)
	}
	c.s.Main.Line.Seq++
	c.judging.brought(c.facts.Links.LinkTo(commit))
	c.facts.Rejudge() // failures on top of it may count now
	c.facts.Futures.Reweigh()
	ch.Line = c.s.Main.Line
	c.touchMain()
	if line := c.facts.Futures.Assumed.Line; ch.Line.Seq > len(line) || line[ch.Line.Seq-1] != ch.ID {
		c.facts.Futures.Distrust() // it did not land by the push that was under way
	}
	c.blaming.measure(ch, true)
	c.decide(ch, queue.Landed, queue.Reason{Code: queue.ReasonLanded}, v)
	if hit != nil {
		// It changed the graph that the others' footprints were made on.
		c.mainline.restale(func(o *queue.Change) bool { return hit[o.ID] })
	}
}

// park takes a change out of the order without a verdict. until is when the change is
// looked at again; 0 means when its cause ends.
func (c *settling) park(ch *queue.Change, why queue.Reason, until queue.Instant) {
	if ch == nil || ch.Phase.Final() || ch.Phase == queue.Parked || ch.Phase == queue.Landing {
		return
	}
	if ch.Phase == queue.Trying { // a parked try would come back into the queue
		c.endTry(ch, queue.Tried, why, nil)
		return
	}
	if derived.InOrder(ch) {
		c.landing.leave(ch.ID)
	}
	c.landing.dissolve(ch)
	c.facts.Links.Left()
	c.move(ch, queue.Parked, why)
	ch.Until, ch.Decided = until, c.facts.Now
	if at := firstParked(ch); at != nil && *at == 0 {
		*at = c.facts.Now
	}
	c.touchChange(ch)
	c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: "parked", Reason: why})
	c.topple(ch)
}

// firstParked returns where a change keeps since when it is parked for its present reason, though
// it returns in between; nil: it does not for this reason.
func firstParked(ch *queue.Change) *queue.Instant {
	switch ch.Reason.Code {
	case queue.ReasonStuck:
		return &ch.Stuck
	case queue.ReasonNoRunner:
		return &ch.Unfit
	}
	return nil
}

// unparkDue brings parked changes back when their cause has ended, and cancels changes
// that have been parked for too long. A change that returns and gets stuck again counts
// as parked all along.
func (c *settling) unparkDue() {
	limit := c.facts.Rules().ParkedLimit
	for _, ch := range c.parked() {
		end := ch.Decided.Add(limit)
		if at := firstParked(ch); at != nil && *at != 0 {
			end = at.Add(limit)
		}
		if ch.Reason.Code == queue.ReasonProtected && ch.Refused != nil {
			end = ch.Refused.Since.Add(limit)
		}
		switch {
		case limit > 0 && c.facts.Now >= end:
			c.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonParkedLimit, Names: []string{string(ch.Reason.Code)}}, nil)
		case waitsOutside(ch) && ch.Until != 0 && c.facts.Now >= ch.Until:
			c.guarding.inspectWaiting(ch)
			c.wakeAt(end)
			c.wakeAt(ch.Until)
		case ch.Until != 0 && c.facts.Now >= ch.Until,
			onMain(ch.Reason.Code) && !c.stillRed(ch):
			c.unpark(ch)
		default:
			c.wakeAt(end)
			c.wakeAt(ch.Until)
		}
	}
}

// parked returns the parked changes, by id.
func (c *settling) parked() []*queue.Change {
	var out []*queue.Change
	for _, ch := range c.facts.Open {
		if ch.Phase == queue.Parked {
			out = append(out, ch)
		}
	}
	slices.SortFunc(out, func(a, b *queue.Change) int { return strings.Compare(string(a.ID), string(b.ID)) })
	return out
}

// stillRed reports whether a target that parked the change is still unproven on main.
func (c *settling) stillRed(ch *queue.Change) bool {
	if m := c.s.Main; m.Surveyed != m.Tip {
		return true
	}
	l := c.facts.Root()
	if l == nil {
		return false
	}
	return slices.ContainsFunc(l.Keys, func(k queue.Key) bool {
		return slices.Contains(ch.Reason.Names, k.Target) && !c.facts.Ledger.Passed(k)
	})
}

// unpark puts a change back into the order, where it was.
func (c *settling) unpark(ch *queue.Change) {
	if onMain(ch.Reason.Code) {
		c.entering.forgetFailures(ch.ID) // they were made while main was red
	}
	if why := c.leaning(ch); why.Code != "" {
		ch.Reason, ch.Until = why, 0
		c.touchChange(ch)
		c.mayStandAlone(ch)
		return
	}
	c.move(ch, queue.Analyzing, queue.Reason{Code: queue.ReasonAnalyzing})
	ch.Until, ch.Decided, ch.Infra, ch.InfraOn = 0, 0, 0, nil
	c.landing.replace(ch)
	ch.Stale = ch.Stale || ch.Parent != 0 // the change below it may be another one by now
	c.touchChange(ch)
	if f := c.s.Footprints[ch.ID]; f != nil && c.grounded(ch) {
		c.move(ch, queue.Pending, queue.Reason{})
		c.landing.join(ch.ID, f)
	}
	c.mainline.reanalyze(ch)
	c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: "returned"})
	if l := c.guarding.guarded(ch.ID, func(l *queue.Link) bool { return !c.facts.Links.Cleared(l) }); l != nil {
		c.guarding.stopUncleared(l) // this link became known while the change was parked for another reason
	}
}
