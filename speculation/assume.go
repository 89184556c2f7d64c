package speculation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
)

// Assumption keys: what a target would be on main with some changes assumed,
// before anybody has merged them. A target's content depends on the changes
// that affect it and on nothing else, so its assumption key is an exclusive or
// over their marks: whatever the order of landing, and whatever else has landed
// (planner.md 6). A link that is resolved tells which keys stand behind the
// assumption keys of its targets. They are derived from footprints, which may
// be wrong: they choose what is built, who may go before whom and what is looked
// at, and never suffice for a verdict. What lands has passed the gate, and who is
// rejected has failed on main as it is, both by real links.

// mark is the share of one change, or the place of one target, in assumption
// keys.
type mark uint64

func markOf(kind, name string) mark {
	n, err := strconv.ParseUint(string(queue.DigestOf(kind, name)[:16]), 16, 64)
	if err != nil {
		panic("speculation: a digest that is not hexadecimal")
	}
	return mark(n)
}

// everything is the target of a change that touches everything: each change
// affects it.
const everything = 0

// affects is a footprint as the plan sees it: the targets that builds of the
// change must verify, as numbers.
type affects struct {
	mark    mark
	all     bool
	targets []int // sorted; of a change that touches everything: only `everything`
}

// known is what is known of an assumption key: the keys behind it, as the links
// that have it say, the latest first. Where footprints are right they agree.
type known struct {
	mark   mark
	from   []source
	passed bool           // by one of them, every key has passed
	open   bool           // looked at since an entry of one of its keys has changed: some key is not decided
	asked  bool           // busy and idle are up to date
	busy   []*queue.Build // live builds that verify some of its open keys
	idle   bool           // some open key is verified by none
}

type source struct {
	link *queue.Link
	keys []int // of the link's
}

// assumptions is derived memory: it can be made again from the links,
// footprints and landings of the state at any time.
type assumptions struct {
	numbers map[string]int // of targets
	places  []mark         // by target
	names   []string       // by target

	line     []queue.ChangeID // landed since the last commit of others, then those being pushed
	front    []mark           // by target: of the changes of line that affect it
	frontAll mark             // of those that touch everything
	every    mark             // of all of them

	by     map[queue.ChangeID]*affects
	known  map[mark]*known
	of     map[queue.LinkID][]*known        // by target of the link's change
	watch  map[queue.Digest][]*known        // by key, as far as it is behind one that is open
	hot    map[queue.ChangeID]bool          // changes of which something may have been proven since noteVerified
	paths  map[queue.ChangeID][]*queue.Link // those of which something is in known
	commit map[queue.CommitID]*queue.Link
	stale  bool // a footprint has changed: all is made again
}

func newAssumptions() assumptions {
	a := assumptions{numbers: map[string]int{}, by: map[queue.ChangeID]*affects{}, known: map[mark]*known{},
		of: map[queue.LinkID][]*known{}, watch: map[queue.Digest][]*known{}, hot: map[queue.ChangeID]bool{}, paths: map[queue.ChangeID][]*queue.Link{}, commit: map[queue.CommitID]*queue.Link{}}
	a.number("") // everything
	return a
}

func (a *assumptions) number(target string) int {
	n, ok := a.numbers[target]
	if !ok {
		n = len(a.places)
		a.numbers[target] = n
		a.places, a.front, a.names = append(a.places, markOf("target", target)), append(a.front, 0), append(a.names, target)
	}
	return n
}

// footprint takes in what a change affects.
func (c *Core) affectedBy(id queue.ChangeID) *affects {
	a := &c.assumed
	if got, ok := a.by[id]; ok {
		return got
	}
	f := c.s.Footprints[id]
	if f == nil {
		return nil
	}
	got := &affects{mark: markOf("change", string(id)), all: f.All}
	if f.All {
		got.targets = []int{everything}
	} else {
		for _, t := range f.Affected {
			got.targets = append(got.targets, a.number(t))
		}
		slices.Sort(got.targets)
	}
	a.by[id] = got
	return got
}

// newFootprint forgets what was derived from a change's footprint before.
func (c *Core) newFootprint(id queue.ChangeID, old, f *queue.Footprint) {
	if old == nil || old.All == f.All && slices.Equal(old.Affected, f.Affected) {
		return
	}
	delete(c.assumed.by, id)
	c.assumed.stale = true
}

// toggle puts a change onto the line or takes it off.
func (a *assumptions) toggle(x *affects) {
	if x == nil {
		return
	}
	a.every ^= x.mark
	if x.all {
		a.frontAll ^= x.mark
		return
	}
	for _, t := range x.targets {
		a.front[t] ^= x.mark
	}
}

// at returns the assumption key of a target at the front, without assumptions.
func (a *assumptions) at(target int) mark {
	if target == everything {
		return a.places[everything] ^ a.every
	}
	return a.places[target] ^ a.front[target] ^ a.frontAll
}

// advance puts changes onto the line: landed, or on their way.
func (c *Core) advance(ids ...queue.ChangeID) {
	for _, id := range ids {
		c.assumed.toggle(c.affectedBy(id))
	}
	c.assumed.line = append(c.assumed.line, ids...)
}

// reassume makes the memory again from the state.
func (c *Core) reassume() {
	old := c.assumed
	c.assumed = newAssumptions()
	a := &c.assumed
	if old.numbers != nil {
		a.numbers, a.places, a.names, a.front = old.numbers, old.places, old.names, make([]mark, len(old.places))
	}
	here := c.s.Main.Line
	line := make([]queue.ChangeID, here.Seq)
	for id, ch := range c.s.Changes {
		if at := ch.Line; ch.Phase == queue.Landed && at.Epoch == here.Epoch && at.Seq > 0 && at.Seq <= here.Seq {
			line[at.Seq-1] = id
		}
	}
	c.advance(line...)
	if c.s.Push != nil {
		c.advance(c.s.Push.Changes...)
	}
	for _, l := range c.s.Links {
		c.indexCommit(l)
	}
	links := make([]*queue.Link, 0, len(c.s.Links))
	for _, l := range c.s.Links {
		links = append(links, l)
	}
	c.assume(links)
	clear(c.nodes)
	for id := range c.s.Changes {
		a.hot[id] = true
	}
}

func (c *Core) indexCommit(l *queue.Link) {
	if l.Outcome == queue.Merged && l.Change != "" {
		c.assumed.commit[l.Commit] = l
	}
}

// origin returns where on main the chain of a link begins and who is on it.
// A chain from nowhere that is known is in no epoch.
func (c *Core) origin(parent queue.CommitID) (queue.Line, []queue.ChangeID) {
	if parent == c.s.Main.Tip {
		return c.s.Main.Line, nil
	}
	if p := c.assumed.commit[parent]; p != nil {
		return p.Since, append(slices.Clone(p.Chain), p.Change)
	}
	for _, id := range c.assumed.line {
		if ch := c.s.Changes[id]; ch != nil && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == parent {
			return ch.Line, nil
		}
	}
	return queue.Line{Epoch: -1}, nil
}

// reroot finds the place of links that were made on what nobody knew to be
// main, or that main has come to by a way of its own: what stands on its tip
// stands on its line.
func (c *Core) reroot() {
	here := c.s.Main.Line
	lost := map[queue.CommitID][]*queue.Link{}
	for _, l := range c.s.Links {
		if l.Change != "" && l.Since.Epoch != here.Epoch {
			lost[l.Parent] = append(lost[l.Parent], l)
		}
	}
	type spot struct {
		at    queue.CommitID
		chain []queue.ChangeID
	}
	var found []*queue.Link
	for reach := []spot{{at: c.s.Main.Tip}}; len(reach) > 0; reach = reach[1:] {
		from := reach[0]
		links := lost[from.at]
		delete(lost, from.at)
		for _, l := range links {
			l.Since, l.Chain = here, from.chain
			c.touch(queue.KindLink, string(l.ID))
			found = append(found, l)
			if l.Outcome == queue.Merged {
				reach = append(reach, spot{l.Commit, append(slices.Clone(from.chain), l.Change)})
			}
		}
	}
	c.assume(found)
}

// assume takes in what links tell of assumption keys.
func (c *Core) assume(links []*queue.Link) {
	a := &c.assumed
	here := c.s.Main.Line
	links = slices.DeleteFunc(slices.Clone(links), func(l *queue.Link) bool {
		return l.Change == "" || l.Outcome != queue.Merged || l.Since.Epoch != here.Epoch || l.Since.Seq > len(a.line) || a.of[l.ID] != nil
	})
	slices.SortFunc(links, func(x, y *queue.Link) int {
		return cmp.Or(cmp.Compare(y.Since.Seq, x.Since.Seq), cmp.Compare(x.ID, y.ID))
	})
	back := assumptions{front: make([]mark, len(a.front))} // of what is on the line behind the link's origin
	seq := len(a.line)
	for _, l := range links {
		for ; seq > l.Since.Seq; seq-- {
			if x := c.affectedBy(a.line[seq-1]); x != nil {
				back.grow(len(a.front))
				back.toggle(x)
			}
		}
		c.assumeOne(l, &back)
	}
}

func (a *assumptions) grow(n int) {
	for len(a.front) < n {
		a.front = append(a.front, 0)
	}
}

func (c *Core) assumeOne(l *queue.Link, back *assumptions) {
	a := &c.assumed
	own := c.affectedBy(l.Change)
	if own == nil {
		return
	}
	chain := make([]*affects, 0, len(l.Chain))
	for _, id := range l.Chain {
		x := c.affectedBy(id)
		if x == nil {
			return // gone without a trace: nobody assumes it any more
		}
		chain = append(chain, x)
	}
	keys := map[int][]int{}
	for i, k := range l.Keys {
		if own.all {
			if !c.wholeTree(l, k) {
				keys[everything] = append(keys[everything], i)
			}
		} else if !c.wholeTree(l, k) {
			t := a.number(k.Target)
			keys[t] = append(keys[t], i)
		}
	}
	back.grow(len(a.front))
	of := make([]*known, 0, len(own.targets))
	for _, t := range own.targets {
		m := a.at(t) ^ own.mark
		if t == everything {
			m ^= back.every
		} else {
			m ^= back.front[t] ^ back.frontAll
		}
		for _, x := range chain {
			if x.touches(t) {
				m ^= x.mark
			}
		}
		k := a.known[m]
		if k == nil {
			k = &known{mark: m}
			a.known[m] = k
		}
		k.add(source{link: l, keys: keys[t]})
		of = append(of, k)
	}
	a.of[l.ID] = of
	a.hot[l.Change] = true
	a.paths[l.Change] = append(a.paths[l.Change], l)
}

// touches reports whether a change affects a target.
func (x *affects) touches(target int) bool {
	if x.all || target == everything {
		return true
	}
	_, ok := slices.BinarySearch(x.targets, target)
	return ok
}

// add keeps the sources in an order that does not depend on when they came.
func (k *known) add(s source) {
	at, _ := slices.BinarySearchFunc(k.from, s, func(a, b source) int {
		return cmp.Or(cmp.Compare(b.link.At, a.link.At), cmp.Compare(a.link.ID, b.link.ID))
	})
	k.from = slices.Insert(k.from, at, s)
	k.open, k.asked = false, false
}

// unassume forgets what a link told.
func (c *Core) unassume(l *queue.Link) {
	a := &c.assumed
	for _, k := range a.of[l.ID] {
		if k.from = slices.DeleteFunc(k.from, func(s source) bool { return s.link.ID == l.ID }); len(k.from) == 0 {
			delete(a.known, k.mark)
		}
		k.passed, k.open, k.asked = false, false, false
		for _, s := range k.from {
			a.hot[s.link.Change] = true
			delete(c.verified, s.link.Change)
		}
	}
	a.hot[l.Change] = true
	delete(c.verified, l.Change)
	for _, id := range c.ids(l.ID) {
		a.changed(id)
	}
	delete(a.of, l.ID)
	if rest := slices.DeleteFunc(a.paths[l.Change], func(o *queue.Link) bool { return o == l }); len(rest) > 0 {
		a.paths[l.Change] = rest
	} else {
		delete(a.paths, l.Change)
	}
}

// look says what is known of an assumption key: unknown with no source where
// nothing is.
func (c *Core) look(m mark) (status, *known) {
	k := c.assumed.known[m]
	if k == nil {
		return unknown, nil
	}
	return c.lookAt(k), k
}

func (c *Core) lookAt(k *known) status {
	switch {
	case k.passed:
		return verified
	case k.open:
		return unknown
	}
	st := unknown
	for i, src := range k.from {
		switch got := c.judgeSource(src); {
		case got == verified:
			k.passed = true
			return verified
		case i == 0:
			st = got
		}
	}
	if st == unknown {
		k.open = true
		for _, src := range k.from {
			ids := c.ids(src.link.ID)
			for _, i := range src.keys {
				if w := c.assumed.watch[ids[i]]; !slices.Contains(w, k) {
					c.assumed.watch[ids[i]] = append(w, k)
				}
			}
		}
	}
	return st
}

// changed tells those that wait for a key that its entry has changed.
func (a *assumptions) changed(key queue.Digest) {
	for _, k := range a.watch[key] {
		k.open, k.asked = false, false
		for _, s := range k.from {
			a.hot[s.link.Change] = true
		}
	}
	delete(a.watch, key)
}

// taken tells those that wait for a key that a build has begun or ceased to
// verify it.
func (a *assumptions) taken(key queue.Digest) {
	for _, k := range a.watch[key] {
		k.asked = false
	}
}

// work says which live builds verify the open keys of what is not known yet,
// and whether some key is left.
func (c *Core) work(k *known) (busy []*queue.Build, idle bool) {
	if k.asked {
		return k.busy, k.idle
	}
	k.asked, k.busy, k.idle = true, nil, false
	src := k.from[0]
	ids := c.ids(src.link.ID)
	for _, i := range src.keys {
		if e := c.s.Ledger[ids[i]]; e != nil && e.Passed != 0 {
			continue
		}
		if b := c.s.Builds[c.running[ids[i]]]; b == nil {
			k.idle = true
		} else if !slices.Contains(k.busy, b) {
			k.busy = append(k.busy, b)
		}
	}
	return k.busy, k.idle
}

// judgeSource says what is known of the keys behind one source.
func (c *Core) judgeSource(src source) status {
	ids := c.ids(src.link.ID)
	st := verified
	for _, i := range src.keys {
		e := c.s.Ledger[ids[i]]
		switch {
		case e != nil && e.Passed != 0:
		case e != nil && e.Decisive(c.now, c.rules().Retries):
			c.wakeAt(e.Expires(c.now))
			return failed
		default:
			st = unknown
		}
	}
	return st
}
