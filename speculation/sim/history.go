package sim

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// FromHistory makes a world of a queue's event archive with tidy rows (package
// queue/history). Changes are those that were analyzed, at the times when they arrived;
// only the last p.Changes are taken; 0 takes all.
//
//   - targets: those that changes affect, and those in their builds. A target costs the
//     mean of its durations; if no step's report gave one, the mean of the other targets.
//     Targets of one top folder are a group. A change that touched everything affects all
//     targets; if more than half of the changes did, the world is opaque.
//   - duration: the duration of the change's own build with the most targets, scaled by
//     cost to all targets of the change; builds that were stopped do not count. Without
//     such a build: by cost, as for the other changes. The overhead is the median time of
//     builds beyond that of their targets.
//   - broken: a change that was rejected for a failed build, at a failing target that never
//     passed with the change in it.
//   - conflicts: a change that was rejected for targets each of which passed with the change
//     elsewhere. It breaks with the change that the failing build had and the passing build
//     had not; of several, with the latest one before it. A change that did not merge breaks
//     with the changes that it clashed with, if both affect a common target.
//   - pushes: commits of main from outside, assumed to affect nothing.
//   - the step on the whole tree: the mean of its durations.
//   - beliefs: chance and duration as predicted then, if the archive has them.
//   - features: author, paths and numbers of the arrival.
//
// The rest is drawn from p's seed as in a generated world: the truth about changes
// without a verdict, and the beliefs of a predictor of p's quality about pairs.
func FromHistory(rows []queue.Row, p Params) (*World, error) {
	h := newPastWorld(rows, p.Changes)
	if len(h.arrivals) == 0 {
		return nil, errors.New("the history has no arrival of a change: nothing can be replayed")
	}
	h.targets()
	h.durations(&p)
	h.truth()
	return h.world(p)
}

// pastWorld is a world in the making.
type pastWorld struct {
	rows     []queue.Row
	w        *World
	arrivals []*queue.ArrivalRow
	ids      map[queue.ChangeID]int
	verdicts map[queue.ChangeID]*queue.VerdictRow
	builds   map[queue.BuildID]*queue.BuildRow
	ended    map[queue.BuildID]queue.Instant
	results  map[queue.BuildID][]*queue.ResultRow
	order    []queue.BuildID // as they ended

	landed []queue.ChangeID       // in order
	upTo   map[queue.CommitID]int // by commit of main: how many of them it has

	number map[string]int // of targets
	broken map[int]int    // change to target, for changes with a verdict
	breaks map[[2]int]int // the earlier and the later change to target
}

func newPastWorld(rows []queue.Row, most int) *pastWorld {
	h := &pastWorld{rows: rows, w: &World{Arrivals: "trace"}, ids: map[queue.ChangeID]int{}, verdicts: map[queue.ChangeID]*queue.VerdictRow{},
		builds: map[queue.BuildID]*queue.BuildRow{}, ended: map[queue.BuildID]queue.Instant{}, results: map[queue.BuildID][]*queue.ResultRow{},
		upTo: map[queue.CommitID]int{}, number: map[string]int{}, broken: map[int]int{}, breaks: map[[2]int]int{}}
	for _, r := range rows {
		switch {
		case r.Arrival != nil:
			h.arrivals = append(h.arrivals, r.Arrival)
		case r.Verdict != nil:
			h.verdicts[r.Verdict.Change] = r.Verdict
		case r.Build != nil:
			h.builds[r.Build.Build], h.ended[r.Build.Build] = r.Build, r.At
			h.order = append(h.order, r.Build.Build)
		case r.Result != nil:
			h.results[r.Result.Build] = append(h.results[r.Result.Build], r.Result)
		case r.Main != nil:
			h.landed = append(h.landed, r.Main.Changes...)
			h.upTo[r.Main.Commit] = len(h.landed)
		}
	}
	slices.SortStableFunc(h.arrivals, func(a, b *queue.ArrivalRow) int { return cmp.Compare(a.Arrival, b.Arrival) })
	if most > 0 && len(h.arrivals) > most {
		h.arrivals = h.arrivals[len(h.arrivals)-most:]
	}
	for i, a := range h.arrivals {
		h.ids[a.Change] = i
	}
	return h
}

// targets numbers the targets by name, and says which change affects which.
func (h *pastWorld) targets() {
	of := make([][]string, len(h.arrivals))
	for i, a := range h.arrivals {
		of[i] = append(of[i], a.Targets...)
		if v := h.verdicts[a.Change]; v != nil {
			for _, f := range v.Failures {
				of[i] = append(of[i], f.Targets...)
			}
		}
	}
	for id, b := range h.builds {
		i, ok := h.ids[b.Change]
		if !ok || len(b.Also) > 0 {
			continue
		}
		for _, r := range h.results[id] {
			for _, t := range r.Targets {
				if !r.Whole {
					of[i] = append(of[i], t.Target)
				}
			}
		}
	}
	all := slices.Compact(slices.Sorted(slices.Values(slices.Concat(of...))))
	everything := 0
	for _, a := range h.arrivals {
		if a.All {
			everything++
		}
	}
	h.w.Opaque = 2*everything > len(h.arrivals)
	if h.w.Opaque || len(all) == 0 {
		all = []string{"tree"}
	}
	groups := map[string]int{}
	for i, name := range all {
		top, _, _ := strings.Cut(strings.TrimLeft(name, "/"), "/")
		if _, ok := groups[top]; !ok {
			groups[top] = len(groups)
		}
		h.number[name] = i
		h.w.Targets = append(h.w.Targets, Target{Group: groups[top]})
	}
	t0 := h.arrivals[0].Arrival
	for i, a := range h.arrivals {
		c := Change{ID: i, ArriveMin: float64(a.Arrival-t0) / 60000, BrokenTarget: -1, Features: featuresIn(a), Large: a.All && !h.w.Opaque}
		for _, name := range of[i] {
			if t, ok := h.number[name]; ok {
				c.Targets = append(c.Targets, t)
			}
		}
		if a.All || len(c.Targets) == 0 {
			for t := range h.w.Targets {
				if a.All || t == 0 {
					c.Targets = append(c.Targets, t)
				}
			}
		}
		sortInts(c.Targets)
		c.Targets = slices.Compact(c.Targets)
		h.w.Changes = append(h.w.Changes, c)
	}
}

// durations sets the costs of targets and the durations of changes.
func (h *pastWorld) durations(p *Params) {
	h.costs()
	var rest []float64
	for _, id := range h.order {
		if took, work, whole := h.ran(id); took > 0 && whole {
			rest = append(rest, max(0, took-work))
		}
	}
	w := h.w
	w.OverheadMin = p.OverheadMin
	if len(rest) > 0 {
		slices.Sort(rest)
		w.OverheadMin = thousandth(Percentile(rest, 0.5))
	}
	best := make([]float64, len(w.Changes)) // by change: the cost of the targets that were built
	for _, id := range h.order {
		b := h.builds[id]
		i, ok := h.ids[b.Change]
		took, work, _ := h.ran(id)
		if !ok || len(b.Also) > 0 || took <= 0 || work <= best[i] {
			continue
		}
		all := h.cost(i)
		best[i] = work
		w.Changes[i].DurationMin = took
		if work < 0.999*all {
			w.Changes[i].DurationMin = took + max(0, took-w.OverheadMin)*(all/work-1)
		}
	}
	pace := h.pace(best)
	for i := range w.Changes {
		c := &w.Changes[i]
		if c.DurationMin == 0 {
			c.DurationMin = w.OverheadMin + pace*h.cost(i)
		}
		c.DurationMin = max(0.001, min(mostMin, thousandth(c.DurationMin)))
	}
}

// pace returns the median build time of changes for each minute of their targets' cost.
func (h *pastWorld) pace(built []float64) float64 {
	var seen []float64
	for i := range h.w.Changes {
		if built[i] > 0 {
			seen = append(seen, max(0, h.w.Changes[i].DurationMin-h.w.OverheadMin)/h.cost(i))
		}
	}
	if len(seen) == 0 {
		return 1
	}
	slices.Sort(seen)
	return Percentile(seen, 0.5)
}

func (h *pastWorld) cost(change int) (all float64) {
	for _, t := range h.w.Changes[change].Targets {
		all += h.w.Targets[t].CostMin
	}
	return all
}

// costs gives each target, and the tree step, the mean of its durations.
func (h *pastWorld) costs() {
	sum, n := make([]float64, len(h.w.Targets)), make([]float64, len(h.w.Targets))
	tree, trees, all, named := 0.0, 0.0, 0.0, 0.0
	for _, id := range h.order {
		for _, r := range h.results[id] {
			if r.Whole && !h.w.Opaque {
				if r.Outcome == queue.JobPassed || r.Outcome == queue.JobFailed {
					tree, trees = tree+float64(r.Took)/60000, trees+1
				}
				continue
			}
			for _, x := range r.Targets {
				if t, ok := h.number[x.Target]; ok && x.Took > 0 {
					sum[t], n[t] = sum[t]+float64(x.Took)/60000, n[t]+1
					all, named = all+float64(x.Took)/60000, named+1
				}
			}
		}
	}
	usual := 1.0
	if named > 0 {
		usual = all / named
	}
	for t := range h.w.Targets {
		h.w.Targets[t].CostMin = max(1e-6, usual)
		if n[t] > 0 {
			h.w.Targets[t].CostMin = max(1e-6, sum[t]/n[t])
		}
	}
	if trees > 0 {
		h.w.TreeStepMin = thousandth(tree / trees)
	}
}

// ran returns how long a build ran for its targets, or 0 if it was stopped, and the cost
// of these targets. whole says that the reports gave a duration for each of them.
func (h *pastWorld) ran(id queue.BuildID) (took, work float64, whole bool) {
	b := h.builds[id]
	if b.Started == 0 || b.Outcome != queue.JobPassed && b.Outcome != queue.JobFailed {
		return 0, 0, false
	}
	took, whole = float64(h.ended[id]-b.Started)/60000, true
	for _, r := range h.results[id] {
		if r.Whole && !h.w.Opaque {
			took -= float64(r.Took) / 60000
			continue
		}
		whole = whole && r.Asked == len(r.Targets)
		for _, x := range r.Targets {
			if t, ok := h.number[x.Target]; ok {
				work += h.w.Targets[t].CostMin
			}
			whole = whole && x.Took > 0
		}
	}
	if h.w.Opaque && len(h.results[id]) > 0 {
		work = h.w.Targets[0].CostMin
	}
	if work == 0 {
		return 0, 0, false
	}
	return min(took, mostMin), work, whole
}

// truth finds which changes were broken, and which broke with which.
func (h *pastWorld) truth() {
	passes := h.passes()
	for i, a := range h.arrivals {
		v := h.verdicts[a.Change]
		if v == nil || v.Outcome != queue.Rejected {
			continue
		}
		switch v.Reason {
		case queue.ReasonFailed:
			h.blame(i, v, passes)
		case queue.ReasonMergeConflict:
			for _, id := range v.Against {
				if j, ok := h.ids[id]; ok && j != i {
					if meet := common(h.w.Changes[i].Targets, h.w.Changes[j].Targets); len(meet) > 0 {
						h.pair(i, j, meet[0])
					}
				}
			}
		}
	}
}

// at is a change at a target.
type at struct{ change, target int }

// passes returns, for each rejected change and target, the builds in which the target
// passed with the change.
func (h *pastWorld) passes() map[at][]queue.BuildID {
	out := map[at][]queue.BuildID{}
	for _, id := range h.order {
		b := h.builds[id]
		var with []int // rejected changes in the build
		for _, c := range slices.Concat(b.Chain, b.Also, []queue.ChangeID{b.Change}) {
			if i, ok := h.ids[c]; ok && h.verdicts[c] != nil && h.verdicts[c].Outcome == queue.Rejected {
				with = append(with, i)
			}
		}
		if len(with) == 0 {
			continue
		}
		for _, r := range h.results[id] {
			for _, x := range r.Targets {
				t, ok := h.number[x.Target]
				for _, i := range with {
					if ok && !r.Whole && x.Outcome == queue.JobPassed {
						out[at{i, t}] = append(out[at{i, t}], id)
					}
				}
			}
		}
	}
	return out
}

// blame says why a change that was rejected for failures failed.
func (h *pastWorld) blame(i int, v *queue.VerdictRow, passes map[at][]queue.BuildID) {
	own := h.w.Changes[i].Targets[0] // used if no failure names a target
	named := false
	for _, f := range v.Failures {
		for _, name := range f.Targets {
			t, ok := h.number[name]
			if !ok {
				continue
			}
			if len(passes[at{i, t}]) == 0 {
				h.broken[i] = t
				return
			}
			if !named {
				own, named = t, true
			}
		}
	}
	for _, f := range v.Failures {
		for _, name := range f.Targets {
			t, ok := h.number[name]
			if !ok {
				continue
			}
			if j := h.partner(i, t, f, passes[at{i, t}]); j >= 0 {
				h.pair(i, j, t)
				return
			}
		}
	}
	h.broken[i] = own
}

// partner returns the change that a failing build of a change had and the latest passing
// build had not, at a target, or -1 if there is none. Of several it is the last.
func (h *pastWorld) partner(i, t int, f queue.FailureRow, passing []queue.BuildID) int {
	had := map[queue.ChangeID]bool{}
	b := h.builds[passing[len(passing)-1]]
	for _, c := range slices.Concat(h.landed[:h.upTo[b.Main]], b.Chain, b.Also, []queue.ChangeID{b.Change}) {
		had[c] = true
	}
	for _, c := range slices.Backward(slices.Concat(h.landed[:h.upTo[f.Main]], f.Chain, []queue.ChangeID{f.Change})) {
		j, ok := h.ids[c]
		if ok && j != i && !had[c] && h.w.Changes[j].affects(t) {
			return j
		}
	}
	return -1
}

func (h *pastWorld) pair(i, j, target int) {
	if i > j {
		i, j = j, i
	}
	h.breaks[[2]int{i, j}] = target
}

// told reports whether the history says how a change ends on its own.
func (h *pastWorld) told(i int) bool {
	v := h.verdicts[h.arrivals[i].Change]
	return v != nil && v.Outcome != queue.Cancelled
}

// world draws the facts that the history does not tell.
func (h *pastWorld) world(p Params) (*World, error) {
	w, n := h.w, len(h.arrivals)
	hours := max(1.0/60, w.Changes[n-1].ArriveMin/60)
	p.Changes, p.Large, p.OverheadMin, p.TreeBroken, p.RatePerHour = n, 0, 0, 0, max(1e-3, min(1e6, float64(n)/hours))
	if err := p.validate(); err != nil {
		return nil, err
	}
	w.Seed, w.RatePerHour, w.Flaky = p.Seed, p.RatePerHour, p.Flaky
	p.outcomes(w, odds{
		broken: func(int) float64 { return p.Broken },
		pair:   func(int, int) float64 { return p.Conflict },
		told: func(i int) (bool, bool) {
			_, broken := h.broken[i]
			return broken, h.told(i)
		},
		toldPair: func(i, j int) (bool, bool) {
			_, breaks := h.breaks[[2]int{min(i, j), max(i, j)}]
			return breaks, breaks || h.told(i) && h.told(j)
		},
	})
	for i := range w.Changes {
		c, a := &w.Changes[i], h.arrivals[i]
		if t, ok := h.broken[i]; ok {
			c.BrokenTarget = t
		}
		if a.Chance > 0 && a.Chance <= 1 {
			c.Predicted.Success = a.Chance
		}
		if took := float64(a.Predicted) / 60000; took > 0 && took <= mostMin {
			c.Predicted.DurationMin = took
		}
		c.Conflicts = slices.DeleteFunc(c.Conflicts, func(x Conflict) bool {
			_, told := h.breaks[[2]int{x.With, i}]
			return told
		})
	}
	for pair, target := range h.breaks {
		c := &w.Changes[pair[1]]
		c.Conflicts = append(c.Conflicts, Conflict{With: pair[0], Target: target})
	}
	for i := range w.Changes {
		slices.SortFunc(w.Changes[i].Conflicts, func(a, b Conflict) int { return cmp.Compare(a.With, b.With) })
	}
	h.outside()
	if err := w.checkTargets(); err != nil {
		return nil, err
	}
	for i := range w.Changes {
		if err := w.check(i); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// outside adds the commits that reached main without the queue, while changes arrived.
func (h *pastWorld) outside() {
	first, last := h.arrivals[0].Arrival, h.arrivals[len(h.arrivals)-1].Arrival
	for _, r := range h.rows {
		if r.Main != nil && r.Main.Outside && r.At >= first && r.At <= last {
			h.w.Pushes = append(h.w.Pushes, Push{AtMin: thousandth(float64(r.At-first) / 60000)})
		}
	}
}
