package speculation

import (
	"reflect"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// maxSuspects bounds the commits of others that are remembered; the latest are kept. If
// such commits add no key to prove, main is never proven anew, and so their list is
// never cleared.
const maxSuspects = 64

// observed takes in the target branch as it is. Main is the truth about
// landings: our own commits on the branch win over the state's memory, so that a lost
// second of the store is harmless.
func (c *mainline) observed(b queue.Observed) {
	if c.upkeep.done(b.Action) == nil {
		return // given up for a newer reading
	}
	m := &c.s.Main
	if b.Differs != "" {
		m.Paused = &queue.Pause{By: "submitqueue", Reason: b.Differs, At: c.facts.Now}
		c.touchMain()
		c.note(queue.Note{What: "differs", Commit: b.Tip, Reason: queue.Reason{Code: queue.ReasonPaused, Names: []string{"submitqueue"}, Detail: b.Differs}})
	}
	late := m.Again // something happened after this reading was made
	if late {
		m.Again = false
		c.touchMain()
		defer c.upkeep.observe()
	} else {
		c.back()
	}
	if b.Repository != 0 && m.Repository != b.Repository {
		m.Repository = b.Repository
		c.touchMain()
	}
	if m.Default != b.Default {
		m.Default = b.Default
		c.touchMain()
	}
	if b.From != m.Tip && b.Tip != m.Tip {
		c.upkeep.observe() // this reading began at a tip that main has left since
		return
	}
	if c.seen = !late; c.seen && m.Sought != 0 {
		m.Sought = 0
		c.touchMain()
	}
	c.configure(b)
	c.guarding.reguard()
	if b.Tip == m.Tip {
		if p := c.s.Push; p != nil && p.Unsure && !late {
			c.lost()
		}
		c.versions(b.Analyzers)
		if !late {
			c.gone()
		}
		return
	}
	first := m.Tip == ""
	old, proven := m.Tip, c.facts.ProvenMain()
	if p := c.s.Push; p != nil {
		proven = proven && c.stillPassed(p.Commits)
	}
	m.Tip = b.Tip
	c.upkeep.tidyAll = true
	c.facts.Links.Left()
	c.touchMain()
	if b.Forced && !first {
		m.Paused = &queue.Pause{By: "submitqueue", At: c.facts.Now, Code: queue.ReasonForced,
			Reason: "the branch was force-pushed from " + string(old) + " to " + string(b.Tip)}
		c.note(queue.Note{What: "forced", Commit: b.Tip, Reason: queue.Reason{Code: queue.ReasonForced, Names: []string{string(old), string(b.Tip)}}})
	}
	if b.Forced {
		c.hunting.abandonHunts()
	}
	outside := first || b.Forced
	if outside {
		c.newEpoch()
	}
	if !b.Forced {
		for _, l := range b.Line {
			ours := c.entering.taken(l) || c.recognise(l)
			if !first {
				c.rowMain(l.Commit, ours, c.landedAs(l.Commit))
			}
			if !ours {
				outside = true
				c.newEpoch()
				if !first {
					m.Suspects = append(m.Suspects, l)
				}
			}
		}
	}
	m.Suspects = m.Suspects[max(0, len(m.Suspects)-maxSuspects):]
	if p := c.s.Push; p != nil && !slices.ContainsFunc(b.Line, func(l queue.LineCommit) bool { return l.Commit == p.Tip() || l.As == p.Tip() }) {
		c.lost()
	} else if p != nil {
		c.setPush(nil)
		c.landing.took(p)
	}
	if outside {
		if !first {
			c.note(queue.Note{What: "outside", Commit: b.Tip})
		}
		m.Surveyed = ""
		c.restale(func(*queue.Change) bool { return true })
	} else {
		tip := m.Tip
		if n := len(b.Line); n > 0 && b.Line[n-1].As != "" {
			tip = b.Line[n-1].As
		}
		if l := c.facts.Links.LinkTo(tip); l != nil {
			m.Analyzer = l.Analyzer
		}
		if proven {
			m.Surveyed = m.Tip
		}
	}
	c.touchLinks(c.facts.Links.Reroot())
	c.versions(b.Analyzers)
	if !late {
		c.gone()
	}
	c.survey()
}

// mainSeen reports whether main has been read in this very turn, and has it
// read if not: the event of a move may be lost, and a rejection rests on where main is
// now.
func (c *mainline) mainSeen() bool {
	if !c.seen {
		if c.observing == "" {
			c.upkeep.observe()
		}
		if m := &c.s.Main; m.Sought == 0 || c.facts.Now >= m.Sought.Add(patienceAgain) {
			m.Sought = c.facts.Now
			c.touchMain()
		}
	}
	return c.seen
}

// sought reports whether a verdict waits for a reading of main that is under way. Main stays where
// it is meanwhile, for a time: each move of it would make the reading one of the past, and a main
// that never rests would put the verdict off for ever. Where that was in vain, because the forge
// was slow or in trouble, main stays once more after a pause (mainSeen), in which others land.
func (c *mainline) sought() bool {
	m, a := &c.s.Main, c.s.Actions[c.observing]
	until := m.Sought.Add(patienceToAsk)
	if m.Sought == 0 || a == nil || a.Attempt > 1 || c.facts.Now >= until {
		return false
	}
	c.wakeAt(until)
	return true
}

// recognise settles the changes that have landed with a commit on main, and reports
// whether the gate has let that commit pass, as far as the state knows.
func (c *mainline) recognise(l queue.LineCommit) bool {
	all := true
	if ch := c.forwarded(l); ch != nil {
		return c.recogniseOne(queue.LineCommit{Commit: l.Commit, Holds: true}, queue.Carried{Change: ch.ID, Head: ch.Head})
	}
	for _, x := range l.Carries() {
		all = c.recogniseOne(l, x) && all
	}
	return all
}

// forwarded returns the change that has landed by fast-forward, or nil. Its head itself
// is on main's line, and has no trailers of ours.
func (c *mainline) forwarded(l queue.LineCommit) *queue.Change {
	if c.s.Changes[l.Change] != nil {
		return nil
	}
	for _, id := range derived.Sorted(c.facts.Open) {
		if ch := c.facts.Open[id]; ch.Head == l.Commit && ch.Method == config.MethodFastForward && ch.Phase != queue.Trying {
			return ch
		}
	}
	return nil
}

func (c *mainline) recogniseOne(l queue.LineCommit, x queue.Carried) bool {
	ch := c.s.Changes[x.Change]
	if ch == nil || ch.Head != x.Head || !slices.Contains(l.Merged, ch.Head) && !l.Holds && l.As == "" && !c.entering.made(l.Commit, x.Change) {
		return false // trailers alone prove nothing: anybody can write them
	}
	known := ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == l.Commit
	if p := c.s.Push; p != nil && (slices.Contains(p.Commits, l.Commit) || l.As != "" && slices.Contains(p.Commits, l.As)) {
		known = true
	}
	if l.As != "" && ch.Phase != queue.Landed {
		ch.Verdict = mergedByForge(ch.Verdict, known)
	}
	if ch.Phase != queue.Landed {
		c.settling.landed(ch, l.Commit)
	} else {
		c.newEpoch() // the change was on main before, and somebody put it there again
	}
	return known
}

// mergedByForge is the verdict on a change that lands as a commit of the forge's own.
// known says that the commit has the parent and the tree of the push's commit, so the
// proof holds for it. Otherwise the commit is unproven, and main is verified as after a
// push by others.
func mergedByForge(proof *queue.Verdict, known bool) *queue.Verdict {
	if !known || proof == nil {
		return &queue.Verdict{ByForge: true, Unproven: !known}
	}
	v := *proof
	v.ByForge, v.Tested = true, false
	return &v
}

// newEpoch begins a stretch of main's line. How the commits before it differ from those
// after it is not known.
func (c *mainline) newEpoch() {
	c.s.Main.Line = queue.Line{Epoch: c.s.Main.Line.Epoch + 1}
	c.facts.Rejudge()
	c.judging.endControls()
	c.facts.Futures.Distrust()
	c.touchMain()
}

// gone looks again at changes that the forge calls merged and main does not show.
func (c *mainline) gone() {
	for _, n := range derived.SortedIf(c.s.Pulls, func(_ int, p *queue.Pull) bool { return p.Gone }) {
		p := c.s.Pulls[n]
		p.Gone = false
		c.touchPull(p)
		if ch := c.s.Changes[p.Active]; ch != nil && ch.Phase != queue.Landing {
			c.doubt(ch, "gone/"+string(ch.ID)+"/"+string(c.s.Main.Tip))
		}
	}
}

func (c *mainline) configure(b queue.Observed) {
	m := &c.s.Main
	m.Protected = b.Protected
	m.Broken = b.Broken
	read := m.Unread
	m.Unread = false
	if b.Config != nil && !reflect.DeepEqual(m.Config, b.Config) {
		c.judging.endQuarantine() // by the former configuration: entries that have ended by now ended there, too
		m.Config, m.ConfigAt, m.Lapsed = b.Config, b.Tip, c.facts.Now
		c.guarding.configured()
		c.facts.Futures.NewRules()
		c.guarding.newRequirements()
		read = true
	}
	if read {
		c.judging.weighQuarantine()
	}
	c.touchMain()
}

// survey asks which keys of main are unproven, unless that is known.
func (c *mainline) survey() {
	if m := c.s.Main; m.Config != nil && m.Surveyed != m.Tip {
		c.upkeep.ask(queue.Survey{Commit: m.Tip, Analyzer: m.Analyzer})
	}
}

func (c *mainline) surveyed(b queue.Surveyed) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	if t, ok := a.Task.(queue.Survey); ok && t.Former != "" {
		c.surveyedNext(t, b)
		return
	}
	m := &c.s.Main
	if b.Commit != m.Tip {
		return
	}
	if b.Analyzer != m.Analyzer {
		if c.s.Push != nil { // the version in force where main will be is known; a push may be without an answer for long
			c.upkeep.reissue(a, pauseAfter(a.Renewed, mainBackoff), a.Error)
			return
		}
		c.judgeBy(b.Analyzer)
	}
	root := c.facts.Root()
	proven := root != nil && c.facts.Links.State(root).Status == derived.Verified // and nobody was told
	m.Surveyed, m.Root = b.Commit, ""
	c.facts.Rejudge()
	c.facts.Links.Untidied("")
	c.touchMain()
	c.judging.endDrift(func(d queue.Drift) bool {
		return !slices.ContainsFunc(b.Unproven, func(k queue.Key) bool { return k.ID() == d.Key })
	})
	if len(b.Unproven) == 0 || len(m.Drift) < len(b.Unproven) { // else the drifted keys wait as long as before, wherever main is
		m.Retry, m.Backoff = 0, 0
	}
	if len(b.Unproven) == 0 {
		if proven {
			m.Suspects = nil
			c.note(queue.Note{What: "main-proven", Commit: m.Tip})
		}
		return
	}
	c.judging.putSteps(b.Steps)
	root = &queue.Link{ID: queue.LinkOf(b.Commit, ""), Parent: b.Commit, Outcome: queue.Merged, Commit: b.Commit,
		Tree: b.Tree, Steps: b.Steps.ID, Keys: b.Unproven, At: c.facts.Now, Analyzer: b.Analyzer, Before: b.Analyzer, Since: m.Line}
	if old := c.s.Links[root.ID]; old != nil {
		root.Attempts = old.Attempts
		c.facts.Links.ForgetLink(old)
	}
	c.s.Links[root.ID] = root
	c.facts.Links.IndexLink(root)
	c.touch(queue.KindLink, string(root.ID))
	m.Root = root.ID
}

// proveMain notices that the last unproven key of main has passed. While main is surveyed anew,
// its link holds the keys of an older tip, which prove nothing of the commits since.
func (c *mainline) proveMain() {
	m := &c.s.Main
	l := c.facts.Root()
	if l == nil || m.Surveyed != m.Tip || c.facts.Links.State(l).Status != derived.Verified {
		return
	}
	m.Root, m.Suspects, m.Retry, m.Backoff = "", nil, 0, 0
	c.facts.Rejudge()
	c.facts.Links.Untidied("")
	c.touchMain()
	c.judging.endDrift(func(queue.Drift) bool { return true })
	c.note(queue.Note{What: "main-proven", Commit: m.Tip})
	c.surveyNext() // attend has already run in this turn, and no other turn may come soon
}

// mainOn reports whether main has unproven keys on a target, and whether one of them is
// red: evidence against a change does not count where main itself may be to blame. The
// step does not matter: a broken target fails under a new or edited step as well.
func (c *mainline) mainOn(target string) (unproven, red bool) {
	root := c.facts.Root()
	if root == nil {
		return false, false
	}
	facts := c.facts.Links.Info(root).Facts
	for i, r := range root.Keys {
		if r.Target == target && !facts[i].Passed() {
			unproven, red = true, red || c.facts.Ledger.RedOn(root).Keys[i]
		}
	}
	return unproven, red
}

// pushed takes in the result of a push.
func (c *mainline) pushed(b queue.Pushed) {
	c.upkeep.done(b.Action)
	p := c.s.Push
	if p == nil || p.ID != b.Push {
		return
	}
	switch {
	case b.Moved:
		m := &c.s.Main
		proven := c.facts.ProvenMain() && c.stillPassed(p.Commits)
		if l := c.facts.Links.LinkTo(p.Tip()); l != nil {
			m.Analyzer = l.Analyzer
			c.judging.unread(l)
		}
		m.Tip = p.Tip()
		c.facts.Links.Left()
		if proven {
			m.Surveyed = m.Tip
		}
		c.touchMain()
		for i, commit := range p.Commits {
			c.rowMain(commit, true, slices.Clone(p.Of(i)))
			for _, id := range slices.Clone(p.Of(i)) {
				c.settling.landed(c.s.Changes[id], commit)
			}
		}
		c.setPush(nil)
		c.landing.took(p)
		c.touchLinks(c.facts.Links.Reroot())
		c.survey()
		c.upkeep.observe() // for its configuration and attributes
	case b.Declined != "":
		if p.ByForge {
			c.declined(p, b.Declined)
		}
	case b.Refused != "":
		c.landing.refused(p, b.Refused)
	default:
		// Main is somewhere else: perhaps behind the commits that an earlier attempt
		// pushed.
		c.unsure(p.ID)
	}
}

// stillPassed reports whether all that commits of a push have brought still counts as passed: since
// the push was written, passes may have been forgotten or revoked, or a quarantine has ended.
func (c *mainline) stillPassed(commits []queue.CommitID) bool {
	return !slices.ContainsFunc(commits, func(at queue.CommitID) bool {
		l := c.facts.Links.LinkTo(at)
		return l == nil || slices.ContainsFunc(c.facts.Links.Info(l).Facts, func(f *derived.Fact) bool { return !f.Passed() })
	})
}

// unsure handles a push without a known result: main is read, and it is the
// truth.
func (c *mainline) unsure(id string) {
	if p := c.s.Push; p != nil && p.ID == id {
		p.Unsure = true
		c.touch(queue.KindMeta, queue.MetaPush)
		c.endPush(p)
		c.upkeep.observe()
	}
}

// lost puts the changes of a push that did not happen back into the order.
func (c *mainline) lost() {
	p := c.s.Push
	c.setPush(nil)
	c.putBack(p)
	c.facts.Futures.Distrust()
	for _, id := range p.Changes {
		c.unland(id)
	}
	c.note(queue.Note{What: "lost-race", Commit: p.Tip()})
	c.guarding.reguard() // while the push was under way, links by former globs were kept
}

func (c *mainline) unland(id queue.ChangeID) {
	ch := c.s.Changes[id]
	if ch == nil || ch.Phase != queue.Landing {
		return
	}
	c.move(ch, queue.Pending, queue.Reason{})
	ch.Verdict = nil
	c.touchChange(ch)
	c.blaming.rethinkWith(id)
	if p := c.s.Pulls[ch.Number]; p != nil && p.Notice.Code == queue.ReasonTooLate {
		p.Notice, p.NoticeTo = queue.Reason{}, "" // it was not too late
		c.touchPull(p)
	}
	if user := ch.Recall; user != "" {
		ch.Recall = ""
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonCancelled, Names: []string{user}}, nil)
		return
	}
	if ch.Unseen {
		ch.Unseen = false
		c.settling.decide(ch, queue.Cancelled, queue.Reason{Code: queue.ReasonPushed, Names: []string{"", string(ch.Head)}}, nil)
		return
	}
	// Events about it that came while it was landing, and were too late, count now.
	c.request(queue.Request{ID: "recheck/" + string(id) + "@" + strconv.FormatInt(int64(c.facts.Now), 10), Number: ch.Number,
		User: ch.Requester, Command: queue.Command{Verb: queue.CommandRecheck}, At: c.facts.Now})
	c.entering.unruled(ch)
}

func (c *mainline) setPush(p *queue.Push) {
	if old := c.s.Push; old != nil && p == nil {
		c.endPush(old)
	}
	c.s.Push = p
	c.touch(queue.KindMeta, queue.MetaPush)
}

// goOn lets landings go on.
func (c *mainline) goOn(user string) {
	c.s.Main.Paused = nil
	c.touchMain()
	c.note(queue.Note{What: "resumed", Reason: queue.Reason{Names: []string{user}}})
}

// resume lets landings go on and brings back the changes that refusals have parked,
// because somebody commands it.
func (c *mainline) resume(user string) {
	c.s.Main.Resumed = c.facts.Now
	c.goOn(user)
	for _, ch := range c.settling.parked() {
		if ch.Reason.Code == queue.ReasonProtected {
			c.settling.unpark(ch)
		}
	}
}

// restale has the footprints of changes made again: main has changed under them.
func (c *mainline) restale(which func(*queue.Change) bool) {
	for _, id := range derived.Sorted(c.s.Changes) {
		ch := c.s.Changes[id]
		if ch.Phase != queue.Pending && ch.Phase != queue.Analyzing || !which(ch) {
			continue
		}
		ch.Stale = true
		c.touchChange(ch)
		c.reanalyze(ch)
	}
}

// reanalyze asks for a change's footprint on main as it is. The change no longer waits
// for analyses on an older main.
func (c *mainline) reanalyze(ch *queue.Change) {
	now := c.settling.analysis(ch)
	if c.analyzing[ch.ID] > 0 {
		var older []string
		for key, a := range c.s.Actions {
			if t, ok := a.Task.(queue.Analyze); ok && t.Change == ch.ID && (t.Main != now.Main || t.Analyzer != now.Analyzer || !slices.Equal(t.Under, now.Under)) {
				older = append(older, key)
			}
		}
		slices.Sort(older)
		for _, key := range older {
			c.upkeep.done(key)
		}
	}
	c.upkeep.ask(now)
}
