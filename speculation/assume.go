package speculation

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
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
	n, err := strconv.ParseUint(string(digest.Of(kind, name)[:16]), 16, 64)
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
	targets []int     // sorted; of a change that touches everything: only `everything`
	places  []int     // by place in the footprint: the number of the target; of a change that touches everything: nil
	ranks   []int     // by place in the footprint: the position among targets
	set     targetSet // targets, of a change with so many that looking them up there is quicker; else nil

	last []*known // by position among targets: what the latest link told of; may be of no use any more
}

// dense is how many numbers there may be for each target of a change that has
// them as a set.
const dense = 16

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
	seen   map[queue.ChangeID]*sighting
	commit map[queue.CommitID][]*queue.Link // that make a commit, by id: one head may be asked for by several changes
	latest map[queue.ChangeID]*queue.Link   // taken in of each change and not forgotten
	losses int                              // how often somebody has gone, or come back, whom links rest on
	stale  bool                             // a footprint has changed: all is made again
}

func newAssumptions() assumptions {
	a := assumptions{losses: 1, numbers: map[string]int{}, by: map[queue.ChangeID]*affects{}, known: map[mark]*known{},
		seen: map[queue.ChangeID]*sighting{}, commit: map[queue.CommitID][]*queue.Link{}, latest: map[queue.ChangeID]*queue.Link{}}
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

// affectedBy returns what a change affects; nil where that is not known.
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
			got.places = append(got.places, a.number(t))
		}
		got.targets = slices.Clone(got.places)
		slices.Sort(got.targets)
		for _, t := range got.places {
			at, _ := slices.BinarySearch(got.targets, t)
			got.ranks = append(got.ranks, at)
		}
		if n := len(got.targets); n > 0 && got.targets[n-1] < dense*n {
			got.set = newTargetSet(got.targets)
		}
	}
	got.last = make([]*known, len(got.targets))
	a.by[id] = got
	return got
}

// newFootprint forgets what was derived from a change's footprint before. Links
// of a change without one have told nothing yet.
// It reports whether the change affects other targets than before.
func (c *Core) newFootprint(id queue.ChangeID, old, f *queue.Footprint) bool {
	if old == nil {
		c.lose(id)
	}
	switch {
	case old == nil && len(c.linksOf[id]) == 0:
		return false
	case old != nil && old.All == f.All && slices.Equal(old.Affected, f.Affected):
		return false
	}
	delete(c.assumed.by, id)
	c.assumed.stale = true
	return true
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
		if x := c.affectedBy(id); x != nil {
			c.assumed.toggle(x)
			c.shift(x)
		}
	}
	c.assumed.line = append(c.assumed.line, ids...)
	c.decisions++
}

// reassume makes the memory again from the state.
func (c *Core) reassume() {
	old := c.assumed
	c.assumed = newAssumptions()
	a := &c.assumed
	if old.numbers != nil {
		a.numbers, a.places, a.names, a.front = old.numbers, old.places, old.names, make([]mark, len(old.places))
		a.latest = old.latest
		a.losses = old.losses + 1
	}
	c.nodes, c.nodesAt = map[queue.ChangeID]*node{}, nil
	c.seating++
	c.anew++
	clear(c.verified)
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
	links := make([]*queue.Link, 0, len(c.s.Links))
	for _, l := range c.s.Links {
		c.indexLink(l)
		i := c.info(l)
		for j := range i.sources {
			i.sources[j].facts = nil
		}
		i.sources = nil
		for _, f := range i.facts {
			f.behind = nil
		}
		links = append(links, l)
	}
	c.assume(links)
	for id, ch := range c.s.Changes {
		if inOrder(ch) {
			c.noteVerified(id)
		}
	}
}

// origin returns where on main the chain of a link begins and who is on it.
// A chain from nowhere that is known is in no epoch.
func (c *Core) origin(parent queue.CommitID) (queue.Line, []queue.ChangeID) {
	if parent == c.s.Main.Tip {
		return c.s.Main.Line, nil
	}
	if p := c.linkTo(parent); p != nil {
		return p.Since, append(slices.Clone(p.Chain), p.Changes()...)
	}
	for _, id := range slices.Backward(c.assumed.line) { // of a rollup the last
		if ch := c.s.Changes[id]; ch != nil && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == parent {
			return ch.Line, nil
		}
	}
	return queue.Line{Epoch: -1}, nil
}

// reroot finds the place of links that were made on what nobody knew to be
// main, or that main has come to by a way of its own: what stands on its tip
// stands on its line.
func (c *Core) reroot() (moved []*queue.Link) {
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
	for reach := []spot{{at: c.s.Main.Tip}}; len(reach) > 0; reach = reach[1:] {
		from := reach[0]
		links := lost[from.at]
		delete(lost, from.at)
		for _, l := range links {
			c.assumesNot(l.Chain)
			l.Since, l.Chain = here, from.chain
			c.info(l).rest = footing{}
			c.version++ // what had failed on such a chain may count against it
			c.assumes(l.Chain)
			moved = append(moved, l)
			if l.Outcome == queue.Merged {
				reach = append(reach, spot{l.Commit, append(slices.Clone(from.chain), l.Changes()...)})
			}
		}
	}
	c.assume(moved)
	return moved
}

// assume takes in what links tell of assumption keys.
func (c *Core) assume(links []*queue.Link) {
	a := &c.assumed
	here := c.s.Main.Line
	links = slices.DeleteFunc(slices.Clone(links), func(l *queue.Link) bool {
		return l.Change == "" || l.Outcome != queue.Merged || l.Since.Epoch != here.Epoch || l.Since.Seq > len(a.line) || c.info(l).sources != nil
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
	var members, gone []*affects // gone: of those who have been turned down
	size := 0
	for _, id := range l.Changes() {
		x := c.affectedBy(id)
		if x == nil {
			return
		}
		members, size = append(members, x), size+len(x.targets)
		if c.turnedDown(id) {
			gone = append(gone, x)
		}
	}
	chain := make([]*affects, 0, len(l.Chain))
	for _, id := range l.Chain {
		x := c.affectedBy(id)
		if x == nil {
			return // gone without a trace: nobody assumes it any more
		}
		chain = append(chain, x)
		if c.turnedDown(id) {
			gone = append(gone, x)
		}
	}
	back.grow(len(a.front))
	info := c.info(l)
	info.sources = make([]source, 0, size)
	for n, id := range l.Changes() {
		own, first := members[n], len(info.sources)
		marks := resize(c.scratch, len(own.targets))
		c.scratch = marks
		for i, t := range own.targets {
			if marks[i] = a.at(t); t == everything {
				marks[i] ^= back.every
			} else {
				marks[i] ^= back.front[t] ^ back.frontAll
			}
		}
		for _, x := range members {
			own.marked(marks, x)
		}
		for _, x := range chain {
			own.marked(marks, x)
		}
		for i, t := range own.targets {
			s := source{link: l, of: id, target: t, place: i}
			if !slices.ContainsFunc(gone, func(x *affects) bool { return x.touches(t) }) {
				s.known = a.knownAt(own, i, marks[i])
			}
			info.sources = append(info.sources, s)
		}
		f := finder{a: a, x: own}
		for i, k := range l.Keys {
			if i > 0 && k.Step != l.Keys[i-1].Step {
				f.next = 0
			}
			if c.wholeTree(l, k) {
				continue
			}
			if at, found := f.find(k.Target); found {
				s := &info.sources[first+at]
				if s.facts == nil {
					s.facts = info.facts[i : i+1 : i+1]
				} else {
					s.facts = append(s.facts, info.facts[i])
				}
			}
		}
	}
	for i := range info.sources {
		if s := &info.sources[i]; s.known != nil {
			c.add(s)
		}
	}
}

// touches reports whether a change affects a target.
func (x *affects) touches(target int) bool {
	if x.all || target == everything {
		return true
	}
	if x.set != nil {
		return x.set.has(target)
	}
	_, ok := slices.BinarySearch(x.targets, target)
	return ok
}

// marked puts the mark of another change to those of a change's targets that it
// affects.
func (x *affects) marked(marks []mark, by *affects) {
	if x.all || by.all || by.set != nil || len(by.targets) >= len(x.targets)/dense {
		for i, t := range x.targets {
			if by.touches(t) {
				marks[i] ^= by.mark
			}
		}
		return
	}
	for _, t := range by.targets {
		if i, ok := slices.BinarySearch(x.targets, t); ok {
			marks[i] ^= by.mark
		}
	}
}

// knownAt returns what is known of the assumption key of one of a change's
// targets; nothing yet where no link has told of it.
func (a *assumptions) knownAt(x *affects, at int, m mark) *known {
	k := x.last[at]
	if k == nil || k.mark != m || len(k.from) == 0 {
		if k = a.known[m]; k == nil {
			k = &known{mark: m, target: x.targets[at]}
			a.known[m] = k
		}
		x.last[at] = k
	}
	return k
}

// finder finds the targets of keys among those of a change: quickly where keys
// come in the order of the footprint.
type finder struct {
	a    *assumptions
	x    *affects
	next int // place in the footprint
}

func (f *finder) find(target string) (int, bool) {
	x, names := f.x, f.a.names
	if x.all {
		return 0, true
	}
	for f.next < len(x.places) && names[x.places[f.next]] < target {
		f.next++
	}
	if f.next < len(x.places) && names[x.places[f.next]] == target {
		return x.ranks[f.next], true
	}
	t, ok := f.a.numbers[target]
	if !ok {
		return 0, false
	}
	return slices.BinarySearch(x.targets, t)
}
