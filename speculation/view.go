package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// View returns the facts of a change that people are shown; ok is false if the state
// does not hold the change.
func (c *Core) View(id queue.ChangeID) (v queue.View, ok bool) {
	if v, ok = c.telling.brief(id); ok && v.Change.Phase == queue.Pending {
		v.Conflicts = slices.Clone(c.facts.Order.Index.Conflicts(id))
		c.settling.clashes(id, v.Conflicts)
		v.Unknown = c.settling.unknowns(id, v.Conflicts)
		v.Outlook = c.telling.outlook(&v.Change, v.Outlook.Next)
	}
	return v, ok
}

// brief is a view without its conflicts, since their witnesses take time to name.
func (c *telling) brief(id queue.ChangeID) (v queue.View, ok bool) {
	ch := c.s.Changes[id]
	if ch == nil {
		return v, false
	}
	v = queue.View{Change: *ch, Lane: c.entering.shownLane(ch), Total: len(c.facts.Order.IDs)}
	if p := c.s.Pulls[ch.Number]; p != nil {
		v.Notice, v.NoticeTo, v.Answered = p.Notice, p.NoticeTo, p.Answered
		if prev := c.s.Changes[p.Last]; prev != nil && prev.ID != id {
			previous := *prev
			v.Previous = &previous
		}
	}
	for _, bid := range derived.Sorted(c.s.Builds) {
		if b := c.s.Builds[bid]; b.IsFor(id) {
			v.Builds = append(v.Builds, c.buildView(b))
		}
	}
	v.Rollup = c.landing.partners(ch)
	if ch.Phase == queue.Pending {
		v.Position = c.facts.Order.Rank[id] + 1
		v.Ahead = c.facts.Order.Ahead(id)
		v.Outlook.Next = c.next(ch)
	}
	v.Waits = c.waits(ch, v)
	v.Forecast = c.forecast()[id]
	return v, true
}

// PullView returns the view of a pull request's change, the active one before
// the last. A pull request that has only been answered has a view without a
// change.
func (c *Core) PullView(number int) (v queue.View, ok bool) {
	p := c.s.Pulls[number]
	if p == nil {
		return v, false
	}
	if ch := c.settling.shownOf(p); ch != nil {
		return c.View(ch.ID)
	}
	return queue.View{Change: queue.Change{Number: number}, Notice: p.Notice, NoticeTo: p.NoticeTo, Answered: p.Answered}, true
}

// Shown returns the change that a pull request's comment is about, or nil. It is not
// to be written to.
func (c *Core) Shown(number int) *queue.Change {
	if p := c.s.Pulls[number]; p != nil {
		return c.settling.shownOf(p)
	}
	return nil
}

// Queue returns the facts that people are shown of the whole queue.
func (c *Core) Queue(name string) queue.QueueView {
	q := queue.QueueView{Name: name, Main: c.s.Main, Slots: c.s.Slots, Trust: c.telling.trust(), Upgrade: c.mainline.upgradeView(), Hosts: c.benching.hostViews(),
		Models: c.learning.view()}
	var waiting []*queue.Change
	for _, id := range derived.Sorted(c.s.Changes) {
		ch := c.s.Changes[id]
		switch {
		case ch.Revert != "": // it is shown with the commit that it takes back
		case ch.Phase.Final():
			q.Recent = append(q.Recent, *ch)
		case ch.Phase != queue.Pending:
			waiting = append(waiting, ch)
		}
	}
	slices.SortFunc(q.Recent, func(a, b queue.Change) int {
		return cmp.Or(cmp.Compare(b.Decided, a.Decided), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(waiting, func(a, b *queue.Change) int {
		return cmp.Or(cmp.Compare(rankOf(a.Phase), rankOf(b.Phase)), cmp.Compare(a.Arrival, b.Arrival))
	})
	add := func(phase func(queue.Phase) bool) {
		for _, ch := range waiting {
			if phase(ch.Phase) {
				v, _ := c.telling.brief(ch.ID)
				q.Order = append(q.Order, v)
			}
		}
	}
	add(func(p queue.Phase) bool { return p == queue.Landing })
	for _, id := range c.facts.Order.IDs { // the plan, which comes last in a turn, may have parked some of them
		if v, ok := c.telling.brief(id); ok && v.Change.Phase == queue.Pending {
			q.Order = append(q.Order, v)
		}
	}
	add(func(p queue.Phase) bool { return p != queue.Landing })
	for _, id := range derived.Sorted(c.s.Builds) {
		if b := c.s.Builds[id]; b.Change == "" || b.Worth.Kind == queue.WorthRevert {
			q.MainBuilds = append(q.MainBuilds, c.telling.buildView(b))
		}
	}
	if root := c.facts.Root(); root != nil {
		for _, k := range root.Keys {
			if c.facts.Ledger.Passed(k) {
				continue
			}
			q.Unproven++
		}
	}
	q.Red = c.telling.redTargets()
	if root := c.facts.Root(); root != nil {
		reds := c.facts.Ledger.RedOn(root)
		q.Failing, q.Unrun = c.settling.failuresOfMain(root, reds.Failing), c.settling.failuresOfMain(root, reds.Unrun)
	}
	q.Blame, q.Hunts = c.Blame(), c.Hunts()
	return q
}

// redTargets returns the targets of main with a decisive failure, except commands that
// no runner can run. The result belongs to the core.
func (c *telling) redTargets() []string {
	root := c.facts.Root()
	if root == nil {
		return nil
	}
	return c.facts.Ledger.RedOn(root).Targets
}

func rankOf(p queue.Phase) int {
	switch p {
	case queue.Landing:
		return 0
	case queue.Parked:
		return 2
	}
	return 1
}

func (c *telling) buildView(b *queue.Build) queue.BuildView {
	v := queue.BuildView{Build: *b}
	v.Build.Jobs = slices.Clone(b.Jobs) // the state's own jobs are written to later
	v.Done, _ = b.Steps()
	if b.Started != 0 {
		if span, seen := c.span(b); seen {
			v.Expected, v.Usual = b.Started.Add(span.usual), span.usual
		}
	}
	return v
}

// waits says what a change waits for, the most telling reason first.
func (c *telling) waits(ch *queue.Change, v queue.View) []queue.Reason {
	if ch.Phase != queue.Pending {
		if ch.Phase.Final() {
			return nil
		}
		return []queue.Reason{c.settling.trouble(ch)}
	}
	var out []queue.Reason
	m := c.s.Main
	if m.Renamed != "" {
		out = append(out, queue.Reason{Code: queue.ReasonRenamed, Names: []string{m.Branch, m.Renamed}})
	}
	if c.landing.shut() {
		out = append(out, queue.Reason{Code: queue.ReasonShut, Detail: m.Paused.Reason})
	} else if m.Paused != nil && ((m.Paused.Until == 0 || ch.Now == nil) && !c.entering.excepted(ch.ID) || c.onFrozen(ch)) {
		out = append(out, m.Paused.Why())
	}
	proven := c.facts.Futures.Verified[ch.ID]
	held := proven && (m.Surveyed != m.Tip && c.facts.External() == config.ExternalHold || c.facts.Order.Held())
	if held {
		out = append(out, queue.Reason{Code: queue.ReasonWaitsMain, Names: c.redTargets()})
	}
	if steps := c.judging.underControl(ch); len(steps) > 0 {
		out = append(out, queue.Reason{Code: queue.ReasonWaitsControl, Names: steps})
	}
	if proven && ch.Now == nil && c.facts.Changing() {
		out = append(out, queue.Reason{Code: queue.ReasonWaitsUpgrade, Until: m.Next.Hold})
	}
	if len(v.Ahead) > 0 {
		out = append(out, queue.Reason{Code: queue.ReasonWaitsAhead, Names: idStrings(v.Ahead)})
	}
	if through := c.letThrough(ch, v.Ahead); len(through) > 0 {
		out = append(out, queue.Reason{Code: queue.ReasonWaitsThrough, Names: idStrings(through)})
	}
	next := v.Outlook.Next
	crowded := queue.Reason{}
	switch next.Code {
	case "", queue.ReasonWaitsQuota, queue.ReasonWaitsSlot, queue.ReasonWaitsWindow:
		crowded = c.facts.Quotas.Crowded(ch)
	}
	switch {
	case len(v.Builds) > 0:
		var ids []string
		for _, b := range v.Builds {
			ids = append(ids, string(b.Build.ID))
		}
		out = append(out, queue.Reason{Code: queue.ReasonWaitsBuild, Names: ids})
	case crowded.Code != "":
		out = append(out, crowded)
	case held:
	case c.settling.asking[ch.ID]:
		out = append(out, queue.Reason{Code: queue.ReasonWaitsResolve})
	case proven && len(v.Ahead) == 0:
		out = append(out, queue.Reason{Code: queue.ReasonWaitsTrain})
	case next.Code != "":
		out = append(out, next.Reason())
	case len(v.Ahead) > 0:
	case c.s.Links[queue.LinkOf(c.facts.Links.Front(), ch.ID)] == nil:
		out = append(out, queue.Reason{Code: queue.ReasonWaitsResolve})
	default:
		out = append(out, queue.Reason{Code: queue.ReasonWaitsSlot})
	}
	if missed := c.benching.missed(); len(missed) > 0 && waitsForSlot(out[len(out)-1], v) {
		out = slices.Insert(out, len(out)-1, queue.Reason{Code: queue.ReasonBenched, Names: missed})
	}
	if why := c.settling.unanalyzed(ch); why.Code != "" {
		out = slices.Insert(out, min(1, len(out)-1), why) // the last reason is the one that its next build waits for
	}
	return out
}

// onFrozen reports whether a change would land through the freeze, and stands in a stack on one that
// the freeze holds.
func (c *telling) onFrozen(ch *queue.Change) bool {
	return c.facts.Order.Passing[ch.ID] && slices.ContainsFunc(c.facts.Order.Beneath(ch), func(low *queue.Change) bool { return c.facts.Order.Froze(low.ID) })
}

// letThrough returns those of the changes ahead of one that a freeze holds which have come before it
// because the freeze lets them through.
func (c *telling) letThrough(ch *queue.Change, ahead []queue.ChangeID) []queue.ChangeID {
	if !c.facts.Order.Froze(ch.ID) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(ahead), func(id queue.ChangeID) bool { return c.facts.Order.Froze(id) || c.s.Changes[id].Lead == 0 })
}

// waitsForSlot reports whether the last thing that a change waits for is a slot: for a
// build that is to be started, or for builds that no runner has begun.
func waitsForSlot(last queue.Reason, v queue.View) bool {
	if last.Code != queue.ReasonWaitsBuild {
		return last.Code == queue.ReasonWaitsSlot
	}
	return !slices.ContainsFunc(v.Builds, func(b queue.BuildView) bool { return b.Build.Started != 0 })
}

func idStrings(ids []queue.ChangeID) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = string(id)
	}
	return out
}
