package speculation

import (
	"cmp"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// What has passed on main long ago may fail by now (drift.go). So keys of main that
// nobody has seen to pass for `verify_main` are run again, on a commit of main, in
// slots that nobody else wants: the quickest first, a few minutes at a time. A key
// that fails is run again at once, until that decides.

const (
	watchMost  = 500              // keys that one look at main may bring
	watchLeast = 10 * time.Minute // between two looks
	watchPause = time.Hour        // at the most
)

// watch looks from time to time for keys of main that were proven long ago.
func (c *Core) watch() {
	m := &c.s.Main
	every := c.rules().VerifyEvery()
	l := c.s.Links[m.Watch]
	switch {
	case m.Tip == "" || m.Config == nil || c.s.Push != nil || every == 0 && l == nil:
		return
	case every == 0, l != nil && len(c.unwatched(l)) == 0, l == nil && m.Watch != "":
		c.watchLater()
		return
	case m.Watched == 0:
		c.watchLater()
	}
	switch {
	case c.now < m.Watched:
		c.wakeAt(m.Watched)
	case c.provenMain() && c.watching == 0:
		c.ask(queue.Watch{Commit: m.Tip, Analyzer: m.Analyzer, Epoch: m.Line.Epoch, Before: c.now.Add(-every), Most: watchMost})
	}
}

// watchLater ends a look at what was proven long ago; the next comes after a pause.
func (c *Core) watchLater() {
	m := &c.s.Main
	if m.Watch != "" {
		m.Watch = ""
		c.untidy[""] = true
	}
	m.Watched = c.now.Add(min(max(c.rules().VerifyEvery()/24, watchLeast), watchPause))
	c.wakeAt(m.Watched)
	c.touchMain()
}

// watched takes in which keys of main were proven long ago.
func (c *Core) watched(t queue.Watch, b queue.Controlled) {
	m := &c.s.Main
	c.watchLater()
	var keys []queue.Key
	for _, x := range b.Found {
		if e := c.s.Ledger[x.Key.ID()]; e != nil && e.Passed != 0 && e.Good() < t.Before {
			keys = append(keys, x.Key)
		}
	}
	m.Watch = c.putAside(b, "@watch", keys)
}

// unwatched returns the keys of a link that have not been seen to pass since it was
// made, the quickest first; those that have failed since before all.
func (c *Core) unwatched(l *queue.Link) []queue.Key {
	type timed struct {
		key    queue.Key
		took   time.Duration
		failed int
	}
	var list []timed
	for i, f := range c.info(l).facts {
		if !f.passed() || f.entry.Good() >= l.At {
			continue // revoked by now, or confirmed
		}
		x := timed{key: l.Keys[i]}
		if st, ok := c.step(l, x.key); ok {
			x.took = c.duration(st.Name, x.key.Target)
		}
		if n := len(f.entry.Failures); n > 0 && f.entry.Failures[n-1].At >= l.At {
			x.failed = 1
		}
		list = append(list, x)
	}
	slices.SortStableFunc(list, func(a, b timed) int {
		return cmp.Or(cmp.Compare(b.failed, a.failed), cmp.Compare(a.took, b.took))
	})
	keys := make([]queue.Key, len(list))
	for i, x := range list {
		keys[i] = x.key
	}
	return keys
}

// watch considers what of main is run again because it was proven long ago.
func (p *planning) watch() {
	l := p.s.Links[p.s.Main.Watch]
	if l == nil {
		return
	}
	keys := p.unwatched(l)
	cand := candidate{link: l, value: valueUpgrade, aim: aim{kind: queue.WorthWatch}, spare: true}
	p.consider(cand, slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return p.facts[k.ID()].build == nil }))
	if !p.provenMain() || p.thrifty() {
		return
	}
	keys = slices.DeleteFunc(keys, func(k queue.Key) bool { return p.facts[k.ID()].build != nil })
	for chunks := 0; len(keys) > 0 && chunks < p.s.Slots; chunks++ {
		at := p.piece(l, keys)
		p.consider(cand, keys[:at])
		keys = keys[at:]
	}
}
