package speculation

import (
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Another version of an analyzer gives all targets other hashes, and so other
// keys. Main is judged by one version at a time, Main.Analyzer. Every link says which
// version its commit and its parent were analyzed by, and the gate compares the two.
// While the server knows a newer version, main is also proven under that one,
// separately (Main.Next). A pass under the version in force counts if the newer version
// sees the same target on that commit. The rest is proven by builds in free slots. Once
// all keys of main's tip have passed, the newer version takes over in one turn. Passes
// stay in the ledger under both.
//
// Say that go/1 is in force, the server is upgraded and knows go/2, and change a
// lands meanwhile. a is built and lands under go/1. Main's tip moves, and is
// looked at again: a's keys have passed on a's own commit, so that go/2 has nothing to
// build for them. When no key is left to be proven, go/2 is in force. Footprints and
// links are made again under it, and running builds go on with their keys renamed.
//
// A busy main could prevent that for ever: each time that all keys have passed, main
// has moved by a change that only the newer version sees as another target. So after
// some such rounds landings wait, for a short time and then for a longer one, while the
// remaining keys are built before all else. Keys that are red under the newer version
// hold up no change, and emergencies do not wait. If no slot is ever free, the proof
// takes one from some time on.

// The tools of the hosts are part of a version's name (queue.Toolset): when the output
// of a step's environment command changes, that is another version. Under it that step
// has other keys, and all else is unchanged. It takes over in the same way, as long as
// there is a host with the former tools. If there is none, nothing can be built under
// the version in force any more, and main is judged by the new one at once. Meanwhile
// hosts with the former tools verify the changes that are to land, and hosts with the
// new tools verify main.

const (
	upgradeAgain = time.Minute // between two surveys of the keys that are unproven under the newer version
	upgradeChase = 3           // main outruns the proof so often before landings wait for the proof
	upgradePause = time.Minute // how long landings wait at most, the first time; then twice as long each time

	formerFor    = 6 * time.Hour    // how long after the switch passes under the former version are looked for
	upgradeCheck = 10 * time.Minute // how soon a newer version that cannot tell main's targets is tried again, at first
)

// versions takes in which versions of its analyzer the server knows for main, the
// newest first.
func (c *mainline) versions(known []string) {
	m := &c.s.Main
	switch {
	case len(known) == 0 || c.s.Push != nil: // main is read again after the push
	case m.Analyzer == "" && len(c.s.Links) == 0 && m.Surveyed == "":
		m.Analyzer = known[0]
		c.touchMain()
	case !slices.Contains(known, m.Analyzer):
		c.judgeBy(known[0])
	case m.Analyzer == known[0]:
		c.dropNext()
	case m.Next == nil || m.Next.Analyzer != known[0] || m.Next.Root != "" && c.facts.NextRoot() == nil:
		c.dropNext()
		m.Next = &queue.Upgrade{Analyzer: known[0], Begun: c.facts.Now}
		c.touchMain()
		c.note(queue.Note{What: "upgrade-begun", Commit: m.Tip, Reason: queue.Reason{Names: []string{m.Analyzer, known[0]}}})
	}
	if c.s.Push == nil {
		c.dropNameless()
	}
}

// dropNameless forgets links that were made by a server without knowledge of versions:
// the gate would keep them off main for ever.
func (c *mainline) dropNameless() {
	if c.s.Main.Analyzer == "" {
		return
	}
	for _, id := range derived.Sorted(c.s.Links) {
		if l := c.s.Links[id]; l.Change != "" && l.Before == "" {
			c.upkeep.dropLink(l)
			c.settling.onTip = tipLinks{}
			c.facts.Links.Rewalk()
		}
	}
}

// judgeBy has main judged by another version, under which no key is proven: this server
// does not know the version in force.
func (c *mainline) judgeBy(version string) {
	m := &c.s.Main
	c.note(queue.Note{What: "analyzer", Commit: m.Tip, Reason: queue.Reason{Names: []string{m.Analyzer, version}}})
	m.Surveyed, m.Root, m.Retry, m.Backoff = "", "", 0, 0
	c.takeOver(version)
}

// takeOver puts a version in force. Merges and analyses of the former one are
// forgotten: no chain has keys of both.
func (c *mainline) takeOver(version string) {
	m := &c.s.Main
	if m.Analyzer != "" {
		m.Former, m.FormerTo = m.Analyzer, c.facts.Now.Add(formerFor)
	}
	m.Analyzer = version
	c.judging.endControls()
	c.dropNext()
	for _, id := range derived.Sorted(c.s.Links) {
		c.upkeep.dropLink(c.s.Links[id])
	}
	for _, key := range derived.Sorted(c.s.Actions) {
		switch c.s.Actions[key].Task.(type) {
		case queue.Resolve, queue.Survey:
			c.upkeep.done(key)
		}
	}
	c.s.Train = nil
	c.touch(queue.KindMeta, queue.MetaTrain)
	c.upkeep.tidyAll = true
	c.facts.Links.Left()
	c.newEpoch()
	c.restale(func(*queue.Change) bool { return true })
}

func (c *mainline) dropNext() {
	m := &c.s.Main
	if m.Next == nil {
		return
	}
	if root := c.facts.NextRoot(); root != nil {
		c.upkeep.dropLink(root)
	}
	m.Next = nil
	c.touchMain()
}

// former returns the version with passes that may prove keys of the version in
// force, or "".
func (c *mainline) former() string {
	if m := &c.s.Main; c.facts.Now < m.FormerTo && m.Former != m.Analyzer {
		return m.Former
	}
	return ""
}

// versionAt returns the version that a commit is judged by, as far as the state
// has the commit.
func (c *mainline) versionAt(commit queue.CommitID) (version string, known bool) {
	if commit == c.s.Main.Tip {
		return c.s.Main.Analyzer, true
	}
	if l := c.facts.Links.LinkTo(commit); l != nil {
		return l.Analyzer, true
	}
	return "", false
}

// fits reports whether a link was compared with its parent under the version that the
// parent is judged by.
func (c *mainline) fits(l *queue.Link) bool {
	version, known := c.versionAt(l.Parent)
	if !known {
		version = c.s.Main.Analyzer
	}
	return l.Before == version
}

// surveyNext asks which keys of main are unproven under the newer version, once main is
// proven under the one in force.
func (c *mainline) surveyNext() {
	m := &c.s.Main
	n := m.Next
	switch {
	case n == nil || m.Config == nil || !c.facts.ProvenMain():
	case n.Surveyed == m.Tip && n.Unknown == "":
	case c.facts.Now < n.Due && !c.provenNext():
		c.wakeAt(n.Due)
	case c.facts.Asked(c.facts.NextSurvey()) == "":
		c.upkeep.ask(c.facts.NextSurvey())
		if n.Near || n.Chased >= upgradeChase {
			n.Waits, n.Chased = n.Waits+1, 0
			c.hold()
		}
	}
}

// hold has landings wait for the keys that are left to be proven under the newer
// version: so far main has moved each time that all of them were proven.
func (c *mainline) hold() {
	n := c.s.Main.Next
	n.Hold = c.facts.Now.Add(upgradePause << min(max(n.Waits-1, 0), 6))
	c.touchMain()
}

// provenNext reports whether all keys that were seen unproven under the newer version
// have passed, wherever main is by now. If a root link is named and does not exist,
// that is no proof: a server without knowledge of versions has taken it away.
func (c *mainline) provenNext() bool {
	n, root := c.s.Main.Next, c.facts.NextRoot()
	return n.Unknown == "" && n.Surveyed != "" && (n.Root == "" || root != nil && c.facts.Links.State(root).Status == derived.Verified)
}

// surveyedNext takes in which keys of main are unproven under a newer version.
func (c *mainline) surveyedNext(t queue.Survey, b queue.Surveyed) {
	c.prove(b.Passed)
	m := &c.s.Main
	n := m.Next
	if n == nil || n.Analyzer != t.Analyzer {
		return
	}
	c.touchMain()
	if b.Analyzer != t.Analyzer {
		c.dropNext() // main's settings have changed; the next reading of main says which versions there are
		return
	}
	n.Near = b.Unknown == "" && len(b.Unproven) == 0
	if n.Surveyed == "" || c.provenNext() {
		n.Chased++
	}
	if b.Commit != m.Tip {
		return
	}
	if root := c.facts.NextRoot(); root != nil {
		c.upkeep.dropLink(root)
	}
	n.Surveyed, n.Root, n.Total, n.Due = b.Commit, "", b.Total, 0
	c.facts.Links.Untidied("")
	if was := n.Unknown; b.Unknown != "" {
		if n.Unknown = b.Unknown; n.Unknown != was {
			c.note(queue.Note{What: "upgrade-unknown", Commit: b.Commit, Reason: queue.Reason{Names: []string{m.Analyzer, n.Analyzer}, Detail: n.Unknown}})
		}
		n.Backoff++
		n.Due = c.facts.Now.Add(upgradeCheck << min(n.Backoff-1, 5))
		return
	}
	if n.Unknown != "" || n.Near {
		n.Unknown, n.Retry, n.Backoff = "", 0, 0
	}
	if n.Near {
		return
	}
	n.Due = c.facts.Now.Add(upgradeAgain)
	c.judging.putSteps(b.Steps)
	root := &queue.Link{ID: queue.LinkOf(b.Commit, "") + queue.LinkID("@"+digest.Of("version1", t.Analyzer)[:12]), Parent: b.Commit,
		Outcome: queue.Merged, Commit: b.Commit, Tree: b.Tree, Steps: b.Steps.ID, Keys: b.Unproven, At: c.facts.Now, Analyzer: b.Analyzer, Before: b.Analyzer, Since: m.Line}
	c.s.Links[root.ID] = root
	c.facts.Links.IndexLink(root)
	c.touch(queue.KindLink, string(root.ID))
	n.Root = root.ID
	if c.facts.Now < n.Hold {
		c.hold()
	}
	if c.facts.Links.State(root).Status != derived.Failed { // else the red keys wait as long as before, wherever main is
		n.Retry, n.Backoff = 0, 0
	}
}

// prove writes keys that passes under another version have proven. The archive keeps
// all of them, the state's ledger only those that a link or build has.
func (c *mainline) prove(proven []queue.Entry) {
	for _, e := range proven {
		if e.Passed == 0 || len(e.Keys) != 1 || c.judging.void(&e) || c.judging.revokedSince(&e) || c.facts.Ledger.Passed(e.Keys[0]) {
			continue
		}
		e.Failures = nil
		c.turn.Archive = append(c.turn.Archive, e)
		if c.facts.Ledger.Keys[e.ID] != nil {
			c.judging.readArchived(e)
		}
	}
}

// upgrade puts the newer version in force if all keys of main have passed under it. It
// does nothing while a push is under way, since where main is is not known then.
func (c *mainline) upgrade() {
	m := &c.s.Main
	n := m.Next
	if n == nil || c.s.Push != nil || m.Tip == "" || n.Surveyed != m.Tip || !c.provenNext() {
		return
	}
	c.proveMain()
	if !c.facts.ProvenMain() {
		return
	}
	c.note(queue.Note{What: "upgraded", Commit: m.Tip, Reason: queue.Reason{Names: []string{m.Analyzer, n.Analyzer}}})
	c.takeOver(n.Analyzer)
	m.Retry, m.Backoff = 0, 0
}

// rekey has live builds on a link that was resolved anew verify its keys: the
// same steps on the same targets of the same commit, under another version.
func (c *mainline) rekey(l *queue.Link) {
	if c.s.Main.Former == "" || l.Outcome != queue.Merged {
		return
	}
	type what struct {
		step   queue.Digest
		target string
	}
	var now map[what]queue.Key
	for _, b := range slices.Clone(c.facts.Builds.Building) {
		if b.Link != l.ID || b.Commit != l.Commit || b.Cancel {
			continue
		}
		if now == nil {
			now = map[what]queue.Key{}
			for _, k := range l.OwnKeys() {
				now[what{k.Step, k.Target}] = k
			}
		}
		jobs, moved := slices.Clone(b.Jobs), false
		for i, j := range jobs {
			jobs[i].Keys = slices.Clone(j.Keys)
			for at, k := range j.Keys {
				to, has := now[what{k.Step, k.Target}]
				if f := c.facts.Ledger.Keys[to.ID()]; has && to != k && !j.Done && (f == nil || f.Build == nil) {
					jobs[i].Keys[at], moved = to, true
				}
			}
		}
		if !moved {
			continue
		}
		c.facts.Builds.UnindexBuild(b.Build)
		b.Build.Jobs = jobs
		c.facts.Builds.TakeKeys(b)
		c.touch(queue.KindBuild, string(b.ID))
	}
}

// upgradeView says how far the newer version is proven, or nil.
func (c *mainline) upgradeView() *queue.UpgradeView {
	n := c.s.Main.Next
	if n == nil {
		return nil
	}
	v := &queue.UpgradeView{From: c.s.Main.Analyzer, To: n.Analyzer, Total: n.Total, Proven: n.Total, Unknown: n.Unknown}
	if c.facts.Changing() {
		v.Hold = n.Hold
	}
	if root := c.facts.NextRoot(); root != nil {
		for i, f := range c.facts.Links.Info(root).Facts {
			if !f.Passed() {
				v.Proven--
			}
			if f.Decisive {
				v.Red = append(v.Red, root.Keys[i].Target)
			}
		}
		for _, e := range c.facts.Links.State(root).Broken {
			for _, k := range e.Keys {
				v.Red = append(v.Red, k.Target)
			}
		}
		slices.Sort(v.Red)
		v.Red = slices.Compact(v.Red)
	}
	return v
}
