package speculation

import (
	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// The check on main. While main is red, its tip has a check that says so, with the
// culprit and what is done about it; when it is not any more, the tip has one that says
// that. A check is only ever a conclusion, so that none is left waiting on a commit that
// main has left behind. If main was never red there is none: it would cost a call for
// each landing, and repeat it.

// tellMain asks for the check on main's tip where it does not say what holds.
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
			return // two that are under way may arrive in any order: when this has ended, the next is asked for
		}
	}
	t := queue.Tell{Commit: m.Tip, Want: want, Red: red}
	for _, key := range derived.Sorted(c.s.Actions) {
		if _, ok := c.s.Actions[key].Task.(queue.Tell); ok {
			c.upkeep.done(key) // of a commit that is not the tip any more
		}
	}
	c.upkeep.ask(t)
}

// mainFacts is the digest of what the check on main's tip is to say.
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

// toldMain takes in what the check of a commit of main says.
func (c *hunting) toldMain(t queue.Tell) {
	c.s.Main.Told = queue.Told(t)
	c.touchMain()
}
