package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A control is the same step on main, without the change: a failure is a change's own
// only as far as main passes the keys that have failed. Main was proven when its
// commits landed, and may be red by now at the same hashes (drift), or for a reason
// that no hash covers. So a rejection rests on a control:
//
//   - of an opaque failure, on a run that has passed on a commit of main's line and
//     began no earlier than the first failing run that counts;
//   - of a failure that names its target, or has the whole tree as its target, on such
//     a run, too; or on a pass of main's key of the step and the target that is at
//     most proofFresh older than the first failing run.
//
// The build of a change on the very commit that has landed is such a run, too.
//
// Main is not to blame for keys that it does not have. When a change lands that has brought
// such a key, it is asked for anew; also where the answer is still awaited, and else the answer
// counts wherever main is by then. Controls begin when the first
// failure is known, beside the runs that repeat it, and all rejections share them: of
// one step on one target there is one record (queue.Control) and one run at a time.
//
// A control on an older commit of main's line is as good as one on its tip while no
// commit of others has come since: all changes that have landed meanwhile have passed
// the gate. So a run that has begun goes on while main moves, and a main that never
// rests delays no rejection. Commits of others end all controls (newEpoch).
//
// A control on a newer commit is not as good where the step names no target: something may
// have mended main in between, and the failures are those of main as it was. So such a
// control is asked for on the commit of main's line that the oldest failing run stands on,
// even if main has moved on before that is known, and one that has passed on a newer commit for
// another change is not enough. If main has no such key there, main's tip has to do.
//
// A control that fails is no verdict on any change: it is run again, and when it has
// failed as often as a verdict needs, main has drifted (drift.go).

const (
	proofFresh = time.Hour // how old a pass of main may be when a target fails by name

	patienceToAsk  = 30 * time.Second // how long main stays where it is, for the answer which keys it has
	patienceAgain  = 5 * time.Minute  // after this it stays where it is once more, for the answer where it is
	controlsAtOnce = 2                // runs of one control before it waits for the next
)

// need is a condition of a rejection that a control has to meet.
type need struct {
	aim   queue.Aim
	fresh queue.Instant // it is enough that main's key was seen to pass then or later; 0: it is not
	since queue.Instant // else the control needs a run that began then or later
	base  spot          // where it has to run, or before that, if main has the key there; zero: anywhere
}

// spot is a commit on main's line.
type spot struct {
	commit queue.CommitID
	seq    int
}

// baseOf returns where on main's line the runs stand that have failed together, the oldest of them:
// a control there shows what they have failed of. A later one does not, if something that has landed
// since has mended main. A run of main itself needs no control on its commit: it was red there.
func (c *judging) baseOf(e *queue.Entry) (at spot) {
	for _, f := range e.Failures {
		if c.facts.Now >= f.Until() || f.Ran.Change == "" || f.Since.Epoch != c.s.Main.Line.Epoch {
			continue
		}
		if at.commit == "" || f.Since.Seq < at.seq {
			at = spot{f.Ran.Main, f.Since.Seq}
		}
	}
	return at
}

// needs returns the controls that failing evidence against a link asks for.
func (c *judging) needs(l *queue.Link, e *queue.Entry) []need {
	step := e.Step
	if st, ok := c.facts.Links.Step(l, e.Keys[0]); ok {
		step = st.Name
	}
	var first queue.Instant
	for _, f := range e.Failures {
		if c.facts.Now < f.Until() {
			first = queue.Earliest(first, f.Start())
		}
	}
	if !e.IsSet() && c.inQuarantine(queue.Aim{Step: step, Target: e.Keys[0].Target}) {
		return nil // the change fails it because it does not have it in quarantine; main's word does not count
	}
	if !e.IsSet() {
		return []need{{aim: queue.Aim{Step: step, Target: e.Keys[0].Target}, fresh: max(first.Add(-proofFresh), 1), since: first}}
	}
	var out []need
	missing := true
	for _, k := range e.Keys {
		n := need{aim: queue.Aim{Step: step, Target: k.Target}, since: first, base: c.baseOf(e)}
		if c.inQuarantine(n.aim) {
			continue
		}
		at := c.s.Controls[n.aim.ID()]
		missing = missing && at != nil && at.Missing
		out = append(out, n)
	}
	if missing { // main has none of the targets, but perhaps others of the step
		out = append(out, need{aim: queue.Aim{Step: step}, since: first})
	}
	return out
}

// met reports whether a control says that main is not to blame.
func (n need) met(x *queue.Control) bool {
	switch {
	case x == nil || x.Commit == "":
		return false
	case x.Missing, x.Began >= n.since && !n.tooNew(x):
		return true
	}
	return n.fresh != 0 && x.Good >= n.fresh
}

// tooNew reports whether the run that has passed a control stands on a newer commit than what has
// failed, and another one may yet tell: something that has landed in between may have mended main.
func (n need) tooNew(x *queue.Control) bool {
	return n.base.commit != "" && !x.TipOnly && x.Seq > n.base.seq
}

// mainCleared reports whether failing evidence against a link is known not to be main's
// fault.
func (c *judging) mainCleared(l *queue.Link, e *queue.Entry) bool {
	return !slices.ContainsFunc(c.needs(l, e), func(n need) bool { return !n.met(c.s.Controls[n.aim.ID()]) })
}

// against says in a change's evidence when main was seen to pass the keys that have
// failed.
func (c *judging) against(ev *queue.Evidence, l *queue.Link, e *queue.Entry) {
	for _, n := range c.needs(l, e) {
		x := c.s.Controls[n.aim.ID()]
		if x == nil || x.Missing {
			continue
		}
		if ev.Good == 0 || x.Good < ev.Good {
			ev.Good = x.Good
		}
		if x.Began >= n.since {
			ev.Control = x.Build
		}
	}
}

// keepControls keeps the records of the controls that rejections need, and asks which of
// their keys main has. It does nothing while a push is under way: which failures will
// count is not known then.
func (c *judging) keepControls() {
	m := &c.s.Main
	if c.s.Push != nil || m.Tip == "" || m.Config == nil || m.Surveyed != m.Tip {
		return
	}
	var needs []need
	want := func(l *queue.Link) {
		for _, e := range c.facts.Links.State(l).Shaken {
			if e.Expires(c.facts.Now) != 0 && !c.settling.excused(l, e) {
				needs = append(needs, c.needs(l, e)...)
			}
		}
	}
	for _, l := range c.settling.onTip.links {
		if c.facts.Links.Infos[l] != nil {
			want(l)
		}
	}
	for _, ch := range c.facts.Tries() {
		if l := c.s.Links[queue.LinkOf(ch.On, ch.ID)]; l != nil && ch.Would == nil {
			want(l)
		}
	}
	if len(c.s.Controls) > 0 {
		c.wantedBefore(want)
	}
	wanted, base := c.unmet(needs)
	for _, id := range derived.Sorted(c.s.Controls) {
		if _, has := wanted[id]; !has {
			delete(c.s.Controls, id)
			c.touch(queue.KindControl, id)
		}
	}
	for _, id := range derived.Sorted(wanted) {
		n, x := wanted[id], c.s.Controls[id]
		if x == nil {
			x = &queue.Control{Aim: n.aim, Since: n.since}
			c.s.Controls[id] = x
			c.touch(queue.KindControl, id)
		} else if x.Since != n.since {
			x.Since = n.since
			c.touch(queue.KindControl, id)
		}
	}
	if base.commit == "" {
		base = spot{m.Tip, m.Line.Seq}
	}
	c.askControls(base)
}

// unmet returns by control what all its needs come to, with since 0 if it meets them, and the oldest
// commit of main's line that controls are to run on; none: main's tip. A control that has passed on too
// new a commit is run once more.
func (c *judging) unmet(needs []need) (wanted map[string]need, base spot) {
	for _, n := range needs {
		if x := c.s.Controls[n.aim.ID()]; x != nil && x.Began >= n.since && n.tooNew(x) {
			x.Began, x.Build, x.Seq = 0, "", 0
			c.touch(queue.KindControl, n.aim.ID())
		}
	}
	wanted = make(map[string]need, len(needs))
	for _, n := range needs {
		id := n.aim.ID()
		x := c.s.Controls[id]
		if n.met(x) {
			n.since = 0
		} else if at := n.base; at.commit != "" && (base.commit == "" || at.seq < base.seq) && (x == nil || !x.TipOnly) {
			base = at
		}
		old, has := wanted[id]
		if !has {
			old = n
		}
		old.since = max(old.since, n.since)
		wanted[id] = old
	}
	return wanted, base
}

// wantedBefore has the controls of pending changes kept while their merge onto main's tip is
// still to be made: main has just moved, and the failures on main as it was may count on that
// merge, too. So a run that has begun goes on.
func (c *judging) wantedBefore(want func(*queue.Link)) {
	m := &c.s.Main
	targets := make([]int, 0, len(c.s.Controls))
	for _, x := range c.s.Controls {
		t, known := c.facts.Futures.Assumed.Numbers[x.Target]
		if !known || x.Target == config.TargetTree {
			t = derived.Everything
		}
		targets = append(targets, t)
	}
	for _, id := range c.facts.Order.IDs {
		affects := c.facts.Futures.AffectedBy(id)
		if affects == nil || !slices.ContainsFunc(targets, affects.Touches) || c.s.Links[queue.LinkOf(m.Tip, id)] != nil {
			continue
		}
		for l := range c.facts.Links.LinksOf[id] {
			if len(l.Chain) == 0 && len(l.With) == 0 && l.Since.Epoch == m.Line.Epoch {
				want(l)
			}
		}
	}
}

// askControls asks for main's keys of those controls that are new, or that are to be
// run on another commit of main's line: all that are to be run at one time are run on one.
func (c *judging) askControls(on spot) {
	m, at := &c.s.Main, on.commit
	if len(c.s.Controls) == 0 {
		if m.Control != "" {
			m.Control = ""
			c.facts.Links.Untidied("")
			c.touchMain()
		}
		return
	}
	if c.mainline.watching > 0 {
		return
	}
	var aims []queue.Aim
	ask := false
	for _, id := range derived.Sorted(c.s.Controls) {
		x := c.s.Controls[id]
		if x.TipOnly && at != m.Tip {
			continue
		}
		ask = ask || x.Commit == "" || x.Since != 0 && x.Commit != at && !c.controlRuns(x)
		if x.Commit == "" || x.Since != 0 {
			aims = append(aims, x.Aim)
		}
	}
	if ask {
		asked := at
		if at != m.Tip {
			asked = "" // what has landed since may have brought a key
		}
		for _, aim := range aims {
			if x := c.s.Controls[aim.ID()]; x.Asked != asked {
				x.Asked = asked
				c.touch(queue.KindControl, aim.ID())
			}
		}
		c.upkeep.ask(queue.Watch{Commit: at, Analyzer: m.Analyzer, Epoch: m.Line.Epoch, Seq: on.seq, Aims: aims})
	}
}

// readingMain reports whether the answer is awaited, for the first time, which of the
// failed keys main has. Main stays where it is for that moment, so that a verdict which
// needs no run is given on the real main.
func (c *judging) readingMain() bool {
	if c.mainline.watching == 0 {
		return false
	}
	for _, key := range derived.Sorted(c.s.Actions) {
		a := c.s.Actions[key]
		t, is := a.Task.(queue.Watch)
		until := a.At.Add(patienceToAsk)
		if !is || t.Before != 0 || a.Attempt > 1 || c.facts.Now >= until {
			continue
		}
		if slices.ContainsFunc(t.Aims, func(aim queue.Aim) bool {
			x := c.s.Controls[aim.ID()]
			return x != nil && x.Commit == ""
		}) {
			c.wakeAt(until)
			return true
		}
	}
	return false
}

// controlRuns reports whether a build that runs verifies a control's key.
func (c *judging) controlRuns(x *queue.Control) bool {
	f := c.facts.Ledger.Keys[x.Key.ID()]
	return x.Key != queue.Key{} && f != nil && f.Build != nil
}

// controlled takes in which of the keys that were asked for main has.
func (c *judging) controlled(b queue.Controlled) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	t, ok := a.Task.(queue.Watch)
	m := &c.s.Main
	if !ok || t.Epoch != m.Line.Epoch {
		return
	}
	if b.Analyzer != m.Analyzer { // an event tells which analyzer is in force; until main moves the queue does not ask again
		for _, aim := range t.Aims {
			if x := c.s.Controls[aim.ID()]; x != nil {
				x.Commit = b.Commit
				c.touch(queue.KindControl, x.ID())
			}
		}
		c.watchLater()
		return
	}
	for _, e := range b.Passed {
		c.readArchived(e)
	}
	known := map[queue.Digest]*queue.Entry{}
	for i := range b.Passed {
		if e := &b.Passed[i]; !c.void(e) {
			known[e.ID] = e
		}
	}
	if t.Before != 0 {
		c.watched(t, b)
		return
	}
	found := map[queue.Aim]queue.Key{}
	var keys []queue.Key
	for _, x := range b.Found {
		if found[x.Aim] = x.Key; !slices.Contains(keys, x.Key) {
			keys = append(keys, x.Key)
		}
	}
	for _, aim := range t.Aims {
		x := c.s.Controls[aim.ID()]
		if x == nil {
			continue
		}
		k, has := found[aim]
		x.Commit, x.Key, x.Missing = b.Commit, k, !has
		if !has && b.Commit != m.Tip && x.Asked != b.Commit {
			x.Commit, x.Missing, x.TipOnly = "", false, true // a change that has landed meanwhile may have brought it
		}
		for _, e := range []*queue.Entry{known[k.ID()], c.s.Ledger[k.ID()]} {
			if e == nil || !has || e.Passed == 0 {
				continue
			}
			if x.Good = max(x.Good, e.Good()); e.Commit == b.Commit && !e.Head {
				passedOnMain(x, e.Began, e.By, t.Seq)
			}
		}
		c.touch(queue.KindControl, x.ID())
	}
	if old := c.s.Links[m.Control]; old != nil {
		for _, k := range old.Keys { // keys of other controls that the same commit was asked for
			if old.Commit == b.Commit && !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	m.Control = c.putAside(b, "@control", keys, t.Seq)
	c.touchMain()
}

// putAside makes a root link of keys of main that have passed, beside the root link of
// the keys that are unproven on main.
func (c *judging) putAside(b queue.Controlled, name queue.LinkID, keys []queue.Key, seq int) queue.LinkID {
	c.facts.Links.Untidied("")
	if len(keys) == 0 {
		return ""
	}
	c.putSteps(b.Steps)
	l := &queue.Link{ID: queue.LinkOf(b.Commit, "") + name, Parent: b.Commit, Outcome: queue.Merged, Commit: b.Commit, Tree: b.Tree,
		Steps: b.Steps.ID, Keys: keys, At: c.facts.Now, Analyzer: b.Analyzer, Before: b.Analyzer, Since: queue.Line{Epoch: c.s.Main.Line.Epoch, Seq: seq}}
	if old := c.s.Links[l.ID]; old != nil {
		l.At, l.Attempts = old.At, old.Attempts
		c.s.Links[l.ID] = l
		c.facts.Links.IndexLink(l)
		c.facts.Links.ForgetLink(old)
	} else {
		c.s.Links[l.ID] = l
		c.facts.Links.IndexLink(l)
	}
	c.touch(queue.KindLink, string(l.ID))
	return l.ID
}

// aside reports whether a link holds keys of main that are run again.
func (c *judging) aside(l *queue.Link) bool {
	return l.Change == "" && (l.ID == c.s.Main.Control || l.ID == c.s.Main.Watch)
}

// shownOnMain takes in the targets that have passed in a run on a commit of main's
// line.
func (c *judging) shownOnMain(b *queue.Build, j *queue.Job, passed []string, run span) {
	l := c.s.Links[b.Link]
	if b.Change != "" || len(passed) == 0 {
		return
	}
	c.recovered(j, passed)
	if l == nil || l.Since.Epoch != c.s.Main.Line.Epoch {
		return
	}
	for _, k := range j.Keys {
		if !slices.Contains(passed, k.Target) {
			continue
		}
		for _, aim := range []queue.Aim{{Step: j.Step.Name, Target: k.Target}, {Step: j.Step.Name}} {
			x := c.s.Controls[aim.ID()]
			if x == nil || aim.Target == "" && x.Key != k {
				continue
			}
			x.Good = max(x.Good, run.ended)
			passedOnMain(x, run.passBegan(b), b.ID, l.Since.Seq)
			c.touch(queue.KindControl, x.ID())
		}
	}
}

// passedOnMain notes the run that has passed a control. One on a newer commit does not take the place
// of one that is enough: it would not be enough for each failure.
func passedOnMain(x *queue.Control, began queue.Instant, by queue.BuildID, seq int) {
	if began > x.Began && (seq <= x.Seq || x.Began == 0 || x.Began < x.Since) {
		x.Began, x.Build, x.Seq = began, by, seq
	}
}

// brought has the controls asked for anew that main had no key for, as far as a link that has
// landed may have brought one; nil: it is not known what it has brought.
func (c *judging) brought(l *queue.Link) {
	has := func(aim queue.Aim) bool {
		return l == nil || slices.ContainsFunc(l.Keys, func(k queue.Key) bool {
			st, ok := c.facts.Links.Step(l, k)
			return !ok || st.Name == aim.Step && (aim.Target == "" || aim.Target == k.Target)
		})
	}
	for _, id := range derived.Sorted(c.s.Controls) {
		x := c.s.Controls[id]
		if !x.Missing && x.Asked == "" || !has(x.Aim) {
			continue
		}
		if x.Asked = ""; x.Missing {
			x.Commit, x.Missing = "", false
		}
		c.touch(queue.KindControl, id)
	}
}

// endControls forgets results of main from before commits of others came to it, or from
// another version of the analyzer.
func (c *judging) endControls() {
	for _, id := range derived.Sorted(c.s.Controls) {
		delete(c.s.Controls, id)
		c.touch(queue.KindControl, id)
	}
	c.s.Main.Control, c.s.Main.Watch, c.s.Main.Watched = "", "", 0
	c.facts.Links.Untidied("")
	c.touchMain()
}

// ranControls counts a run of controls: a control that it does not clear is soon run once
// more, and then ever more rarely.
func (c *judging) ranControls(keys []queue.Key) {
	for _, id := range derived.Sorted(c.s.Controls) {
		x := c.s.Controls[id]
		if !slices.Contains(keys, x.Key) {
			continue
		}
		if x.Runs++; x.Runs > controlsAtOnce {
			x.Retry = c.facts.Now.Add(backoff(x.Runs - controlsAtOnce))
		}
		c.touch(queue.KindControl, id)
	}
}

// underControl names the steps of failures that wait for a control before they count
// against a change on main.
func (c *judging) underControl(ch *queue.Change) []string {
	l := c.s.Links[queue.LinkOf(c.s.Main.Tip, ch.ID)]
	if l == nil || l.Outcome != queue.Merged {
		return nil
	}
	var steps []string
	own, _ := c.settling.blame(l, c.facts.Links.State(l).Broken)
	for _, e := range own {
		if st, ok := c.facts.Links.Step(l, e.Keys[0]); ok && !c.mainCleared(l, e) {
			steps = append(steps, st.Name)
		}
	}
	slices.Sort(steps)
	return slices.Compact(steps)
}
