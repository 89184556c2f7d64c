package predict

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Bins of durations: binsPerDouble of them double it, and bin 0 ends at a second.
const (
	binsPerDouble = 4
	leastBin      = -8
	mostBin       = 68 // a day and a half
)

const (
	// tookWindow is how many runs of a step are counted before each counts as half a
	// run: older ones fade.
	tookWindow = 1000
	// tookSteps is how many steps are kept: as many as a file may have.
	tookSteps = 100
	// tookNeeded is how many runs tell the 99th percentile well enough to end other runs by
	// it.
	tookNeeded = 20
	// LimitFactor is the multiple of the 99th percentile that a run may take.
	LimitFactor = 3
)

// ObserveTook returns the record of how long the runs of steps take, with one more run
// of a step. The list is sorted by step; the given list is not changed.
func ObserveTook(list []queue.Took, step string, took time.Duration) []queue.Took {
	if took <= 0 {
		return list
	}
	out := slices.Clone(list)
	i, found := slices.BinarySearchFunc(out, step, byStep)
	if !found {
		if len(out) >= tookSteps {
			rarest := 0
			for i := range out {
				if count(out[i].Runs) < count(out[rarest].Runs) {
					rarest = i
				}
			}
			out = slices.Delete(out, rarest, rarest+1)
			i, _ = slices.BinarySearchFunc(out, step, byStep)
		}
		out = slices.Insert(out, i, queue.Took{Step: step})
	}
	runs := slices.Clone(out[i].Runs)
	bin := tookBin(took)
	at, there := slices.BinarySearchFunc(runs, bin, func(r queue.Runs, b int) int { return r.Bin - b })
	if !there {
		runs = slices.Insert(runs, at, queue.Runs{Bin: bin})
	}
	runs[at].N++
	if count(runs) > tookWindow {
		for i := range runs {
			runs[i].N /= 2
		}
		runs = slices.DeleteFunc(runs, func(r queue.Runs) bool { return r.N == 0 })
	}
	out[i].Runs = runs
	return out
}

// P99 returns a duration that 99 of 100 runs of a step have not exceeded, at most a
// fifth too long, and the number of runs that it is known from. The duration is 0 if
// there are too few runs.
func P99(list []queue.Took, step string) (usual time.Duration, runs int) {
	i, found := slices.BinarySearchFunc(list, step, byStep)
	if !found {
		return 0, 0
	}
	n := count(list[i].Runs)
	if n < tookNeeded {
		return 0, n
	}
	rest := n / 100 // so many may have taken longer
	for _, r := range slices.Backward(list[i].Runs) {
		if rest -= r.N; rest < 0 {
			return binEnd(r.Bin), n
		}
	}
	return 0, n
}

func byStep(t queue.Took, step string) int { return strings.Compare(t.Step, step) }

func count(runs []queue.Runs) (n int) {
	for _, r := range runs {
		n += r.N
	}
	return n
}

func tookBin(took time.Duration) int {
	return max(leastBin, min(mostBin, int(math.Ceil(binsPerDouble*math.Log2(took.Seconds())))))
}

// binEnd is the longest duration of a bin.
func binEnd(bin int) time.Duration {
	return time.Duration(math.Exp2(float64(bin)/binsPerDouble) * float64(time.Second)).Round(time.Millisecond)
}
