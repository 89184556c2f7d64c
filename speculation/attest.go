package speculation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// # What has passed on a change's own head
//
// A build of the queue shows something of the tree that it ran on; so does a run of the
// forge's CI that a push of the head has started. If steps say earlier: count, the queue asks
// for such runs when a change comes, and again when a run that was still going has ended. It
// takes their passes for keys of the head's tree. Failures there do not count: a rejection
// needs a build.
//
// Why it is safe. The gate asks one thing: whether each key that a commit adds has
// passed. A key is (step digest, target, hash), and the ledger stands on one premise:
// equal keys have equal outcomes on all commits. So a pass on a head
// is as good as a pass in a build if and only if it is a pass of that very key:
//
//   - The tree is known. A run that a push started checks out the pushed commit. A run of
//     a pull request tests a merge that the forge has made, and counts only if the
//     workflow says which merge. That needs three things. The workflow's run-name is fixed
//     words and github.sha, so nobody else chooses the run's title. The commit is a merge
//     of this head. Head, merge and branch have the same workflows, so no other workflow
//     has given the run that title. (A workflow that the branch had in between could have
//     given it, if it let people choose the title. Such people may push to the
//     repository.)
//   - The keys are the ledger's own: the head is read as the commit of a build is,
//     by the steps in its own tree, the analyzer and toolset in force, and queue.KeysOf
//     (app/perform_attest.go). A head has no keys if its own configuration cannot be used, or
//     if its targets are known only for now.
//   - The run covers all keys that the step has on the tree: the step covers the tree, or
//     there is one key, the tree itself (queue.ProvenOn). Less is known of a run that the
//     queue did not ask for.
//   - The run was the run of a build. The workflow's file is in the tree, so it
//     is in each hash (conflict: barrier). Things that may differ in spite of that (filters on
//     paths, commands that compare commits, caches, secrets of an environment, conditions on
//     the branch) are looked for in the file and refused by name (workers/forgeci/workflow). A
//     difference outside the files, such as a script that asks the network for its branch, is
//     not found; hence the word of the repository, earlier: count, in every digest of the step.
//   - Nothing speaks against it: it counts for no key that has failed in a build, has
//     drifted, or was forgotten after the run began.
//
// This asks neither the plan nor a prediction, and they learn only that a key has
// passed. The gate is unchanged.
//
// An example. Main is at M, and change a was branched from B, long before. Its head H is B
// with an edit of package y, and its push had the step ci pass, which covers the tree. H's keys that
// M has not are (ci, y, h1), (ci, z, h2): y, because a edits it, and z, because others have
// changed z on main since B. Both are written, with H. The trial merge M+a adds one key,
// (ci, y, h1): all that y reads is on M as it was on B. The gate finds it passed; a lands without
// a build. (ci, z, h2) is never asked for again, and expires. Had main changed what y reads since
// B, M+a would have (ci, y, h3), of which H says nothing, and a build would verify only that.

// headWait is how long a change waits, before it comes into the order, for the passes on
// its head. Without this wait, its first build might begin in vain.
const headWait = 20 * time.Second

// mostDoubts is the number of steps for which the history says why passes on a head do not
// count.
const mostDoubts = 4

// askHeads asks for the passes on the heads of changes, once for each. It lets those
// changes in that have waited long enough for the answer.
func (c *judging) askHeads() {
	m := &c.s.Main
	if m.Config == nil || !slices.ContainsFunc(m.Config.Steps, config.Step.CountsEarlier) {
		return
	}
	var ask, ready []queue.ChangeID
	for id, ch := range c.facts.Open {
		switch {
		case ch.OwnCI != nil, ch.Revert != "", ch.Phase != queue.Analyzing && ch.Phase != queue.Pending:
			continue
		case c.facts.Asked(attestOf(ch, m)) == "":
			ask = append(ask, id)
		case ch.Phase == queue.Analyzing && !ch.Stale && c.s.Footprints[id] != nil && !c.awaitsHead(ch):
			ready = append(ready, id)
		}
	}
	slices.Sort(ask)
	for _, id := range ask {
		c.upkeep.ask(attestOf(c.s.Changes[id], m))
	}
	slices.Sort(ready)
	for _, id := range ready {
		c.settling.pend(c.s.Changes[id], c.s.Footprints[id])
	}
}

func attestOf(ch *queue.Change, m *queue.Main) queue.Attest {
	return queue.Attest{Change: ch.ID, Head: ch.Head, HeadRef: ch.HeadRef, Main: m.Tip, Analyzer: m.Analyzer}
}

// awaitsHead reports whether a change waits for the passes on its head, and asks for a
// turn at the time when the wait ends.
func (c *judging) awaitsHead(ch *queue.Change) bool {
	a := c.s.Actions[c.facts.Asked(attestOf(ch, &c.s.Main))]
	if ch.OwnCI != nil || a == nil || a.Attempt > 1 || a.Renewed > 1 {
		return false
	}
	until := a.At.Add(headWait)
	c.wakeAt(until)
	return c.facts.Now < until
}

// headChecked takes in that something has ended on a commit. If the commit is the head
// of a change on which something still ran, the head is looked at again.
func (c *judging) headChecked(b queue.HeadChecked) {
	for id, ch := range c.facts.Open {
		if ch.Head == b.Head && ch.OwnCI != nil && ch.OwnCI.Open {
			ch.OwnCI = nil
			c.touch(queue.KindChange, string(id))
		}
	}
	for _, id := range derived.SortedIf(c.facts.Open, func(_ queue.ChangeID, ch *queue.Change) bool { return ch.Head == b.Head && ch.OwnCI == nil }) {
		// A look under way may have read that before it ended. Runs end in masses, so the next one
		// waits for more of them, and one that has not begun yet is soon enough.
		a := c.s.Actions[c.facts.Asked(attestOf(c.s.Changes[id], &c.s.Main))]
		if a != nil && a.NotBefore <= c.facts.Now {
			c.upkeep.done(a.Key)
			c.upkeep.reissue(a, gather, a.Error)
		}
	}
}

// attested takes in the passes on a head.
func (c *judging) attested(b queue.Attested) {
	a := c.upkeep.done(b.Action)
	if a == nil {
		return
	}
	if t, ok := a.Task.(queue.Attest); ok && t.Change == b.Change && t.Head == b.Head {
		c.writeAttested(t, b)
	}
}

// writeAttested writes the passes on the head of a task.
func (c *judging) writeAttested(t queue.Attest, b queue.Attested) {
	ch := c.s.Changes[t.Change]
	if ch == nil || ch.Phase.Final() {
		return
	}
	own := &queue.OwnCI{At: c.facts.Now, Doubts: b.Doubts, Open: b.Open}
	for _, p := range b.Passed {
		own.Keys += c.writeHeadPasses(ch, b.Steps, p)
	}
	ch.OwnCI = own
	c.touchChange(ch)
	if own.Keys > 0 {
		c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: "head-proven", Commit: ch.Head, Reason: queue.Reason{Names: []string{strconv.Itoa(own.Keys)}}})
	}
	if len(own.Doubts) > 0 {
		var why []string
		for _, d := range own.Doubts[:min(len(own.Doubts), mostDoubts)] {
			why = append(why, d.Step, d.Why)
		}
		c.note(queue.Note{Change: ch.ID, Number: ch.Number, What: "head-doubted", Commit: ch.Head, Reason: queue.Reason{Names: why}})
	}
	if f := c.s.Footprints[ch.ID]; f != nil && ch.Phase == queue.Analyzing && !ch.Stale {
		c.settling.pend(ch, f)
	}
}

// writeHeadPasses writes the passes of one step on a head, and returns how many count.
func (c *judging) writeHeadPasses(ch *queue.Change, steps queue.StepSet, p queue.HeadPass) (n int) {
	st, known := steps.Step(p.Step)
	run := span{p.Began, min(p.Ended, c.facts.Now)}
	if !known || !st.CountsEarlier() || !queue.ProvenOn(st, p.Keys) || run.began <= 0 || run.began > run.ended || run.ended < c.facts.Now.Add(-oldestRun) {
		return 0
	}
	for _, k := range p.Keys {
		if k.Step == p.Step && !c.spokenOf(k) &&
			c.writePass(k, shown{span: run, asked: run.began, change: ch.ID, commit: cmp.Or(p.On, ch.Head), head: true, step: st}) {
			n++
		}
	}
	return n
}

// spokenOf reports whether builds of ours have a result of a key, good or bad: then
// that result holds.
func (c *judging) spokenOf(k queue.Key) bool {
	e := c.s.Ledger[k.ID()]
	return e != nil && (e.Passed != 0 || e.Lost != 0 || len(e.Failures) > 0) ||
		c.hasFailed(&derived.Fact{Entry: e, Sets: c.facts.Ledger.Sets[k.ID()]}) ||
		slices.ContainsFunc(c.s.Main.Drift, func(d queue.Drift) bool { return d.Key == k.ID() })
}
