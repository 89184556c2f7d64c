package predict

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Bounds of the history that is remembered.
const (
	authorMemory = 100 // verdicts of an author
	authorPull   = 5   // how many verdicts everybody's rate counts for in an author's rate
	mainMemory   = 50  // steps on main
	mainPull     = 5
	mainPrior    = 0.98 // assumed share of steps on main that pass, before any was run
	halfLife     = 90 * 24 * time.Hour
	mostDirs     = 64 // directories that an author or an area remembers
)

// WideChange is the largest number of directories of a change from which the queue
// learns about directories: a sweep through all of them says nothing about any of them.
const WideChange = 16

// Ended says how a change ended, for SeeAuthor.
type Ended struct {
	At     queue.Instant
	Came   queue.Instant // arrival
	Judged bool          // it was built to a verdict
	Landed bool
	Dirs   []string // directories that it touches, each once
}

// SeeAuthor returns the record of an author with one more change that has ended; a is
// nil for the first.
func SeeAuthor(a *queue.Author, name string, e Ended) *queue.Author {
	next := queue.Author{Name: name, Since: e.Came, At: e.At}
	if a != nil {
		next = *a
		next.Since = queue.Earliest(a.Since, e.Came)
		next.At = max(a.At, e.At)
		next.Dirs = faded(a.Dirs, a.At, next.At)
	}
	next.Changes++
	if e.Judged {
		r := rateOf(next.Success).Observe(e.Landed, authorMemory)
		next.Success = queue.Rate{Held: r.Passed, Of: r.Seen}
	}
	if e.Landed && len(e.Dirs) <= WideChange {
		next.Dirs = added(next.Dirs, e.Dirs)
	}
	return &next
}

// AuthorSuccess returns the share of an author's changes that land, smoothed towards
// everybody's; a may be nil.
func AuthorSuccess(a *queue.Author, everybody float64) float64 {
	if a == nil {
		return everybody
	}
	return rateOf(a.Success).Mean(everybody, authorPull)
}

// AuthorPaths returns how many changes of an author have landed in each of some
// directories, decayed by half in 90 days, on average over the directories. It is NaN if
// there are none.
func AuthorPaths(a *queue.Author, dirs []string, now queue.Instant) float64 {
	if len(dirs) == 0 {
		return math.NaN()
	}
	if a == nil {
		return 0
	}
	sum := 0.0
	for _, d := range dirs {
		sum += a.Dirs[d]
	}
	return sum * decay(a.At, now) / float64(len(dirs))
}

// SeeArea returns the record of a directory with one more change that has landed there
// and in the others of dirs; a is nil for the first.
func SeeArea(a *queue.Area, dir string, dirs []string, at queue.Instant) *queue.Area {
	next := queue.Area{Dir: dir, At: at}
	if a != nil {
		next = *a
		next.At = max(a.At, at)
		next.Weight *= decay(a.At, next.At)
		next.With = faded(a.With, a.At, next.At)
	}
	next.Weight++
	next.With = added(next.With, slices.DeleteFunc(slices.Clone(dirs), func(d string) bool { return d == dir }))
	return &next
}

// coPull is the assumed number of earlier changes in each directory that touched no other
// directory: after a single common change, it is not certain that one directory follows
// another.
const coPull = 2

// CoChange returns the highest share of the changes in a directory of one change that
// also touched one of the other's directories. area returns the record of a directory, or
// nil. A directory that both touch counts like any other. The result is NaN if none of
// them has a record.
func CoChange(a, b []string, area func(dir string) *queue.Area) float64 {
	most, known := 0.0, false
	for _, side := range [2][2][]string{{a, b}, {b, a}} {
		for _, d := range side[0] {
			x := area(d)
			if x == nil {
				continue
			}
			known = true
			for _, other := range side[1] {
				share := x.With[other]
				if other == d {
					share = x.Weight
				}
				most = max(most, share/(x.Weight+coPull))
			}
		}
	}
	if !known {
		return math.NaN()
	}
	return most
}

// SeeMain returns the rate of steps on main with one more result.
func SeeMain(r queue.Rate, passed bool) queue.Rate {
	next := rateOf(r).Observe(passed, mainMemory)
	return queue.Rate{Held: next.Passed, Of: next.Seen}
}

// MainRate returns the share of steps on main that pass, smoothed.
func MainRate(r queue.Rate) float64 { return rateOf(r).Mean(mainPrior, mainPull) }

// Flake returns the history with the flakes of its latest observation: 1 if the target
// passed after it had failed, which is counted; 0 if it did not; a part if it may have
// been another target. Call it after Observe, once for each observation.
func Flake(d *queue.Duration, flaked float64) *queue.Duration {
	if d == nil || d.N < 1 {
		return d
	}
	next := *d
	next.Flaked += (flaked - d.Flaked) / float64(min(d.N, Memory))
	if flaked == 1 {
		next.Flakes++
	}
	return &next
}

func rateOf(r queue.Rate) Rate { return Rate{Passed: r.Held, Seen: r.Of} }

func decay(from, to queue.Instant) float64 {
	return math.Exp2(-float64(max(to.Sub(from), 0)) / float64(halfLife))
}

// faded returns weights as of a later moment, without those that have become very
// small.
func faded(w map[string]float64, from, to queue.Instant) map[string]float64 {
	by, out := decay(from, to), make(map[string]float64, len(w)+1)
	for d, v := range w {
		if v *= by; v >= 0.01 {
			out[d] = v
		}
	}
	return out
}

// added returns weights with one more for each of some directories; if there are too
// many, it keeps the heaviest.
func added(w map[string]float64, dirs []string) map[string]float64 {
	if w == nil {
		w = map[string]float64{}
	}
	for _, d := range dirs {
		w[d]++
	}
	if over := len(w) - mostDirs; over > 0 {
		names := slices.SortedFunc(maps.Keys(w), func(a, b string) int { return cmp.Or(cmp.Compare(w[a], w[b]), cmp.Compare(a, b)) })
		for _, d := range names[:over] {
			delete(w, d)
		}
	}
	if len(w) == 0 {
		return nil
	}
	return w
}
