package speculation

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// The check on main. While main is red, its tip has a check that says so, with the
// culprit and what is done about it. When main is no longer red, the tip has a check
// that says so. A check is always a conclusion, so that no check is left waiting on a
// commit that main has left behind. If main was never red there is no check: it would
// cost a call for each landing, and say nothing new.

// tellMain asks for the check on main's tip if the present one is not up to date.
func (c *hunting) tellMain() {
	m := &c.s.Main
	if m.Tip == "" || m.Config == nil || m.Surveyed != m.Tip || c.s.Push != nil {
		return
	}
	red := len(c.telling.redTargets()) > 0
	if !red && (!m.Told.Red || !c.facts.ProvenMain()) {
		return
	}
	want := c.mainFacts(red)
	if m.Told.Commit == m.Tip && m.Told.Want == want {
		return
	}
	for _, a := range c.s.Actions {
		if old, ok := a.Task.(queue.Tell); ok && old.Commit == m.Tip {
			return // two such actions may arrive in any order; the next is asked for when this one has ended
		}
	}
	t := queue.Tell{Commit: m.Tip, Want: want, Red: red}
	for _, key := range derived.Sorted(c.s.Actions) {
		if _, ok := c.s.Actions[key].Task.(queue.Tell); ok {
			c.upkeep.done(key) // it is about a commit that is no longer the tip
		}
	}
	c.upkeep.ask(t)
}

// mainFacts is the digest of the facts that the check on main's tip is to show.
func (c *hunting) mainFacts(red bool) queue.Digest {
	var f factWriter
	f.yes(red)
	for _, n := range c.telling.redTargets() {
		f.text(n)
	}
	if red {
		f.reason(c.Blame())
		for _, d := range c.s.Main.Drift {
			f.text(string(d.Key))
		}
	}
	return digest.Of("main1", f.String())
}

// toldMain takes in the state of the check on a commit of main.
func (c *hunting) toldMain(t queue.Tell) {
	c.s.Main.Told = queue.Told(t)
	c.touchMain()
}
