package derived

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/digest"
)

// An assumption key names the content that a target would have on main with some
// changes assumed, before these are merged. A target's content depends only on the
// changes that affect it. So its assumption key is an exclusive or over their marks,
// independent of the order of landing and of other changes. A link that is resolved
// tells which keys stand behind the assumption keys of its targets. Assumption keys are
// derived from footprints, which may be wrong: they choose builds, the changes that may
// go before others, and the changes to look at, but never suffice for a verdict. A
// change that lands has passed the gate, and a rejected change has failed on main as it
// is, both by real links.

// Mark is the share of one change, or the place of one target, in assumption
// keys.
type Mark uint64

func markOf(kind, name string) Mark {
	n, err := strconv.ParseUint(string(digest.Of(kind, name)[:16]), 16, 64)
	if err != nil {
		panic("speculation: a digest that is not hexadecimal")
	}
	return Mark(n)
}

// Everything is the one target of a change that touches everything; each change affects
// it.
const Everything = 0

// Affects is a footprint as the plan sees it: the targets that builds of the
// change must verify, as numbers.
type Affects struct {
	Mark    Mark
	All     bool
	Targets []int     // sorted; of a change that touches everything: only `everything`
	Places  []int     // by place in the footprint: the number of the target; of a change that touches everything: nil
	ranks   []int     // by place in the footprint: the position among targets
	set     TargetSet // targets as a set, for a change with so many that looking them up there is quicker; else nil

	last []*Known // by position among targets: the assumption key that the latest link told of; may be out of use
}

// dense is how many target numbers there may be for each target of a change with
// its targets kept as a set.
const dense = 16

// Assumptions is derived memory: it can be made again from the links,
// footprints and landings of the state at any time.
type Assumptions struct {
	Numbers map[string]int // of targets
	places  []Mark         // by target
	Names   []string       // by target

	Line     []queue.ChangeID // changes landed since the last commit of others, then those being pushed
	front    []Mark           // by target: of the changes of line that affect it
	frontAll Mark             // of those that touch everything
	every    Mark             // of all of them

	By     map[queue.ChangeID]*Affects
	Known  map[Mark]*Known
	Seen   map[queue.ChangeID]*sighting
	commit map[queue.CommitID][]*queue.Link // links that make a commit, by id: several changes may ask for one head
	latest map[queue.ChangeID]*queue.Link   // the latest link of each change that was taken in and not forgotten
	losses int                              // how often a change that links rest on has gone, or come back
	stale  bool                             // a footprint has changed: all is made again
}

// NewAssumptions returns the assumptions of an empty queue.
func NewAssumptions() Assumptions {
	a := Assumptions{losses: 1, Numbers: map[string]int{}, By: map[queue.ChangeID]*Affects{}, Known: map[Mark]*Known{},
		Seen: map[queue.ChangeID]*sighting{}, commit: map[queue.CommitID][]*queue.Link{}, latest: map[queue.ChangeID]*queue.Link{}}
	a.Number("") // everything
	return a
}

// Number returns the number of a target, or a new number if it has none.
func (a *Assumptions) Number(target string) int {
	n, ok := a.Numbers[target]
	if !ok {
		n = len(a.places)
		a.Numbers[target] = n
		a.places, a.front, a.Names = append(a.places, markOf("target", target)), append(a.front, 0), append(a.Names, target)
	}
	return n
}

// AffectedBy returns the targets that a change affects, or nil if they are not known.
func (fs *Futures) AffectedBy(id queue.ChangeID) *Affects {
	a := &fs.Assumed
	if got, ok := a.By[id]; ok {
		return got
	}
	f := fs.s.Footprints[id]
	if f == nil {
		return nil
	}
	got := &Affects{Mark: markOf("change", string(id)), All: f.All}
	if f.All {
		got.Targets = []int{Everything}
	} else {
		for _, t := range f.Affected {
			got.Places = append(got.Places, a.Number(t))
		}
		got.Targets = slices.Clone(got.Places)
		slices.Sort(got.Targets)
		for _, t := range got.Places {
			at, _ := slices.BinarySearch(got.Targets, t)
			got.ranks = append(got.ranks, at)
		}
		if n := len(got.Targets); n > 0 && got.Targets[n-1] < dense*n {
			got.set = NewTargetSet(got.Targets)
		}
	}
	got.last = make([]*Known, len(got.Targets))
	a.By[id] = got
	return got
}

// NewFootprint forgets all that was derived from a change's former footprint. Links of
// a change that had no footprint have told nothing yet. It reports whether the change
// affects other targets than before.
func (fs *Futures) NewFootprint(id queue.ChangeID, old, f *queue.Footprint) bool {
	if old == nil {
		fs.Links.Lose(id)
	}
	switch {
	case old == nil && len(fs.Links.LinksOf[id]) == 0:
		return false
	case old != nil && old.All == f.All && slices.Equal(old.Affected, f.Affected):
		return false
	}
	delete(fs.Assumed.By, id)
	fs.Assumed.stale = true
	return true
}

// toggle puts a change onto the line or takes it off.
func (a *Assumptions) toggle(x *Affects) {
	if x == nil {
		return
	}
	a.every ^= x.Mark
	if x.All {
		a.frontAll ^= x.Mark
		return
	}
	for _, t := range x.Targets {
		a.front[t] ^= x.Mark
	}
}

// At returns the assumption key of a target at the front, without assumptions.
func (a *Assumptions) At(target int) Mark {
	if target == Everything {
		return a.places[Everything] ^ a.every
	}
	return a.places[target] ^ a.front[target] ^ a.frontAll
}

// Advance puts changes onto the line: they have landed, or are being pushed.
func (fs *Futures) Advance(ids ...queue.ChangeID) {
	for _, id := range ids {
		if x := fs.AffectedBy(id); x != nil {
			fs.Assumed.toggle(x)
			fs.shift(x)
		}
	}
	fs.Assumed.Line = append(fs.Assumed.Line, ids...)
	fs.decisions++
}

// Reassume makes the memory again from the state.
func (fs *Futures) Reassume() {
	old := fs.Assumed
	fs.Assumed = NewAssumptions()
	a := &fs.Assumed
	if old.Numbers != nil {
		a.Numbers, a.places, a.Names, a.front = old.Numbers, old.places, old.Names, make([]Mark, len(old.places))
		a.latest = old.latest
		a.losses = old.losses + 1
	}
	fs.Nodes, fs.nodesAt = map[queue.ChangeID]*Node{}, nil
	fs.Order.seating++
	fs.anew++
	clear(fs.Verified)
	here := fs.s.Main.Line
	line := make([]queue.ChangeID, here.Seq)
	for id, ch := range fs.s.Changes {
		if at := ch.Line; ch.Phase == queue.Landed && at.Epoch == here.Epoch && at.Seq > 0 && at.Seq <= here.Seq {
			line[at.Seq-1] = id
		}
	}
	fs.Advance(line...)
	if fs.s.Push != nil {
		fs.Advance(fs.s.Push.Changes...)
	}
	links := make([]*queue.Link, 0, len(fs.s.Links))
	for _, l := range fs.s.Links {
		fs.Links.IndexLink(l)
		i := fs.Links.Info(l)
		for j := range i.Sources {
			i.Sources[j].Facts = nil
		}
		i.Sources = nil
		for _, f := range i.Facts {
			f.behind = nil
		}
		links = append(links, l)
	}
	fs.Assume(links)
	for id, ch := range fs.s.Changes {
		if InOrder(ch) {
			fs.noteVerified(id)
		}
	}
}

// Origin returns where on main the chain of a link begins, and the changes on the
// chain. A chain from an unknown commit is in no epoch.
func (fs *Links) Origin(parent queue.CommitID) (queue.Line, []queue.ChangeID) {
	if parent == fs.s.Main.Tip {
		return fs.s.Main.Line, nil
	}
	if p := fs.LinkTo(parent); p != nil {
		return p.Since, append(slices.Clone(p.Chain), p.Changes()...)
	}
	for _, id := range slices.Backward(fs.Futures.Assumed.Line) { // of a rollup the last member
		if ch := fs.s.Changes[id]; ch != nil && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == parent {
			return ch.Line, nil
		}
	}
	return queue.Line{Epoch: -1}, nil
}

// Reroot finds the place of links that were made on a commit that was not known to be
// main's, or that main has come to by another way. A link on main's tip stands on
// main's line.
func (fs *Links) Reroot() (moved []*queue.Link) {
	here := fs.s.Main.Line
	lost := map[queue.CommitID][]*queue.Link{}
	for _, l := range fs.s.Links {
		if l.Change != "" && l.Since.Epoch != here.Epoch {
			lost[l.Parent] = append(lost[l.Parent], l)
		}
	}
	type spot struct {
		at    queue.CommitID
		chain []queue.ChangeID
	}
	for reach := []spot{{at: fs.s.Main.Tip}}; len(reach) > 0; reach = reach[1:] {
		from := reach[0]
		links := lost[from.at]
		delete(lost, from.at)
		for _, l := range links {
			fs.assumesNot(l.Chain)
			l.Since, l.Chain = here, from.chain
			fs.Info(l).rest = Footing{}
			fs.version++ // failures on such a chain may count against it
			fs.assumes(l.Chain)
			moved = append(moved, l)
			if l.Outcome == queue.Merged {
				reach = append(reach, spot{l.Commit, append(slices.Clone(from.chain), l.Changes()...)})
			}
		}
	}
	fs.Futures.Assume(moved)
	return moved
}

// Assume takes in the keys that links tell behind assumption keys.
func (fs *Futures) Assume(links []*queue.Link) {
	a := &fs.Assumed
	here := fs.s.Main.Line
	links = slices.DeleteFunc(slices.Clone(links), func(l *queue.Link) bool {
		return l.Change == "" || l.Outcome != queue.Merged || l.Since.Epoch != here.Epoch || l.Since.Seq > len(a.Line) || fs.Links.Info(l).Sources != nil
	})
	slices.SortFunc(links, func(x, y *queue.Link) int {
		return cmp.Or(cmp.Compare(y.Since.Seq, x.Since.Seq), cmp.Compare(x.ID, y.ID))
	})
	back := &fs.back // of the changes on the line behind the link's origin
	back.grow(len(a.front))
	seq := len(a.Line)
	for _, l := range links {
		for ; seq > l.Since.Seq; seq-- {
			x := fs.AffectedBy(a.Line[seq-1])
			back.grow(len(a.front))
			back.toggle(x)
		}
		fs.assumeOne(l, back)
	}
	for ; seq < len(a.Line); seq++ { // a mark that is put twice is gone
		back.toggle(fs.AffectedBy(a.Line[seq]))
	}
}

func (a *Assumptions) grow(n int) {
	for len(a.front) < n {
		a.front = append(a.front, 0)
	}
}

func (fs *Futures) assumeOne(l *queue.Link, back *Assumptions) {
	a := &fs.Assumed
	var members, gone []*Affects // gone: of changes that have been turned down
	size := 0
	for _, id := range l.Changes() {
		x := fs.AffectedBy(id)
		if x == nil {
			return
		}
		members, size = append(members, x), size+len(x.Targets)
		if fs.Links.TurnedDown(id) {
			gone = append(gone, x)
		}
	}
	chain := make([]*Affects, 0, len(l.Chain))
	for _, id := range l.Chain {
		x := fs.AffectedBy(id)
		if x == nil {
			return // nothing is known of this change any more: no future assumes it
		}
		chain = append(chain, x)
		if fs.Links.TurnedDown(id) {
			gone = append(gone, x)
		}
	}
	back.grow(len(a.front))
	info := fs.Links.Info(l)
	info.Sources = make([]Source, 0, size)
	for n, id := range l.Changes() {
		own, first := members[n], len(info.Sources)
		marks := Resize(fs.scratch, len(own.Targets))
		fs.scratch = marks
		for i, t := range own.Targets {
			if marks[i] = a.At(t); t == Everything {
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
		for i, t := range own.Targets {
			s := Source{Link: l, of: id, Target: t, place: i}
			if !slices.ContainsFunc(gone, func(x *Affects) bool { return x.Touches(t) }) {
				s.Known = a.knownAt(own, i, marks[i])
			}
			info.Sources = append(info.Sources, s)
		}
		f := finder{a: a, x: own}
		for i, k := range l.Keys {
			if i > 0 && k.Step != l.Keys[i-1].Step {
				f.next = 0
			}
			if fs.Links.WholeTree(l, k) {
				continue
			}
			if at, found := f.find(k.Target); found {
				s := &info.Sources[first+at]
				if s.Facts == nil {
					s.Facts = info.Facts[i : i+1 : i+1]
				} else {
					s.Facts = append(s.Facts, info.Facts[i])
				}
			}
		}
	}
	for i := range info.Sources {
		if s := &info.Sources[i]; s.Known != nil {
			fs.add(s)
		}
	}
}

// Touches reports whether a change affects a target.
func (x *Affects) Touches(target int) bool {
	if x.All || target == Everything {
		return true
	}
	if x.set != nil {
		return x.set.Has(target)
	}
	_, ok := slices.BinarySearch(x.Targets, target)
	return ok
}

// marked puts the mark of another change to those of a change's targets that it
// affects.
func (x *Affects) marked(marks []Mark, by *Affects) {
	if x.All || by.All || by.set != nil || len(by.Targets) >= len(x.Targets)/dense {
		for i, t := range x.Targets {
			if by.Touches(t) {
				marks[i] ^= by.Mark
			}
		}
		return
	}
	for _, t := range by.Targets {
		if i, ok := slices.BinarySearch(x.Targets, t); ok {
			marks[i] ^= by.Mark
		}
	}
}

// knownAt returns the Known of the assumption key of one of a change's targets. It is
// empty if no link has told of it.
func (a *Assumptions) knownAt(x *Affects, at int, m Mark) *Known {
	k := x.last[at]
	if k == nil || k.mark != m || len(k.From) == 0 {
		if k = a.Known[m]; k == nil {
			k = &Known{mark: m, Target: x.Targets[at]}
			a.Known[m] = k
		}
		x.last[at] = k
	}
	return k
}

// finder finds the targets of keys among those of a change, quickly if the keys come in
// the order of the footprint.
type finder struct {
	a    *Assumptions
	x    *Affects
	next int // place in the footprint
}

func (f *finder) find(target string) (int, bool) {
	x, names := f.x, f.a.Names
	if x.All {
		return 0, true
	}
	for f.next < len(x.Places) && names[x.Places[f.next]] < target {
		f.next++
	}
	if f.next < len(x.Places) && names[x.Places[f.next]] == target {
		return x.ranks[f.next], true
	}
	t, ok := f.a.Numbers[target]
	if !ok {
		return 0, false
	}
	return slices.BinarySearch(x.Targets, t)
}
