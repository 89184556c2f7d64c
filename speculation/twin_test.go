package speculation

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// The naive twin says in other words what the core is to decide and to build:
// by definition, over sets. Changes are numbers, a path is a set of them, and a
// target on a path is its name with the set of those on main and on the path
// that affect it. It goes through all subsets of those ahead, remembers nothing
// between two questions, and knows no assumption keys, links, nodes or caches.
// TestNaiveTwin (twin_run_test.go) draws cases of up to six changes, and
// compares.
//
// It does not cover footprints that are wrong or say "everything", added
// edges, merge conflicts and empty merges, steps on the whole tree, sets of
// keys that failed together, retries, red or unproven main, beliefs that follow
// results, pairs of which one has landed, aging, just-in-time, pre-emption,
// adaptive thresholds, caps, spare slots, targets of different cost, more
// undecided changes ahead than a bound of the core, what the core forgets once
// a verdict has been given (only that nothing wrong comes of it), and how a plan
// changes while builds end. In a future that
// differs in one outcome from the likeliest the others keep their chances, as
// the core has it; the papers would condition them on that outcome.
type twin struct {
	order  []int            // pending changes
	aff    map[int][]string // targets of each change
	good   map[int]float64
	pair   func(a, b int) float64
	landed []int
	known  map[string]bool // target with those that affect it → passed; failed
	worth  float64         // threshold of a build
	single float64         // threshold of a target in a build that is not the first
}

// The results of a target, or of a whole path.
const (
	open   = "open"
	passes = "passes"
	fails  = "fails"
)

// content names a target as it is with a set of changes.
func (w *twin) content(target string, with []int) string {
	var by []int
	for _, c := range append(slices.Clone(w.landed), with...) {
		if slices.Contains(w.aff[c], target) {
			by = append(by, c)
		}
	}
	sort.Ints(by)
	return target + fmt.Sprint(by)
}

func (w *twin) result(target string, with []int) string {
	switch passed, known := w.known[w.content(target, with)]; {
	case !known:
		return open
	case passed:
		return passes
	}
	return fails
}

// path is what is known of a change on main and the given ones.
func (w *twin) path(c int, on []int) string {
	all := passes
	for _, t := range w.aff[c] {
		switch w.result(t, append(slices.Clone(on), c)) {
		case fails:
			return fails
		case open:
			all = open
		}
	}
	return all
}

func (w *twin) conflict(a, b int) bool {
	return slices.ContainsFunc(w.aff[a], func(t string) bool { return slices.Contains(w.aff[b], t) })
}

// ahead returns the undecided changes before c that conflict with it.
func (w *twin) ahead(c int) []int {
	var out []int
	for _, a := range w.order {
		if a == c {
			break
		}
		if w.conflict(a, c) {
			out = append(out, a)
		}
	}
	return out
}

func subsets(of []int) [][]int {
	out := [][]int{nil}
	for _, x := range of {
		for _, s := range slices.Clone(out) {
			out = append(out, append(slices.Clone(s), x))
		}
	}
	return out
}

// mayLand: every path of the change over those ahead of it is green (BLRD). On
// an empty set ahead this is the path on main.
func (w *twin) mayLand(c int) bool {
	return !slices.ContainsFunc(subsets(w.ahead(c)), func(s []int) bool { return w.path(c, s) != passes })
}

// mayReject: every path of the change is red, wherever.
func (w *twin) mayReject(c int) bool {
	return !slices.ContainsFunc(subsets(w.ahead(c)), func(s []int) bool { return w.path(c, s) != fails })
}

// mustReject: one target is red on every path. If paths are red at different
// targets the core may wait (it follows whole paths over few changes only).
func (w *twin) mustReject(c int) bool {
	return slices.ContainsFunc(w.aff[c], func(t string) bool {
		return !slices.ContainsFunc(subsets(w.ahead(c)), func(s []int) bool {
			return w.result(t, append(slices.Clone(s), c)) != fails
		})
	})
}

// decide takes a change out of the order.
func (w *twin) decide(c int, landed bool) {
	w.order = slices.DeleteFunc(slices.Clone(w.order), func(x int) bool { return x == c })
	if landed {
		w.landed = append(slices.Clone(w.landed), c)
	}
}

// base is the chance that a change is green on its own and with all those that
// it is only weakly suspected to break with; one that is green on its likeliest
// path is nearly certain to land, and one that is red there nearly certain not to.
func (w *twin) base(c int) float64 {
	q := within(w.good[c])
	ahead := w.ahead(c)
	for _, a := range ahead {
		if p := w.pair(a, c); p <= 0.02 {
			q *= 1 - 0.9*p
		}
	}
	q = within(q)
	if likely, _ := w.likeliest(c); len(ahead) > 0 {
		switch w.path(c, likely) {
		case passes:
			q = max(q, 0.98)
		case fails:
			q = min(q, 0.02)
		}
	}
	return q
}

func within(q float64) float64 {
	if math.IsNaN(q) {
		return 0.001
	}
	return min(max(q, 0.001), 0.999)
}

// likeliest goes through those ahead, and takes for each the likelier outcome
// given those taken before. It returns the set, and the chance of each outcome.
func (w *twin) likeliest(c int) (set []int, chance map[int]float64) {
	chance = map[int]float64{}
	for _, a := range w.ahead(c) {
		q := w.base(a)
		for _, x := range set {
			if p := w.pair(x, a); p > 0.02 && w.conflict(x, a) {
				q *= 1 - p
			}
		}
		if q >= 0.5 {
			set = append(set, a)
		}
		chance[a] = max(q, 1-q)
	}
	return set, chance
}

// needed is the chance that the result of a target decides: the product over
// those ahead alone that affect it.
func (w *twin) needed(c int, target string, chance map[int]float64) float64 {
	q := 1.0
	for _, a := range w.ahead(c) {
		if slices.Contains(w.aff[a], target) {
			q *= chance[a]
		}
	}
	return q
}

// choice is a path that is worth a build, as far as its targets are open.
type choice struct {
	change int
	on     []int
	value  float64 // of the likeliest path: the mean of needed over all targets of the change; of others as much less as they are less likely
	needed map[string]float64
	sure   bool // nothing is assumed
	tied   bool // with the one that is just too many: it may be built, and need not
}

func (x choice) name() string {
	return "B" + strings.Trim(strings.ReplaceAll(fmt.Sprint(append(slices.Clone(x.on), x.change)), " ", "."), "[]")
}

func (w *twin) choice(c int, on []int, chance map[int]float64) choice {
	x := choice{change: c, on: on, needed: map[string]float64{}, sure: len(w.ahead(c)) == 0}
	for _, t := range w.aff[c] {
		x.needed[t] = w.needed(c, t, chance)
		x.value += x.needed[t] / float64(len(w.aff[c]))
	}
	return x
}

// choices returns the paths of all changes that are worth a build: the
// likeliest of each, and up to four that differ from it in one outcome.
func (w *twin) choices() []choice {
	var out []choice
	for _, c := range w.order {
		likely, chance := w.likeliest(c)
		best := w.choice(c, likely, chance)
		if best.sure || best.value >= w.worth {
			out = append(out, best)
		}
		var flips []choice
		for _, a := range w.ahead(c) {
			other := map[int]float64{}
			for k, q := range chance {
				other[k] = q
			}
			other[a] = 1 - chance[a]
			var on []int
			for _, b := range w.ahead(c) {
				if slices.Contains(likely, b) != (a == b) {
					on = append(on, b)
				}
			}
			x := w.choice(c, on, other)
			if x.value = best.value * other[a] / chance[a]; x.value >= w.worth && shared(w.aff[c], w.aff[a]) {
				flips = append(flips, x)
			}
		}
		slices.SortStableFunc(flips, func(a, b choice) int { return cmp.Compare(b.value, a.value) })
		for i, x := range flips {
			if len(flips) > 4 && math.Abs(x.value-flips[4].value) < 1e-12 {
				flips[i].tied = true
			} else if i >= 4 {
				continue
			}
			out = append(out, flips[i])
		}
	}
	return out
}

// opened returns the targets of a path of which nothing is known.
func (w *twin) opened(x choice) []string {
	if w.path(x.change, x.on) == fails {
		return nil
	}
	var out []string
	for _, t := range w.aff[x.change] {
		if w.result(t, append(slices.Clone(x.on), x.change)) == open {
			out = append(out, t)
		}
	}
	return out
}

// line is the order by definition: arrival and predicted duration, the latter
// bounded, and behind everybody that the change probably breaks and that was
// there before it.
func line(numbers []int, arrival map[int]queue.Instant, takes map[int]queue.Instant, breaks func(a, b int) bool, byArrival bool) []int {
	at := map[int]queue.Instant{}
	for i, c := range numbers { // in order of arrival
		at[c] = arrival[c]
		if byArrival {
			continue
		}
		at[c] += takes[c]
		for _, x := range numbers[:i] {
			if breaks(x, c) {
				at[c] = max(at[c], at[x]+1)
			}
		}
	}
	out := slices.Clone(numbers)
	slices.SortStableFunc(out, func(a, b int) int { return int(at[a] - at[b]) })
	return out
}

func shared(a, b []string) bool {
	return slices.ContainsFunc(a, func(t string) bool { return slices.Contains(b, t) })
}
