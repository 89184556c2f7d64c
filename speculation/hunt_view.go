package speculation

import (
	"cmp"
	"slices"

	"github.com/submitqueue/submitqueue/queue"
	"github.com/submitqueue/submitqueue/speculation/derived"
)

// Hunts returns the hunts that go on, then those that are over and not forgotten yet,
// each group with the latest first.
func (c *Core) Hunts() []queue.Hunt {
	var out []queue.Hunt
	for _, id := range derived.Sorted(c.s.Hunts) {
		out = append(out, c.s.Hunts[id].Clone())
	}
	slices.SortStableFunc(out, func(a, b queue.Hunt) int {
		if a.Lives() != b.Lives() {
			if a.Lives() {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Began, a.Began)
	})
	return out
}

// Blame names the culprit of a red main, as it is by now; if none is known, it says how
// far the search is. It is empty if main is not known to be red.
func (c *Core) Blame() queue.Reason {
	r := queue.Reason{Code: queue.ReasonBlame}
	var red []string
	for _, h := range c.Hunts() {
		if !h.Lives() || h.Red == 0 {
			continue
		}
		for i := range h.Trails {
			if t := &h.Trails[i]; t.Over == 0 && h.CulpritOf(t) == nil {
				red = with(red, t.Targets...)
			}
		}
		for _, x := range h.Culprits {
			at := slices.IndexFunc(r.Culprits, func(o queue.Culprit) bool { return o.Commit == x.Commit })
			if at < 0 {
				r.Culprits = append(r.Culprits, x)
				continue
			}
			o := &r.Culprits[at] // two hunts have found the same commit
			if o.Revert == nil {
				o.Revert = x.Revert
			}
			o.Targets, o.Names = with(o.Targets, x.Targets...), with(o.Names, x.Names...)
		}
	}
	if len(red) > 0 {
		r.Names = append([]string{"searching"}, red...)
	}
	return r
}

func copied(r *queue.Revert) *queue.Revert {
	if r == nil {
		return nil
	}
	out := *r
	return &out
}

// tellCulprit has the culprit's pull request told, if the queue knows it.
func (c *hunting) tellCulprit(x *queue.Culprit) {
	if x.Told || x.Number == 0 || c.s.Pulls[x.Number] == nil {
		return
	}
	x.Told = true
	said := *x
	said.Failed.Tail, said.Revert = "", copied(x.Revert)
	p := c.pull(x.Number)
	p.Notice, p.NoticeTo = queue.Reason{Code: queue.ReasonCulprit, Names: []string{string(x.Commit)}, Culprits: []queue.Culprit{said}}, ""
}
