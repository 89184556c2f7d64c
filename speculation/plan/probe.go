package plan

import (
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

const valueHunt = 50 // more than builds of changes are worth, less than those of the train

const mostProbes = 15 // at one time: with so many, 15 suspects take one round and 255 two

const huntBuilds = 64 // of one hunt

// HuntLink names the link for the keys that a hunt follows on a commit.
func HuntLink(h *queue.Hunt, commit queue.CommitID) queue.LinkID {
	return queue.LinkOf(commit, "") + queue.LinkID("@hunt:"+h.ID)
}

// hunts considers builds of main's line that tell which commit has turned it red:
// running ones go on, and free slots split the open stretch into equal parts.
func (p *probes) hunts() {
	running := 0
	for _, b := range p.facts.Builds.Building {
		if b.Worth.Kind == queue.WorthHunt && !b.Cancel {
			running++
		}
	}
	// If no slot is free, one build goes before builds on assumptions.
	room := min(max(p.s.Slots-len(p.s.Builds), 0), mostProbes-running)
	if room <= 0 && running == 0 {
		room = 1
	}
	for _, id := range derived.Sorted(p.s.Hunts) {
		h := p.s.Hunts[id]
		if h.Over != 0 || len(h.Line) == 0 {
			continue
		}
		room -= p.probes(h, room)
	}
}

// probes considers the builds of one hunt, so many new ones at the most, and
// returns how many these are.
func (p *probes) probes(h *queue.Hunt, room int) (begun int) {
	at := map[int]bool{}    // commits of the line that are to be built
	fresh := map[int]bool{} // of these, those without a running build
	for i := range h.Trails {
		t := &h.Trails[i]
		red, bad := t.Bad()
		if t.Over != 0 || t.Beyond || !bad || h.CulpritOf(t) != nil {
			continue
		}
		var open []int // spots, by place
		for _, s := range t.Open() {
			if !p.facts.Links.Unbuildable(h, h.Line[t.Spots[s].At].Commit) {
				open = append(open, s)
			}
		}
		if len(open) == 0 {
			if red.Sure {
				continue
			}
			open = []int{red.Spot} // a confirmed failure names the culprit
		}
		var taken []int // places in open
		for n, s := range open {
			if p.probing(t.Spots[s].Keys) {
				taken = append(taken, n)
				at[t.Spots[s].At] = true
				continue
			}
			to := len(h.Line)
			if s+1 < len(t.Spots) {
				to = t.Spots[s+1].At
			}
			for c := range fresh {
				if c >= t.Spots[s].At && c < to {
					taken = append(taken, n)
					break
				}
			}
		}
		if p.holdsBack(h) {
			if h.Retry > p.facts.Now {
				p.lookAt(h.Retry)
			}
			continue
		}
		for _, n := range Split(len(open), taken, room-begun) {
			c := t.Spots[open[n]].At
			at[c], fresh[c] = true, true
			begun++
		}
	}
	for _, c := range derived.Sorted(at) {
		p.verify(h, c, fresh[c])
	}
	return begun
}

// probing reports whether a live build verifies one of some keys.
func (p *probes) probing(keys []queue.Key) bool {
	return slices.ContainsFunc(keys, func(k queue.Key) bool {
		f := p.facts.Ledger.Keys[k.ID()]
		return f != nil && f.Build != nil
	})
}

// holdsBack reports whether no build of a hunt is to be begun now: one has brought no
// result, or the hunt has had as many as it may have.
func (p *probes) holdsBack(h *queue.Hunt) bool {
	return h.Retry > p.facts.Now || h.Builds >= huntBuilds
}

// verify considers the build of one commit for all trails of a hunt that it tells
// something about. A failure that names no target tells of one trail only, so others of the same
// step are built after it. Its running builds go on. The other keys are built only if a new
// build is due (fresh), so that a build without a result is not begun again at once
// beside another.
func (p *probes) verify(h *queue.Hunt, commit int, fresh bool) {
	l := p.linkAt(h, commit)
	if l == nil {
		return
	}
	var keys []queue.Key
	asked := map[queue.Digest]int{} // the trail that a step is begun for
	for i := range h.Trails {
		t := &h.Trails[i]
		red, bad := t.Bad()
		s := t.SpotAt(commit)
		if t.Over != 0 || t.Beyond || !bad || s <= t.Good || s > red.Spot || s == red.Spot && red.Sure || h.CulpritOf(t) != nil {
			continue
		}
		for _, k := range t.Spots[s].Keys {
			if p.facts.Ledger.Passed(k) || slices.Contains(keys, k) {
				continue
			}
			if !p.probing([]queue.Key{k}) {
				o, has := asked[k.Step]
				if !fresh || has && o != i && (t.Opaque || h.Trails[o].Opaque) {
					continue
				}
				asked[k.Step] = i
			}
			keys = append(keys, k)
		}
	}
	p.consider(candidate{link: l, value: valueHunt, aim: aim{kind: queue.WorthHunt}, always: true}, keys)
}

// linkAt returns the link for the keys of all trails of a hunt on a commit of its
// line; nil where there are none.
func (p *probes) linkAt(h *queue.Hunt, commit int) *queue.Link {
	id := HuntLink(h, h.Line[commit].Commit)
	if p.s.Links[id] == nil {
		p.propose(Probe{Hunt: h.ID, Commit: commit})
	}
	return p.s.Links[id]
}

// Split returns up to room places of 0 to n-1 that, with those taken already, divide
// the rest as evenly as possible: n+1 outcomes are possible, and each place tells two
// of them apart.
func Split(n int, taken []int, room int) []int {
	if room <= 0 || n == 0 {
		return nil
	}
	type gap struct{ from, size, cuts int } // places from..from+size-1 are free
	var gaps []gap
	taken = slices.Clone(taken)
	slices.Sort(taken)
	from := 0
	for _, t := range append(slices.Compact(taken), n) {
		if t > from {
			gaps = append(gaps, gap{from: from, size: t - from})
		}
		from = t + 1
	}
	for ; room > 0; room-- {
		best := -1
		for i, g := range gaps {
			if g.cuts < g.size && (best < 0 || (g.size+1)*(gaps[best].cuts+1) > (gaps[best].size+1)*(g.cuts+1)) {
				best = i
			}
		}
		if best < 0 {
			break
		}
		gaps[best].cuts++
	}
	var out []int
	for _, g := range gaps {
		for i := 1; i <= g.cuts; i++ {
			out = append(out, g.from+(g.size+1)*i/(g.cuts+1)-1)
		}
	}
	return out
}

const valueControl = 10 // more than any first build's: a verdict waits for it

// controls considers the runs that rejections wait for.
func (p *probes) controls() {
	l := p.s.Links[p.s.Main.Control]
	var keys []queue.Key
	for _, id := range derived.Sorted(p.s.Controls) {
		x := p.s.Controls[id]
		if x.Since == 0 || x.Began >= x.Since || x.Commit == "" || x.Missing || x.Key == (queue.Key{}) {
			continue
		}
		if f := p.facts.Ledger.Keys[x.Key.ID()]; f != nil && f.Build != nil {
			p.credit(f.Build, valueControl)
			continue
		}
		if x.Retry > p.facts.Now {
			p.lookAt(x.Retry)
			continue
		}
		if l != nil && slices.Contains(l.Keys, x.Key) && !slices.Contains(keys, x.Key) {
			keys = append(keys, x.Key)
		}
	}
	if len(keys) > 0 {
		p.consider(candidate{link: l, value: valueControl, aim: aim{kind: queue.WorthControl}, always: true}, keys)
	}
}

// watch considers the keys of main that are run again because they were proven long
// ago.
func (p *probes) watch() {
	l := p.s.Links[p.s.Main.Watch]
	if l == nil {
		return
	}
	keys := p.facts.Unwatched(l)
	cand := candidate{link: l, value: valueUpgrade, aim: aim{kind: queue.WorthWatch}, spare: true}
	p.consider(cand, slices.DeleteFunc(slices.Clone(keys), func(k queue.Key) bool { return p.facts.Ledger.Keys[k.ID()].Build == nil }))
	if !p.facts.ProvenMain() || p.thrifty() {
		return
	}
	keys = slices.DeleteFunc(keys, func(k queue.Key) bool { return p.facts.Ledger.Keys[k.ID()].Build != nil })
	for chunks := 0; len(keys) > 0 && chunks < p.s.Slots; chunks++ {
		at := p.piece(l, keys)
		p.consider(cand, keys[:at])
		keys = keys[at:]
	}
}
