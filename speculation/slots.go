package speculation

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
)

// cancelRefuted stops builds of what has been decided, and those that can tell
// nothing any more: of each target that they still have to verify it is known
// that it will not be like this on main.
func (p *planning) cancelRefuted() {
	for _, live := range p.building {
		b := live.Build
		if live.wanted || b.Cancel {
			continue
		}
		if b.Change == "" {
			if m := p.s.Main; m.Surveyed == m.Tip {
				p.stop(b)
			}
			continue
		}
		if p.over(b) {
			p.stop(b)
			continue
		}
		// Only a decision can refute what was not refuted before, on the same merge.
		if at := (sight{p.s.Links[b.Link], p.decisions}); p.pendingIn(b) && live.checked != at {
			if live.checked = at; p.refuted(b) {
				p.stop(b)
			}
		}
	}
}

// refuted reports whether a decided change has made each open target of a build
// other than the build has it.
func (p *planning) refuted(b *queue.Build) bool {
	l := p.s.Links[b.Link]
	if l == nil || l.Since.Epoch != p.s.Main.Line.Epoch {
		return false
	}
	members := l.Changes()
	var gone []*affects
	for _, id := range append(slices.Clone(l.Chain), members...) {
		ch := p.s.Changes[id]
		if ch == nil || ch.Phase.Final() && ch.Phase != queue.Landed {
			if x := p.affectedBy(id); x != nil {
				gone = append(gone, x)
			} else {
				gone = append(gone, &affects{all: true}) // it is not known any more what it did
			}
		}
	}
	from := min(l.Since.Seq, len(p.assumed.line))
	line, since := p.assumed.line[from:], p.landedSince(from)
	wrong := func(is func(*affects) bool) bool {
		for i, x := range since {
			if x != nil && is(x) && !slices.Contains(members, line[i]) && !slices.Contains(l.Chain, line[i]) {
				return true
			}
		}
		return slices.ContainsFunc(gone, is)
	}
	if len(gone) == 0 && p.stands(b, l, from) || !wrong(func(*affects) bool { return true }) {
		return false
	}
	for _, j := range b.Jobs {
		if j.Done {
			continue
		}
		for _, k := range j.Keys {
			if p.wholeTree(l, k) {
				continue
			}
			t, known := p.assumed.numbers[k.Target]
			if !wrong(func(x *affects) bool { return x.all || known && x.touches(t) }) {
				return false
			}
		}
	}
	return true
}

// reach says of targets which on the line was the last that affects them, by
// place from 1. The line grows at its end until all is assumed anew.
type reach struct {
	upTo int
	last []int // by target
	all  int   // of those that touch everything
}

// stands reports whether nobody behind a place on the line affects some open
// target of a build.
func (p *planning) stands(b *queue.Build, l *queue.Link, from int) bool {
	r := &p.reach
	if p.reachAt != p.anew {
		*r, p.reachAt = reach{}, p.anew
	}
	for ; r.upTo < len(p.assumed.line); r.upTo++ {
		x := p.affectedBy(p.assumed.line[r.upTo])
		if x == nil {
			continue
		}
		if x.all {
			r.all = r.upTo + 1
			continue
		}
		for len(r.last) < len(p.assumed.names) {
			r.last = append(r.last, 0)
		}
		for _, t := range x.targets {
			r.last[t] = r.upTo + 1
		}
	}
	for _, j := range b.Jobs {
		if j.Done || r.all > from {
			continue
		}
		for _, k := range j.Keys {
			t, known := p.assumed.numbers[k.Target]
			if (!known || t != everything && (t >= len(r.last) || r.last[t] <= from)) && !p.wholeTree(l, k) {
				return true
			}
		}
	}
	return false
}

// landedSince returns what those on the line from a place on affect; nil where
// it is not known any more.
func (p *planning) landedSince(from int) []*affects {
	n := len(p.assumed.line) - from
	if n > len(p.since) {
		p.since = make([]*affects, n)
		for i, id := range p.assumed.line[from:] {
			p.since[i] = p.affectedBy(id)
		}
	}
	return p.since[len(p.since)-n:]
}

func (p *planning) stop(b *queue.Build) { p.propose(stop{b.ID}) }

// take starts candidates by value until the slots are full or the value is
// under the threshold. A path that is not merged yet is merged first; its slot
// is kept for it.
func (p *planning) take() {
	slices.SortStableFunc(p.found, func(a, b candidate) int {
		if a.spare != b.spare {
			if a.spare {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.change, b.change))
	})
	p.standing()
	free := p.s.Slots - len(p.s.Builds)
	ending := 0
	for _, b := range p.building {
		if b.Cancel {
			ending++
		}
	}
	waiting := 0
	if p.batching() {
		waiting, p.served = p.starters(), map[queue.ChangeID]bool{}
	}
	for i, cand := range p.found {
		if p.served[cand.change] {
			continue
		}
		if !cand.always && !cand.spare && cand.value < p.worth {
			p.wakeWorth(cand)
			continue
		}
		if cand.spare {
			free = p.lend(free)
		}
		if free <= 0 && (cand.spare || ending == 0 && p.least(cand.value) == nil) {
			return
		}
		if p.overQuota(cand) {
			continue
		}
		if waiting > 0 && free > 0 && p.starts(cand) && p.gather(cand, p.crewSize(waiting-len(p.served)-free)) {
			free--
			continue
		}
		if room := p.room(waiting - len(p.served) - free); room > 0 && free > 0 && p.starts(cand) {
			if done, ok := p.share(&cand, p.found[i+1:], room); ok && !done {
				free--
				continue
			}
		}
		merged := cand.link != nil
		if !merged && !p.merge(&cand) {
			p.answerOf(cand, answer{code: queue.ReasonWaitsResolve})
			free--
			continue
		}
		cand.keys = slices.DeleteFunc(slices.Clone(cand.keys), func(k queue.Key) bool {
			f := p.facts[k.ID()]
			return f != nil && f.build != nil // since it was found
		})
		if len(cand.keys) == 0 {
			p.answerOf(cand, answer{code: queue.ReasonWaitsShared})
			continue
		}
		if !p.mayRun(cand.link) {
			p.answerOf(cand, answer{code: queue.ReasonWaitsResolve}) // an approval, or its merge anew, is on its way
			continue
		}
		if !p.runnable(&cand) {
			p.answerOf(cand, answer{code: queue.ReasonWaitsTools})
			continue
		}
		if !p.affordable(cand) {
			continue
		}
		p.occupy(cand)
		p.occupyAlso(cand)
		switch {
		case free > 0:
			free--
			p.start(cand)
		case ending > 0:
			ending-- // a slot is about to come free for it
		default:
			if b := p.least(cand.value); b != nil {
				p.stop(b)
			}
		}
	}
	p.lend(free)
}

// runnable leaves out of a candidate what no host has the tools for. It reports whether
// anything is left.
func (p *planning) runnable(cand *candidate) bool {
	set := p.s.Steps[cand.link.Steps]
	if part := cand.link.PartOf(cand.keys[0]); part != nil {
		set = p.s.Steps[part.Steps]
	}
	lacks := map[queue.Digest]bool{}
	for _, st := range set.Steps {
		lacks[st.Digest()] = !p.equipped(st)
	}
	cand.keys = slices.DeleteFunc(cand.keys, func(k queue.Key) bool { return lacks[k.Step] })
	return len(cand.keys) > 0
}

// merge finds the link of a candidate and what is to be built there; false
// means that it has to be resolved first.
func (p *planning) merge(cand *candidate) bool {
	if cand.group != nil {
		return p.mergeJoint(cand)
	}
	if cand.chain == nil && cand.node != nil {
		cand.chain = taken(cand.node.edges, cand.takes)
	}
	l, rest := p.follow(cand.change, cand.chain)
	if l == nil && len(rest.picks) == 0 {
		return true
	}
	if l == nil {
		p.merges(rest)
		return false
	}
	cand.link = l
	st := p.state(l)
	if st.status != unknown {
		return true
	}
	n := p.node(cand.change)
	for _, k := range without(st.missing, st.tree) {
		if t, known := p.assumed.numbers[k.Target]; cand.only != nil && known {
			if at, mine := slices.BinarySearch(n.x.targets, t); mine {
				if _, now := slices.BinarySearch(cand.only, at); !now {
					continue // it can wait
				}
			}
		}
		if f := p.facts[k.ID()]; f != nil && f.build != nil {
			p.credit(f.build, cand.value)
			continue
		}
		cand.keys = append(cand.keys, k)
	}
	return true
}

// wakeWorth asks to be woken when waiting has made a build worth its slot.
func (p *planning) wakeWorth(cand candidate) {
	ch := p.s.Changes[cand.change]
	if ch == nil || cand.value <= 0 {
		return
	}
	needed := cand.value / (1 + p.now.Sub(ch.Arrival).Hours())
	hours := p.worth/needed - 1
	a := answer{code: queue.ReasonWaitsUnlikely}
	if hours < parkedHours {
		a.until = ch.Arrival.Add(time.Duration(hours*float64(time.Hour))) + 1
		p.lookAt(a.until)
	}
	p.answerOf(cand, a)
}

// least returns the running build that is worth least for the time it still
// takes, if the newcomer is worth twice as much.
func (p *planning) least(value float64) *queue.Build {
	var least *queue.Build
	var rate float64
	if p.without(config.IngredientPreempt) {
		return nil
	}
	for _, live := range p.building {
		b := live.Build
		if b.Cancel || live.credit*preemptGain > value {
			continue
		}
		if r := live.credit / float64(p.expected(b).Sub(p.now)+time.Second); least == nil || r < rate {
			least, rate = b, r
		}
	}
	return least
}

// preemptGain is how many times more a build must be worth than the one whose
// slot it takes.
const preemptGain = 2.0

// affordable keeps the caps: speculation on a change stops at half of its
// builds, everything at all of them; builds of main are not capped.
func (p *planning) affordable(cand candidate) bool {
	r := p.rules()
	if perHour := r.BuildsPerHour; perHour > 0 {
		if len(p.s.Spent) > 0 && p.now.Sub(p.s.Spent[0]) >= time.Hour {
			p.propose(hourOver{})
		}
		if len(p.s.Spent) >= perHour {
			p.lookAt(p.s.Spent[0].Add(time.Hour))
			p.answerOf(cand, answer{code: queue.ReasonWaitsHour, until: p.s.Spent[0].Add(time.Hour)})
			return false
		}
	}
	if cand.link.Change == "" {
		return true
	}
	ch := p.s.Changes[cand.link.Change]
	limit := r.BuildsPerChange
	if !cand.always {
		limit = (limit + 1) / 2
	}
	if ch.Builds < limit {
		return true
	}
	p.answerOf(cand, answer{code: queue.ReasonWaitsCap})
	if cand.always {
		p.capped = append(p.capped, ch)
	}
	return false
}

// start proposes a build.
func (p *planning) start(cand candidate) {
	x := &start{link: cand.link.ID, also: cand.also, keys: cand.keys, value: cand.value, worth: p.worthOf(&cand)}
	p.answerOf(cand, answer{code: queue.ReasonWaitsBuild})
	x.predicted = p.spanOf(x.members(cand.link), cand.keys)
	p.propose(x)
	p.credit(x.build, cand.value)
}

// buildID names the next build of a link. A link that was forgotten and made
// again counts its attempts anew; the time tells the two apart. What is asked for after
// passes of its keys were taken back is told by that from the same build of before,
// which turns that were lost had asked for: those who ran that one would say again what
// it has shown.
func (c *Core) buildID(l *queue.Link, keys []queue.Key) queue.BuildID {
	made := string(l.ID) + "@" + strconv.FormatInt(int64(l.At), 10)
	var back queue.Instant
	for _, f := range c.s.Main.Forgotten {
		if slices.ContainsFunc(keys, func(k queue.Key) bool {
			st, _ := c.step(l, k)
			return f.Covers(k, st.Name)
		}) {
			back = max(back, f.At)
		}
	}
	if back != 0 {
		made += "@" + strconv.FormatInt(int64(back), 10)
	}
	return queue.NewBuildID(queue.LinkID(made), keys, l.Attempts)
}
