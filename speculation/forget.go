package speculation

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// Passes that a maintainer takes back (/queue forget). What is forgotten is a rule
// with a time, kept in the state (Main.Forgotten): passes of the keys it covers, up
// to that time, are void wherever they come from: the state, the archive, an answer
// on its way, a build that was asked for before. So changes that rest on them have
// them built again, and main is looked at anew: what it rests on and has not passed
// since is unproven. A landing that is written goes on: its proof was good when it
// was written.

// takeBack follows /queue forget.
func (c *Core) takeBack(r *queue.Request) {
	f, ok := queue.ParseForgotten(r.Command.Text)
	if !ok {
		c.refuse(r, queue.Reason{Code: queue.ReasonUnknown, Names: []string{r.Command.Text, "/queue forget TARGET"}})
		return
	}
	f.At, f.By = c.now, r.User
	list, ok := queue.Remember(c.s.Main.Forgotten, f)
	if !ok {
		c.refuse(r, queue.Reason{Code: queue.ReasonForgotten, Names: []string{f.String()}})
		return
	}
	c.now++ // what is asked for from here on is asked for after it
	c.s.Main.Forgotten = list
	c.touchMain()
	for _, id := range sorted(c.s.Ledger) {
		if e := c.s.Ledger[id]; e.Passed != 0 && c.void(e) {
			c.revoke(e)
		}
	}
	for _, b := range slices.Clone(c.building) {
		if !b.Cancel && slices.ContainsFunc(b.Keys(), func(k queue.Key) bool { return c.forgotten(k, b.Build) }) {
			c.unindexBuild(b.Build)
			c.takeKeys(b)
			c.touch(queue.KindBuild, string(b.ID))
			if len(b.facts) == 0 {
				b.Cancel = true // nothing that it shows is heard
				c.ask(queue.Stop{Build: b.ID})
			}
		}
	}
	c.surveyAnew()
	c.note(queue.Note{Number: r.Number, What: "forgot", Commit: c.s.Main.Tip, Reason: queue.Reason{Names: []string{r.User, f.String()}}})
	c.accept(r)
}

// surveyAnew has main's keys compared with what has passed once more, under the
// version in force and under the one that is to be: what was known of them may not
// hold. Readings that are under way are given up.
func (c *Core) surveyAnew() {
	m := &c.s.Main
	for _, key := range sorted(c.s.Actions) {
		if _, is := c.s.Actions[key].Task.(queue.Survey); is {
			c.done(key)
		}
	}
	if n := m.Next; n != nil {
		if root := c.nextRoot(); root != nil {
			c.dropLink(root)
		}
		n.Surveyed, n.Root, n.Due = "", "", 0
	}
	m.Surveyed = ""
	c.touchMain()
	c.survey()
}

// revoke takes a pass out of the ledger; what has failed stays.
func (c *Core) revoke(e *queue.Entry) {
	if len(e.Failures) == 0 {
		c.dropEntry(e.ID)
		return
	}
	e.Passed, e.By, e.Change, e.Commit, e.Machine, e.Host, e.Tools = 0, "", "", "", "", "", ""
	c.touch(queue.KindEntry, string(e.ID))
	c.learned(e.ID, e)
}

// void reports whether a pass has been forgotten.
func (c *Core) void(e *queue.Entry) bool {
	by := c.s.Main.Forgotten
	return len(by) > 0 && queue.Void(by, e, c.stepName(e))
}

// forgotten reports whether what a build shows of a key does not count: passes of
// it were forgotten after the build was asked for.
func (c *Core) forgotten(k queue.Key, b *queue.Build) bool {
	by := c.s.Main.Forgotten
	return len(by) > 0 && queue.Covered(by, k, stepIn(b, k.Step).Name, b.At)
}

// stepName returns the name of the step that an entry's key is of.
func (c *Core) stepName(e *queue.Entry) string {
	if e.Step != "" || len(e.Keys) == 0 {
		return e.Step
	}
	for _, id := range sorted(c.s.Steps) {
		if st, ok := c.s.Steps[id].Step(e.Keys[0].Step); ok {
			return st.Name
		}
	}
	return ""
}

// stepIn returns the step of a build that has a digest.
func stepIn(b *queue.Build, digest queue.Digest) config.Step {
	for _, j := range b.Jobs {
		if j.Step.Digest() == digest {
			return j.Step
		}
	}
	return config.Step{}
}
