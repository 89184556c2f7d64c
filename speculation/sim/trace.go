package sim

import (
	"cmp"
	"fmt"
	"io"
	"math"
	slashed "path"
	"slices"
	"strings"

	"github.com/submitqueue/submitqueue/queue"
)

// ReadTrace makes a world of a history: JSON lines, gzip or not, one landed
// change each, with landed or time (unix seconds), author, paths, added, removed
// and commits; other members are ignored. The rest is drawn from p's seed:
//
//   - targets: the first two folders of each path; targets of one top folder are a
//     group. A path in the root is target "".
//   - duration: p.MedianMin times (1 + lines of the change) / (1 + median lines)
//     to the power of 0.15, times a log-normal factor of 0.8 p.Sigma, capped.
//     duration_min in the file takes its place.
//   - broken: with chance p.Broken, times the same factor of size, times 1.5 for
//     an author's first change. outcome in the file ("landed" or "rejected")
//     takes its place.
//   - conflicts: as in a generated world, three times as likely for a pair that
//     edits a common file. conflicts in the file (ids of earlier changes) take
//     their place.
//   - the predictor: of p's quality, as in a generated world.
//
// Arrivals keep their order; p.RatePerHour above 0 re-times them, evenly or as
// p.Arrivals says (the 2019 paper did the same: real changes, a fixed rate). Only the
// last p.Changes are taken; 0 takes all.
func ReadTrace(r io.Reader, p Params) (*World, error) {
	l, err := newLines(r)
	if err != nil {
		return nil, err
	}
	l.strict = false
	var all []traced
	for {
		t := traced{line: l.line + 1}
		if err := l.next(&t); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		t.line = l.line
		if err := t.check(); err != nil {
			return nil, fmt.Errorf("line %d: %w", l.line, err)
		}
		all = append(all, t)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("line 1: the history is empty")
	}
	slices.SortStableFunc(all, func(a, b traced) int { return cmp.Compare(a.at(), b.at()) })
	if p.Changes > 0 && len(all) > p.Changes {
		all = all[len(all)-p.Changes:]
	}
	return worldOf(all, p)
}

// traced is one line of a history.
type traced struct {
	ID        string   `json:"id"`
	Landed    float64  `json:"landed"`
	Time      float64  `json:"time"`
	Author    string   `json:"author"`
	Paths     []string `json:"paths"`
	Added     float64  `json:"added"`
	Removed   float64  `json:"removed"`
	Commits   float64  `json:"commits"`
	Duration  float64  `json:"duration_min"`
	Outcome   string   `json:"outcome"`
	Conflicts []string `json:"conflicts"`

	line int
}

func (t *traced) at() float64 { return max(t.Landed, t.Time) }

func (t *traced) lines() float64 { return 1 + t.Added + t.Removed }

func (t *traced) check() error {
	switch {
	case t.at() <= 0 || !finite(t.at()):
		return fmt.Errorf("it has neither landed nor time, in unix seconds")
	case !finite(t.lines()) || t.lines() < 1 || t.Duration < 0 || !(t.Duration <= mostMin):
		return fmt.Errorf("added, removed or duration_min is out of range")
	case t.Outcome != "" && t.Outcome != "landed" && t.Outcome != "rejected":
		return fmt.Errorf("outcome is %q; it can be landed or rejected", t.Outcome)
	}
	return nil
}

// worldOf draws the facts that the history does not tell.
func worldOf(all []traced, p Params) (*World, error) {
	retime, own := p.RatePerHour != 0, float64(len(all))/max(1, (all[len(all)-1].at()-all[0].at())/3600)
	p.Changes, p.Large = len(all), 0
	if !retime {
		p.RatePerHour = 1 // the history's own rate is not used
	}
	if err := p.validate(); err != nil {
		return nil, err
	}
	if !retime {
		p.RatePerHour = own
	}
	w := &World{Seed: p.Seed, Arrivals: "trace", RatePerHour: p.RatePerHour, OverheadMin: p.OverheadMin, Flaky: p.Flaky, TreeStepMin: p.TreeStepMin}
	folders, usual := foldersOf(all, w), medianLines(all)
	arrivals, r, known := draw(p.Seed, streamArrivals), draw(p.Seed, streamChanges), map[string]bool{}
	sizes := make([]float64, len(all)) // how much likelier than usual a change is broken
	for i := range all {
		t := &all[i]
		c := Change{ID: i, ArriveMin: thousandth((t.at() - all[0].at()) / 60), BrokenTarget: -1}
		if retime {
			c.ArriveMin = p.arrival(arrivals, i, w)
		}
		size := math.Pow(t.lines()/usual, 0.15)
		c.DurationMin = thousandth(min(p.CapMin, max(shortestMin, p.MedianMin*size*math.Exp(0.8*p.Sigma*r.NormFloat64()))))
		if t.Duration > 0 {
			c.DurationMin = t.Duration
		}
		sizes[i] = size
		if !known[t.Author] {
			known[t.Author], sizes[i] = true, 1.5*size
		}
		for _, x := range targetsOf(t) {
			c.Targets = append(c.Targets, folders[x])
		}
		slices.Sort(c.Targets)
		paths := slices.Compact(slices.Sorted(slices.Values(t.Paths)))
		c.Features = &Features{Author: t.Author, Paths: paths[:min(len(paths), queue.MostRowPaths)], Files: len(paths),
			Added: int(t.Added), Removed: int(t.Removed), Commits: int(t.Commits)}
		w.Changes = append(w.Changes, c)
	}
	p.outcomes(w, oddsOf(all, sizes, &p))
	return w, nil
}

// oddsOf returns the odds of a history: the facts that it tells, and weights where it
// tells none.
func oddsOf(all []traced, sizes []float64, p *Params) odds {
	o := odds{
		broken: func(i int) float64 { return p.Broken * sizes[i] },
		pair: func(i, j int) float64 {
			if slices.ContainsFunc(all[i].Paths, func(x string) bool { return slices.Contains(all[j].Paths, x) }) {
				return 3 * p.Conflict
			}
			return p.Conflict
		},
		told: func(i int) (bool, bool) {
			return all[i].Outcome == "rejected" && len(all[i].Conflicts) == 0, all[i].Outcome != ""
		},
	}
	if slices.ContainsFunc(all, func(t traced) bool { return t.Conflicts != nil }) {
		o.toldPair = func(i, j int) (bool, bool) {
			return all[j].ID != "" && slices.Contains(all[i].Conflicts, all[j].ID), true
		}
	}
	return o
}

// folder returns the target that a path belongs to: its first two folders.
func folder(file string) string {
	parts := strings.SplitN(slashed.Dir(slashed.Clean("/"+file)), "/", 4)
	return strings.Join(parts[1:min(len(parts), 3)], "/")
}

// foldersOf makes the world's targets, in the order of their names, so that they
// depend on which folders are touched, and not on the time.
func foldersOf(all []traced, w *World) map[string]int {
	var names []string
	for i := range all {
		names = append(names, targetsOf(&all[i])...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	ids, groups := map[string]int{}, map[string]int{}
	for i, name := range names {
		top, _, _ := strings.Cut(name, "/")
		if _, ok := groups[top]; !ok {
			groups[top] = len(groups)
		}
		ids[name] = i
		w.Targets = append(w.Targets, Target{CostMin: 1, Group: groups[top]})
	}
	return ids
}

// targetsOf returns the folders of a change's paths, each once; a change without
// paths belongs to the root.
func targetsOf(t *traced) []string {
	var out []string
	for _, x := range t.Paths {
		out = append(out, folder(x))
	}
	if len(out) == 0 {
		out = []string{""}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func medianLines(all []traced) float64 {
	var lines []float64
	for i := range all {
		lines = append(lines, all[i].lines())
	}
	slices.Sort(lines)
	return Percentile(lines, 0.5)
}
