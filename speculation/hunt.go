package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// A hunt looks for the commit that turned main red. It begins with the first
// failure on main, so that the suspects are known, and half of them cleared, by the
// time the failure is confirmed; it names no culprit before that. Suspects are
// the commits of main's line behind the last one on which the key has passed. The
// ledger knows that of most commits, since those that we have landed have passed.
// Builds of the commits in between (probe.go) divide the remaining suspects.
//
// Say that main is at m4, that m1 was the last commit we made, and that x fails
// on m4. Trace tells the key of x on each: m1 and m2 have the same, which has
// passed; m3 has another, and m4 one more. So m3 and m4 are suspects, and a build
// of x on m3 tells which of them it is. When m3 has failed as often as the rules
// ask for, it is the culprit, with its build and that of m1 as evidence.
//
// A hunt decides nothing about changes. Its builds write the ledger as all others
// do, for the keys that their commit really has.

// hunts takes in the present knowledge about red keys of main, and begins a hunt for
// new ones.
func (c *hunting) hunts() {
	m := &c.s.Main
	if m.Tip == "" || m.Config == nil || c.s.Push != nil {
		return
	}
	for _, id := range derived.Sorted(c.s.Hunts) {
		if h := c.s.Hunts[id]; h.Over == 0 {
			c.followHunt(h)
		}
	}
	c.settleHunts()
	if h := c.pickUp(); h != nil { // also for failures of a hunt that is over by now
		c.followHunt(h)
		c.settleHunts()
	}
}

// settleHunts names the culprits that are known by now, and ends the hunts that have nothing red any
// more. Whether a failure may be that of something else rests on what all hunts have taken in.
func (c *hunting) settleHunts() {
	for _, id := range derived.Sorted(c.s.Hunts) {
		if h := c.s.Hunts[id]; h.Over == 0 {
			c.nameCulprits(h)
			c.endHunt(h)
		}
	}
}

// followHunt takes in the present knowledge about the failures that a hunt follows.
func (c *hunting) followHunt(h *queue.Hunt) {
	if len(h.Line) > 0 && h.Analyzer != c.s.Main.Analyzer && !h.Settled() {
		c.retrace(h)
	}
	if len(h.Line) == 0 {
		c.upkeep.ask(c.traceOf(h))
	}
	c.weighHunt(h)
}

func (c *hunting) touchHunt(h *queue.Hunt) { c.touch(queue.KindHunt, h.ID) }

// pickUp begins a hunt for a failure on main that no hunt follows yet, and returns
// it; nil if there is none.
func (c *hunting) pickUp() *queue.Hunt {
	var fresh []queue.Trail
	for _, t := range c.redTrails() {
		if !c.hunted(t) {
			fresh = append(fresh, t)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	h := &queue.Hunt{ID: queue.NewHuntID(c.s.Main.Tip, c.facts.Now), Tip: c.s.Main.Tip, Began: c.facts.Now}
	if c.s.Hunts[h.ID] != nil {
		c.wakeAt(c.facts.Now + 1)
		return nil // a hunt of this very moment follows other targets
	}
	h.More = max(0, len(fresh)-queue.MostTrails)
	h.Trails = fresh[:len(fresh)-h.More]
	c.s.Hunts[h.ID] = h
	c.touchHunt(h)
	return h
}

// hunted reports whether a live hunt follows a target of a trail, or whether no new
// hunt may begin yet: a hunt of this tip has as many trails as it may have and is not
// confirmed.
func (c *hunting) hunted(t queue.Trail) bool {
	for _, h := range c.s.Hunts {
		if h.Over != 0 {
			continue
		}
		for i := range h.Trails {
			o := &h.Trails[i]
			if o.Step == t.Step && o.Over == 0 && slices.ContainsFunc(t.Targets, func(x string) bool { return slices.Contains(o.Targets, x) }) {
				return true
			}
		}
		if h.More > 0 && h.Tip == c.s.Main.Tip && h.Red == 0 {
			return true // it has as many trails as it may have
		}
	}
	return false
}

// redTrails returns the failures on main as it is: by target where a report has named
// it, else by the set that was asked for.
func (c *hunting) redTrails() []queue.Trail {
	root := c.facts.Root()
	if root == nil || c.s.Main.Surveyed != c.s.Main.Tip || root.Commit != c.s.Main.Tip {
		return nil
	}
	var out []queue.Trail
	seen := map[queue.Digest]bool{}
	facts := c.facts.Links.Info(root).Facts
	for i, f := range facts {
		k := root.Keys[i]
		st, ok := c.facts.Links.Step(root, k)
		if f.Passed() || !ok || c.facts.Ledger.IsDrift(k) {
			continue
		}
		if f.Entry != nil && len(f.Entry.Failures) > 0 && !f.Entry.Unrun() {
			out = append(out, queue.Trail{Step: st.Name, Targets: []string{k.Target}, Good: -1})
		}
		for _, sid := range f.Sets {
			e := c.s.Ledger[sid]
			if e == nil || seen[sid] || e.Unrun() || !derived.HoldsAll(facts, e) || failedOn(e, root.Commit) == nil {
				continue
			}
			seen[sid] = true
			t := queue.Trail{Step: st.Name, Opaque: true, Good: -1}
			for _, k := range e.Keys {
				t.Targets = append(t.Targets, k.Target)
			}
			slices.Sort(t.Targets)
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b queue.Trail) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), slices.Compare(a.Targets, b.Targets))
	})
	return out
}

// failedOn returns an entry with its failures on one commit only, or nil if it has none
// there.
func failedOn(e *queue.Entry, commit queue.CommitID) *queue.Entry {
	out := *e
	out.Failures = nil
	for _, f := range e.Failures {
		if f.Ran.Commit == commit {
			out.Failures = append(out.Failures, f)
		}
	}
	if len(out.Failures) == 0 {
		return nil
	}
	return &out
}

func (c *hunting) traceOf(h *queue.Hunt) queue.Trace {
	t := queue.Trace{Hunt: h.ID, Commit: h.Tip, Analyzer: c.s.Main.Analyzer}
	for _, x := range h.Trails {
		t.Trails = append(t.Trails, queue.Trail{Step: x.Step, Targets: x.Targets, Opaque: x.Opaque, Good: -1})
	}
	return t
}

// retrace forgets the line and the keys of a hunt, since the keys have other names by
// now.
func (c *hunting) retrace(h *queue.Hunt) {
	c.upkeep.drop(c.traceOf(h))
	for i := range h.Culprits {
		c.withdraw(h, &h.Culprits[i])
	}
	h.Line, h.Culprits = nil, nil
	for i := range h.Trails {
		t := &h.Trails[i]
		t.Spots, t.Reds, t.Good, t.Passed, t.Beyond, t.Named = nil, nil, -1, queue.Probe{}, false, ""
	}
	c.touchHunt(h)
}

// lostGround has the hunts begin anew that begin at a pass which was taken back, as lost says of
// its keys.
func (c *hunting) lostGround(lost func(*queue.Trail, queue.Key) bool) {
	for _, id := range derived.Sorted(c.s.Hunts) {
		h := c.s.Hunts[id]
		if h.Over == 0 && slices.ContainsFunc(h.Trails, func(t queue.Trail) bool {
			return t.Good >= 0 && slices.ContainsFunc(t.Spots[t.Good].Keys, func(k queue.Key) bool { return lost(&t, k) })
		}) {
			c.retrace(h)
		}
	}
}

// traced takes in the line of a hunt, and the archive's passes of its keys.
func (c *hunting) traced(b queue.Traced) {
	if c.upkeep.done(b.Action) == nil {
		return
	}
	h := c.s.Hunts[b.Hunt]
	if h == nil || h.Over != 0 || len(h.Line) > 0 || b.Commit != h.Tip || b.Analyzer != c.s.Main.Analyzer ||
		len(b.Line) == 0 || len(b.Trails) != len(h.Trails) {
		return
	}
	known := map[queue.Digest]*queue.Entry{}
	for i := range b.Passed {
		e := &b.Passed[i]
		if c.judging.void(e) {
			continue
		}
		if c.facts.Ledger.Keys[e.ID] != nil {
			c.judging.readArchived(*e) // lost turns may have removed it; without it main would at once count as red again
		}
		if e.Passed != 0 && (c.s.Ledger[e.ID] == nil || c.s.Ledger[e.ID].Passed != 0) {
			known[e.ID] = e
		}
	}
	for _, s := range b.Steps {
		c.judging.putSteps(s)
	}
	h.Line, h.Whole, h.Analyzer = b.Line, b.Whole, b.Analyzer
	for i := range h.Trails {
		t := &h.Trails[i]
		t.Spots = b.Trails[i].Spots
		c.advanceGood(h, t, known)
	}
	c.touchHunt(h)
}

// weighHunt takes in the ledger's results for a hunt's spots.
func (c *hunting) weighHunt(h *queue.Hunt) {
	changed := false
	for i := range h.Trails {
		t := &h.Trails[i]
		if t.Over != 0 {
			continue
		}
		was, reds := t.Good, len(t.Reds)
		c.advanceGood(h, t, nil)
		changed = c.acquitted(h, t) || changed
		// A pass on the very commit makes the failure a flake there; if the key is red on
		// main by now, that is another hunt.
		if c.passesOnMain(t) || len(t.Spots) > 0 && t.Good == len(t.Spots)-1 {
			t.Over, changed = c.facts.Now, true
			continue
		}
		changed = c.redden(h, t) || changed || t.Good != was || len(t.Reds) != reds
		if red, ok := t.Bad(); len(h.Line) > 0 && ok && red.Spot == 0 && red.Sure && !h.Whole && !t.Beyond {
			t.Beyond, changed = true, true
		}
	}
	if h.Red == 0 && c.sureRed(h) {
		h.Red, changed = c.facts.Now, true
		c.note(queue.Note{What: "main-red", Commit: h.Tip, Reason: queue.Reason{Code: queue.ReasonRedMain, Names: targetsOf(h.Trails)}})
	}
	if changed {
		c.touchHunt(h)
	}
}

// acquitted takes back that a commit has turned a trail red, once it passes there
// after all, or its failure there may be that of what was red before.
func (c *hunting) acquitted(h *queue.Hunt, t *queue.Trail) bool {
	at := placeOn(h, t.Named)
	if t.Named == "" || at < 0 || !c.shadowed(h, t, at) && (t.Good < 0 || t.SpotAt(at) != t.Good) {
		return false
	}
	named := t.Named
	t.Named = ""
	i := slices.IndexFunc(h.Culprits, func(x queue.Culprit) bool { return x.Commit == named })
	if i < 0 {
		return true
	}
	x := &h.Culprits[i]
	x.Targets, x.Names = nil, nil
	for _, o := range h.Trails {
		if o.Named == named {
			x.Targets, x.Names = with(x.Targets, o.Targets...), with(x.Names, o.Step)
		}
	}
	if len(x.Names) == 0 {
		c.note(queue.Note{What: "acquitted", Commit: x.Commit, Number: x.Number, Change: x.Change, Build: t.Passed.Build,
			Reason: queue.Reason{Names: append([]string{t.Step}, t.Targets...)}})
		c.withdraw(h, x)
		h.Culprits = slices.Delete(slices.Clone(h.Culprits), i, i+1)
	}
	return true
}

// passesOnMain reports whether main as it is has passed the keys of a trail, or has no
// such keys. Before main has been compared with the ledger this is not known.
func (c *hunting) passesOnMain(t *queue.Trail) bool {
	if m := &c.s.Main; m.Surveyed != m.Tip {
		return false
	}
	root := c.facts.Root()
	if root == nil {
		return true
	}
	for _, k := range root.Keys {
		if st, ok := c.facts.Links.Step(root, k); ok && st.Name == t.Step && slices.Contains(t.Targets, k.Target) && !c.facts.Ledger.Passed(k) {
			return false
		}
	}
	return true
}

// sureRed reports whether one of a hunt's failures is more than a flake.
func (c *hunting) sureRed(h *queue.Hunt) bool {
	for _, t := range h.Trails {
		if slices.ContainsFunc(t.Reds, func(r queue.RedSpot) bool { return r.Sure }) {
			return true
		}
	}
	root := c.facts.Root()
	if root == nil || root.Commit != h.Tip || c.s.Main.Surveyed != h.Tip {
		return false
	}
	reds := c.facts.Ledger.RedOn(root)
	for i, k := range root.Keys {
		st, ok := c.facts.Links.Step(root, k)
		if ok && reds.Keys[i] && slices.ContainsFunc(h.Trails, func(t queue.Trail) bool {
			return t.Step == st.Name && slices.Contains(t.Targets, k.Target)
		}) {
			return true
		}
	}
	return false
}

// advanceGood finds the latest spot of a trail that has passed. If that spot is behind
// a failed one, main was repaired there and broken again.
func (c *hunting) advanceGood(h *queue.Hunt, t *queue.Trail, known map[queue.Digest]*queue.Entry) {
	for i := len(t.Spots) - 1; i > t.Good; i-- {
		ok, last := true, (*queue.Entry)(nil)
		for _, k := range t.Spots[i].Keys {
			id := k.ID()
			e := c.s.Ledger[id]
			if e == nil || e.Passed == 0 {
				e = known[id]
			}
			if e == nil || e.Passed == 0 || e.Excused != 0 {
				ok = false
				break
			}
			if last == nil || e.Passed > last.Passed {
				last = e
			}
		}
		if !ok {
			continue
		}
		t.Good, t.Passed = i, queue.Probe{Commit: h.Line[t.Spots[i].At].Commit}
		if last != nil {
			t.Passed.Build, t.Passed.At, t.Passed.Tries = last.By, last.Passed, last.Tries
			t.Passed.Commit = cmp.Or(last.Commit, t.Passed.Commit)
		}
		break
	}
	t.Reds = slices.DeleteFunc(t.Reds, func(r queue.RedSpot) bool { return r.Spot == t.Good })
}

// redden takes in which spots of a trail have failed, and says whether that is news.
func (c *hunting) redden(h *queue.Hunt, t *queue.Trail) bool {
	changed := false
	for i := t.Good + 1; i < len(t.Spots); i++ {
		e := c.failedAt(h, t, i)
		if e == nil {
			continue
		}
		at, known := slices.BinarySearchFunc(t.Reds, i, func(r queue.RedSpot, spot int) int { return r.Spot - spot })
		if !known {
			first := e.Failures[0]
			t.Reds = slices.Insert(t.Reds, at, queue.RedSpot{Spot: i, First: queue.Probe{Build: first.Build,
				Commit: cmp.Or(first.Ran.Commit, h.Line[t.Spots[i].At].Commit), At: first.At, Tail: first.Tail}})
			changed = true
		}
		r := &t.Reds[at]
		sure := r.Sure || e.Decisive(c.facts.Now, c.facts.Rules().Retries)
		tries := max(r.First.Tries, len(e.Failures))
		changed = changed || sure != r.Sure || tries != r.First.Tries
		r.Sure, r.First.Tries = sure, tries
	}
	return changed
}

// failedAt returns the failing evidence on a spot, or nil. A failure without a target
// counts for the commit that it ran on, and for no other commit with the same keys; and not
// if it may be of a key that the trail has not. A command that could not be run says nothing.
func (c *hunting) failedAt(h *queue.Hunt, t *queue.Trail, spot int) *queue.Entry {
	keys := t.Spots[spot].Keys
	if !t.Opaque {
		if len(keys) != 1 {
			return nil
		}
		if e := c.s.Ledger[keys[0].ID()]; e != nil && e.Passed == 0 && len(e.Failures) > 0 && !e.Unrun() {
			return e
		}
		return nil
	}
	commit := h.Line[t.Spots[spot].At].Commit
	var out *queue.Entry
	for _, k := range keys {
		for _, sid := range append([]queue.Digest{k.ID()}, c.facts.Ledger.Sets[k.ID()]...) {
			e := c.s.Ledger[sid]
			if e == nil || e.Passed != 0 || slices.ContainsFunc(e.Keys, func(o queue.Key) bool { return !slices.Contains(keys, o) }) {
				continue
			}
			if on := failedOn(e, commit); on != nil && !on.Unrun() && (out == nil || len(on.Failures) > len(out.Failures)) {
				out = on
			}
		}
	}
	return out
}

// nameCulprits writes down the culprits that are known by now.
func (c *hunting) nameCulprits(h *queue.Hunt) {
	for i := range h.Trails {
		t := &h.Trails[i]
		red, ok := t.Bad()
		if t.Over != 0 || t.Beyond || !ok || !red.Sure || h.CulpritOf(t) != nil {
			continue
		}
		var among []queue.CommitID
		open := false
		for _, s := range t.Open() {
			commit := h.Line[t.Spots[s].At].Commit
			if !c.facts.Links.Unbuildable(h, commit) {
				open = true
				break
			}
			among = append(among, commit)
		}
		if open || t.Good < 0 && !h.Whole || c.mayBeShadowed(h, t, t.Spots[red.Spot].At) {
			continue
		}
		at := h.Line[t.Spots[red.Spot].At]
		x := slices.IndexFunc(h.Culprits, func(x queue.Culprit) bool { return x.Commit == at.Commit })
		if x < 0 {
			x = len(h.Culprits)
			h.Culprits = append(h.Culprits, queue.Culprit{HuntCommit: at, Found: c.facts.Now, Green: t.Passed, Failed: red.First, Among: among})
		}
		found := &h.Culprits[x]
		t.Named = found.Commit
		found.Targets, found.Names = with(found.Targets, t.Targets...), with(found.Names, t.Step)
		c.tellCulprit(found)
		c.touchHunt(h)
		c.note(queue.Note{What: "culprit", Commit: at.Commit, Number: at.Number, Change: at.Change, Build: red.First.Build,
			Reason: queue.Reason{Code: queue.ReasonCulprit, Names: append([]string{string(at.Commit), t.Step}, t.Targets...)}})
	}
}

// with returns a sorted list with more names in it, each once.
func with(list []string, more ...string) []string {
	out := append(slices.Clone(list), more...)
	slices.Sort(out)
	return slices.Compact(out)
}

func targetsOf(trails []queue.Trail) []string {
	var out []string
	for _, t := range trails {
		out = append(out, t.Targets...)
	}
	return with(out)
}

// endHunt ends a hunt when none of its trails is red on main any more.
func (c *hunting) endHunt(h *queue.Hunt) {
	if slices.ContainsFunc(h.Trails, func(t queue.Trail) bool { return t.Over == 0 }) {
		return
	}
	end := queue.HuntRepaired
	if h.Red == 0 || !slices.ContainsFunc(h.Trails, func(t queue.Trail) bool { _, red := t.Bad(); return red || len(t.Spots) == 0 }) {
		end = queue.HuntFlaky
	}
	c.closeHunt(h, end)
}

func (c *hunting) closeHunt(h *queue.Hunt, end queue.HuntEnd) {
	for i := range h.Culprits {
		c.withdraw(h, &h.Culprits[i])
	}
	h.Over, h.End = c.facts.Now, end
	c.upkeep.drop(c.traceOf(h))
	c.facts.Links.Untidied("")
	c.facts.Links.Left()
	c.touchHunt(h)
	if h.Red != 0 {
		c.note(queue.Note{What: "hunt-over", Commit: h.Tip, Reason: queue.Reason{Names: []string{string(end)}}})
	}
}

// abandonHunts ends all hunts: main has another line.
func (c *hunting) abandonHunts() {
	for _, id := range derived.Sorted(c.s.Hunts) {
		if h := c.s.Hunts[id]; h.Over == 0 {
			c.closeHunt(h, queue.HuntForced)
		}
	}
}

// tidyHunts forgets hunts that people were shown for long enough, and flakes at once.
func (c *hunting) tidyHunts() {
	for _, id := range derived.Sorted(c.s.Hunts) {
		h := c.s.Hunts[id]
		if h.Over != 0 && (h.Red == 0 || c.facts.Now.Sub(h.Over) > queue.HuntKept) {
			delete(c.s.Hunts, id)
			c.touchHunt(h)
		}
	}
}
