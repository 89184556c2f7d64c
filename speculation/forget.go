package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Passes that a maintainer takes back (/queue forget). This command makes a rule with a
// time, kept in the state (Main.Forgotten). Passes of the keys that the rule covers, up
// to that time, are void wherever they come from: the state, the archive, an answer on
// its way, a build that was asked for before. So changes that rest on these keys have
// them built again, and main is surveyed anew: its keys that are void and have not
// passed since are unproven. A landing with a written push goes on: its proof was good
// when the push was written.

// takeBack follows /queue forget.
func (c *judging) takeBack(r *queue.Request) {
	f, ok := queue.ParseForgotten(r.Command.Text)
	if !ok {
		c.entering.refuse(r, queue.Reason{Code: queue.ReasonUnknown, Names: []string{r.Command.Text, "/queue forget TARGET"}})
		return
	}
	f.At, f.By = c.facts.Now, r.User
	list, ok := queue.Remember(c.s.Main.Forgotten, f)
	if !ok {
		c.entering.refuse(r, queue.Reason{Code: queue.ReasonForgotten, Names: []string{f.String()}})
		return
	}
	c.facts.SetNow(c.facts.Now + 1) // all that is asked for from here on comes after it
	c.s.Main.Forgotten = list
	c.touchMain()
	for _, id := range derived.Sorted(c.s.Ledger) {
		if e := c.s.Ledger[id]; e.Passed != 0 && c.void(e) {
			c.revoke(e)
		}
	}
	for _, b := range slices.Clone(c.facts.Builds.Building) {
		if !b.Cancel && slices.ContainsFunc(b.Keys(), func(k queue.Key) bool { return c.facts.Ledger.Forgotten(k, b.Build) }) {
			c.facts.Builds.UnindexBuild(b.Build)
			c.facts.Builds.TakeKeys(b)
			c.touch(queue.KindBuild, string(b.ID))
			if len(b.Facts) == 0 {
				b.Build.Cancel = true // its results no longer count
				c.upkeep.ask(queue.Stop{Build: b.ID})
			}
		}
	}
	c.hunting.lostGround(func(t *queue.Trail, k queue.Key) bool {
		return queue.Covered(c.s.Main.Forgotten, k, t.Step, t.Passed.At)
	})
	c.surveyAnew()
	c.note(queue.Note{Number: r.Number, What: "forgot", Commit: c.s.Main.Tip, Reason: queue.Reason{Names: []string{r.User, f.String()}}})
	c.entering.accept(r)
}

// surveyAnew has main's keys compared with the passes once more, under the version in
// force and under the next one: older results of that comparison may no longer hold.
// Surveys that are under way are given up.
func (c *judging) surveyAnew() {
	m := &c.s.Main
	for _, key := range derived.Sorted(c.s.Actions) {
		if _, is := c.s.Actions[key].Task.(queue.Survey); is {
			c.upkeep.done(key)
		}
	}
	if n := m.Next; n != nil {
		if root := c.facts.NextRoot(); root != nil {
			c.upkeep.dropLink(root)
		}
		n.Surveyed, n.Root, n.Due = "", "", 0
	}
	m.Surveyed = ""
	c.touchMain()
	c.mainline.survey()
}

// revoke takes a pass out of the ledger. Failures stay, except those in quarantine: they
// did not count when they happened, and the key is run again.
func (c *judging) revoke(e *queue.Entry) {
	if len(e.Failures) == 0 || e.Excused != 0 {
		c.dropEntry(e.ID)
		return
	}
	e.Passed, e.By, e.Change, e.Commit, e.Machine, e.Host, e.Tools, e.Head = 0, "", "", "", "", "", "", false
	c.touch(queue.KindEntry, string(e.ID))
	c.facts.Ledger.Learned(e.ID, e)
}

// void reports whether a pass has been forgotten.
func (c *judging) void(e *queue.Entry) bool {
	by := c.s.Main.Forgotten
	return len(by) > 0 && queue.Void(by, e, c.facts.Ledger.StepName(e))
}
