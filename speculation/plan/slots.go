package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/queue/config"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// cancelRefuted stops builds of decided changes, and builds that can no longer tell
// anything: each target that they still have to verify is known not to come to main
// like this.
func (p *slots) cancelRefuted() {
	for _, live := range p.facts.Builds.Building {
		b := live.Build
		if live.Wanted || b.Cancel {
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
		// Only a new decision can refute a build that was not refuted before, on the
		// same merge.
		if at := (derived.Sight{Link: p.s.Links[b.Link], Decisions: p.facts.Decisions()}); p.pendingIn(b) && live.Checked != at {
			if live.Checked = at; p.refuted(b) {
				p.stop(b)
			}
		}
	}
}

// refuted reports whether, because of decided changes, each open target of a build
// differs from its state in the build.
func (p *slots) refuted(b *queue.Build) bool {
	l := p.s.Links[b.Link]
	if l == nil || l.Since.Epoch != p.s.Main.Line.Epoch {
		return false
	}
	members := l.Changes()
	var gone []*derived.Affects
	for _, id := range append(slices.Clone(l.Chain), members...) {
		ch := p.s.Changes[id]
		if ch == nil || ch.Phase.Final() && ch.Phase != queue.Landed {
			if x := p.facts.Futures.AffectedBy(id); x != nil {
				gone = append(gone, x)
			} else {
				gone = append(gone, &derived.Affects{All: true}) // its footprint is not known any more
			}
		}
	}
	from := min(l.Since.Seq, len(p.facts.Futures.Assumed.Line))
	line, since := p.facts.Futures.Assumed.Line[from:], p.landedSince(from)
	wrong := func(is func(*derived.Affects) bool) bool {
		for i, x := range since {
			if x != nil && is(x) && !slices.Contains(members, line[i]) && !slices.Contains(l.Chain, line[i]) {
				return true
			}
		}
		return slices.ContainsFunc(gone, is)
	}
	if len(gone) == 0 && p.stands(b, l, from) || !wrong(func(*derived.Affects) bool { return true }) {
		return false
	}
	for _, j := range b.Jobs {
		if j.Done {
			continue
		}
		for _, k := range j.Keys {
			if p.facts.Links.WholeTree(l, k) {
				continue
			}
			t, known := p.facts.Futures.Assumed.Numbers[k.Target]
			if !wrong(func(x *derived.Affects) bool { return x.All || known && x.Touches(t) }) {
				return false
			}
		}
	}
	return true
}

// reach says for each target which change on the line is the last that affects it, by
// place from 1. The line grows at its end until all assumptions are made anew.
type reach struct {
	upTo int
	last []int // by target
	all  int   // the last change that touches everything
}

// stands reports whether some open target of a build is affected by no change
// behind a place on the line.
func (p *slots) stands(b *queue.Build, l *queue.Link, from int) bool {
	r := &p.reach
	if p.reachAt != p.facts.Futures.Anew() {
		*r, p.reachAt = reach{}, p.facts.Futures.Anew()
	}
	for ; r.upTo < len(p.facts.Futures.Assumed.Line); r.upTo++ {
		x := p.facts.Futures.AffectedBy(p.facts.Futures.Assumed.Line[r.upTo])
		if x == nil {
			continue
		}
		if x.All {
			r.all = r.upTo + 1
			continue
		}
		for len(r.last) < len(p.facts.Futures.Assumed.Names) {
			r.last = append(r.last, 0)
		}
		for _, t := range x.Targets {
			r.last[t] = r.upTo + 1
		}
	}
	for _, j := range b.Jobs {
		if j.Done || r.all > from {
			continue
		}
		for _, k := range j.Keys {
			t, known := p.facts.Futures.Assumed.Numbers[k.Target]
			if (!known || t != derived.Everything && (t >= len(r.last) || r.last[t] <= from)) && !p.facts.Links.WholeTree(l, k) {
				return true
			}
		}
	}
	return false
}

// landedSince returns the targets that the changes on the line affect, from a place on;
// nil for a change if its footprint is not known any more.
func (p *slots) landedSince(from int) []*derived.Affects {
	n := len(p.facts.Futures.Assumed.Line) - from
	if n > len(p.since) {
		p.since = make([]*derived.Affects, n)
		for i, id := range p.facts.Futures.Assumed.Line[from:] {
			p.since[i] = p.facts.Futures.AffectedBy(id)
		}
	}
	return p.since[len(p.since)-n:]
}

func (p *slots) stop(b *queue.Build) { p.propose(Stop{b.ID}) }

// take starts candidates by value until the slots are full or the value is
// under the threshold. A path that is not merged yet is merged first; its slot
// is kept for it.
func (p *slots) take() {
	slices.SortStableFunc(p.found, func(a, b candidate) int {
		if a.spare != b.spare {
			if a.spare {
				return 1
			}
			return -1
		}
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.change, b.change))
	})
	p.answers.standing()
	free := p.s.Slots - len(p.s.Builds)
	ending := 0
	for _, b := range p.facts.Builds.Building {
		if b.Cancel {
			ending++
		}
	}
	waiting, crowd := 0, 0
	if p.batching() {
		p.served = map[queue.ChangeID]bool{}
		waiting, crowd = p.starters(), p.rollups.crowd()
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
		if free <= 0 && (cand.spare || ending == 0 && p.least(cand) == nil) {
			return
		}
		if p.overQuota(cand) {
			continue
		}
		if crowd > 0 && free > 0 && p.rollups.opens(cand) && p.rollups.gather(cand, p.rollups.crewSize(crowd-len(p.served)-free)) {
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
			p.answers.answerOf(cand, Answer{Code: queue.ReasonWaitsResolve})
			free--
			continue
		}
		if !p.ready(&cand) {
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
			if b := p.least(cand); b != nil {
				p.stop(b)
			}
		}
	}
	p.lend(free)
}

// ready reports whether a candidate that is merged may be built now, and leaves it with the keys
// that are to be built. No build is started that was not asked here, in whatever slot: this is
// what keeps code that nobody has approved from being run.
func (p *slots) ready(cand *candidate) bool {
	cand.keys = slices.DeleteFunc(slices.Clone(cand.keys), func(k queue.Key) bool {
		f := p.facts.Ledger.Keys[k.ID()]
		return f != nil && f.Build != nil // a build has begun since the key was found
	})
	switch {
	case len(cand.keys) == 0:
		p.answers.answerOf(*cand, Answer{Code: queue.ReasonWaitsShared})
	case !p.mayRun(cand.link):
		p.answers.answerOf(*cand, Answer{Code: queue.ReasonWaitsResolve}) // an approval, or a new merge, is on its way
	case !p.runnable(cand):
		p.answers.answerOf(*cand, Answer{Code: queue.ReasonWaitsTools})
	default:
		return p.affordable(*cand)
	}
	return false
}

// runnable drops the keys of a candidate that no host has the tools for. It reports
// whether any key is left.
func (p *slots) runnable(cand *candidate) bool {
	set := p.s.Steps[cand.link.Steps]
	if part := cand.link.PartOf(cand.keys[0]); part != nil {
		set = p.s.Steps[part.Steps]
	}
	lacks := map[queue.Digest]bool{}
	for _, st := range set.Steps {
		lacks[st.Digest()] = !p.facts.Equipped(st)
	}
	cand.keys = slices.DeleteFunc(cand.keys, func(k queue.Key) bool { return lacks[k.Step] })
	return len(cand.keys) > 0
}

// merge finds the link of a candidate and the keys to be built there; false means that
// the link has to be resolved first.
func (p *slots) merge(cand *candidate) bool {
	if cand.group != nil {
		return p.rollups.mergeJoint(cand)
	}
	if cand.chain == nil && cand.node != nil {
		cand.chain = taken(cand.node.Edges, cand.takes)
	}
	l, rest := p.follow(cand.change, cand.chain)
	if l == nil && len(rest.Picks) == 0 {
		return true
	}
	if l == nil {
		p.merges(rest)
		return false
	}
	cand.link = l
	st := p.facts.Links.State(l)
	if st.Status != derived.Unknown {
		return true
	}
	n := p.facts.Futures.Node(cand.change)
	for _, k := range derived.Without(st.Missing, st.Tree) {
		if t, known := p.facts.Futures.Assumed.Numbers[k.Target]; cand.only != nil && known {
			if at, mine := slices.BinarySearch(n.X.Targets, t); mine {
				if _, now := slices.BinarySearch(cand.only, at); !now {
					continue // it can wait
				}
			}
		}
		if f := p.facts.Ledger.Keys[k.ID()]; f != nil && f.Build != nil {
			p.credit(f.Build, cand.value)
			continue
		}
		cand.keys = append(cand.keys, k)
	}
	return true
}

// wakeWorth asks to be woken when waiting has made a build worth its slot.
func (p *slots) wakeWorth(cand candidate) {
	ch := p.s.Changes[cand.change]
	if ch == nil || cand.value <= 0 {
		return
	}
	needed := cand.value / p.answers.aging(ch)
	hours := p.worth/needed - 1
	a := Answer{Code: queue.ReasonWaitsUnlikely}
	if hours < queue.MostAging-1 && !p.facts.Without(config.IngredientAging) {
		a.Until = ch.Arrival.Add(time.Duration(hours*float64(time.Hour))) + 1
		p.lookAt(a.Until)
	}
	p.answers.answerOf(cand, a)
}

// least returns the running build that is worth least for the time it still
// takes. It returns one only if the newcomer is worth twice as much and does not wait
// for that build.
func (p *slots) least(cand candidate) *queue.Build {
	var least *queue.Build
	var rate float64
	if p.facts.Without(config.IngredientPreempt) {
		return nil
	}
	for _, live := range p.facts.Builds.Building {
		b := live.Build
		if b.Cancel || live.Credit*preemptGain > cand.value {
			continue
		}
		if p.facts.Order.ConflictsOf(cand.change)[b.Change] && p.facts.Order.Rank[b.Change] < p.facts.Order.Rank[cand.change] {
			continue // the newcomer waits for the result of this build
		}
		if r := live.Credit / float64(p.facts.Builds.Expected(b).Sub(p.facts.Now)+time.Second); least == nil || r < rate {
			least, rate = b, r
		}
	}
	return least
}

// preemptGain is how many times more a build must be worth than the one that it
// takes the slot of.
const preemptGain = 2.0

// sharesOf returns which part of each change's work a build of some keys covers. Little
// work costs a slot, too.
func (p *slots) sharesOf(ids []queue.ChangeID, keys []queue.Key) map[queue.ChangeID]float64 {
	out := map[queue.ChangeID]float64{}
	for _, id := range ids {
		share := 1.0
		if n := p.facts.Futures.Node(id); n != nil {
			p.facts.Futures.Weigh(n)
			share = math.Round(1000*min(1, derived.FixedShare+(1-derived.FixedShare)*p.partOf(n, keys).Share)) / 1000
		}
		out[id] = share
	}
	return out
}

// affordable keeps the caps; builds of main are not capped.
func (p *slots) affordable(cand candidate) bool {
	r := p.facts.Rules()
	if perHour := r.BuildsPerHour; perHour > 0 {
		if len(p.s.Spent) > 0 && p.facts.Now.Sub(p.s.Spent[0]) >= time.Hour {
			p.propose(HourOver{})
		}
		if len(p.s.Spent) >= perHour {
			p.lookAt(p.s.Spent[0].Add(time.Hour))
			p.answers.answerOf(cand, Answer{Code: queue.ReasonWaitsHour, Until: p.s.Spent[0].Add(time.Hour)})
			return false
		}
	}
	if cand.link.Change == "" {
		return true
	}
	ch := p.s.Changes[cand.link.Change]
	if ch.Spent < p.facts.Allowance(cand.always) {
		return true
	}
	p.answers.answerOf(cand, Answer{Code: queue.ReasonWaitsCap})
	if cand.always {
		p.capped = append(p.capped, ch)
	}
	return false
}

// start proposes a build.
func (p *slots) start(cand candidate) {
	x := &Start{Link: cand.link.ID, Also: cand.also, Keys: cand.keys, Value: cand.value, Worth: p.answers.worthOf(&cand)}
	p.answers.answerOf(cand, Answer{Code: queue.ReasonWaitsBuild})
	x.Predicted = p.spanOf(x.members(cand.link), cand.keys)
	x.Shares = p.sharesOf(x.members(cand.link), cand.keys)
	p.propose(x)
	p.credit(x.Build, cand.value)
}

// mayRun reports whether the commits of a link may be built: it is cleared, and so are
// all links below it that are not on main.
func (p *slots) mayRun(l *queue.Link) bool {
	for ; l != nil && l.Change != ""; l = p.facts.Links.LinkTo(l.Parent) {
		if ch := p.s.Changes[l.Change]; ch != nil && ch.Phase == queue.Landed && ch.Verdict != nil && ch.Verdict.Commit == l.Commit {
			return true
		}
		if !p.facts.Links.Cleared(l) {
			return false
		}
	}
	return true
}
