package speculation

import (
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// A key that has passed on main long ago may fail by now (drift.go). So keys of main
// without a pass for `verify_main` are run again, on a commit of main, in free slots:
// the quickest first, a few minutes at a time. A key that fails is run again at once,
// until that decides.

const (
	watchMost  = 500              // keys that one look at main may bring
	watchLeast = 10 * time.Minute // between two looks
	watchPause = time.Hour        // at the most
)

// watch looks from time to time for keys of main that were proven long ago.
func (c *judging) watch() {
	m := &c.s.Main
	every := c.facts.Rules().VerifyEvery()
	l := c.s.Links[m.Watch]
	switch {
	case m.Tip == "" || m.Config == nil || c.s.Push != nil || every == 0 && l == nil:
		return
	case every == 0, l != nil && len(c.facts.Unwatched(l)) == 0, l == nil && m.Watch != "":
		c.watchLater()
		return
	case m.Watched == 0:
		c.watchLater()
	}
	switch {
	case c.facts.Now < m.Watched:
		c.wakeAt(m.Watched)
	case c.facts.ProvenMain() && c.mainline.watching == 0:
		c.pauseWatch() // a look without an answer is given up, and the next one comes after a pause, too
		c.upkeep.ask(queue.Watch{Commit: m.Tip, Analyzer: m.Analyzer, Epoch: m.Line.Epoch, Seq: m.Line.Seq, Before: c.facts.Now.Add(-every), Most: watchMost})
	}
}

// watchLater ends a look at keys that were proven long ago; the next look comes after a
// pause.
func (c *judging) watchLater() {
	m := &c.s.Main
	if m.Watch != "" {
		m.Watch = ""
		c.facts.Links.Untidied("")
	}
	c.pauseWatch()
}

// pauseWatch sets the time of the next look.
func (c *judging) pauseWatch() {
	m := &c.s.Main
	m.Watched = c.facts.Now.Add(min(max(c.facts.Rules().VerifyEvery()/24, watchLeast), watchPause))
	c.wakeAt(m.Watched)
	c.touchMain()
}

// watched takes in which keys of main were proven long ago.
func (c *judging) watched(t queue.Watch, b queue.Controlled) {
	m := &c.s.Main
	c.watchLater()
	var keys []queue.Key
	for _, x := range b.Found {
		if e := c.s.Ledger[x.Key.ID()]; e != nil && e.Passed != 0 && e.Good() < t.Before && !c.inQuarantine(x.Aim) {
			keys = append(keys, x.Key)
		}
	}
	m.Watch = c.putAside(b, "@watch", keys, t.Seq)
}
