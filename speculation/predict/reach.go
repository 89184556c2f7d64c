package predict

import (
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// The levels of the interval that Reach returns: four of five verdicts lie in it.
const (
	reachLow  = 0.1
	reachHigh = 0.9
)

const (
	coldReach   = 1.9  // deviations on either side before anything is known: wide
	fewReach    = 12   // observations before which a group has the reach of all
	reachWindow = 96   // observations that are kept for each group
	reachStep   = 0.02 // by which a miss moves a level
	tookMemory  = 100  // forecasts that the mean time remembers
	pullTook    = 30   // observations after which the actual times of a group's verdicts count half of their final weight
	mostGroups  = 32   // bounds the groups that are kept
)

// Expected returns the median time until a verdict, by the plain forecast of a group and
// by the actual times of that group's verdicts: in the long run their geometric mean. A
// forecast that adds up builds knows little of how many of them are overtaken or not
// needed.
func Expected(reaches []queue.Reach, group int, plain time.Duration) time.Duration {
	plain = max(plain, time.Second)
	if group >= len(reaches) || reaches[group].N <= 0 {
		return plain
	}
	g := reaches[group]
	share := 0.5 * g.N / (g.N + pullTook)
	return time.Duration(math.Exp((1-share)*math.Log(plain.Seconds())+share*g.Took) * float64(time.Second))
}

// Reach returns the interval, of logarithms of the ratio of the actual time to the expected
// one, in which four of five verdicts of a group come. A group with few observations has the
// reach of all groups. If these are few as well, the interval is wide, by the deviation
// sigma of the forecast. Group 0 is all groups together.
func Reach(reaches []queue.Reach, group int, sigma float64) (low, high float64) {
	for _, g := range [2]int{group, 0} {
		if g < len(reaches) && len(reaches[g].Off) >= fewReach {
			return ends(reaches[g])
		}
	}
	return -coldReach * sigma, coldReach * sigma
}

// ends returns the quantiles of the errors at the levels of a group; each observation
// counts as long as its forecast stood.
func ends(r queue.Reach) (low, high float64) {
	total := 0
	at := make([]int, len(r.Off))
	for i := range at {
		at[i] = i
		total += r.Stood[i]
	}
	slices.SortFunc(at, func(a, b int) int { return r.Off[a] - r.Off[b] })
	low, high = float64(r.Off[at[0]])/100, float64(r.Off[at[len(at)-1]])/100
	sum := 0.0
	for _, i := range at {
		before := sum / float64(total)
		sum += float64(r.Stood[i])
		x := float64(r.Off[i]) / 100
		if before <= r.Below {
			low = x
		}
		if sum/float64(total) >= r.Above {
			return low, x
		}
	}
	return low, high
}

// SeeReach folds in how long a verdict took after a promise that stood for some time until
// the next one. A promise counts as long as it stood, so that four of five intervals that
// people see at any moment hold.
//
// It is conformal prediction over a window of the latest scores. The levels follow the
// misses, so that in the long run the share of misses is right, for any errors and any
// change of them: Gibbs and Candes, "Adaptive Conformal Inference Under Distribution
// Shift", 2021, section 2, for each end of the interval.
func SeeReach(reaches []queue.Reach, p queue.Promise, took, stood time.Duration) []queue.Reach {
	if p.Group < 1 || p.Group > mostGroups || stood <= 0 {
		return reaches
	}
	out := slices.Clone(reaches)
	if n := p.Group + 1; len(out) < n {
		out = append(out, make([]queue.Reach, n-len(out))...)
	}
	actual := math.Log(max(took.Seconds(), 1))
	off := actual - math.Log(max(p.Median.Seconds(), 1))
	for _, g := range [2]int{p.Group, 0} {
		out[g] = seen(out[g], p.Late, actual, off, max(1, int(min(stood.Seconds(), 1e6))))
	}
	return out
}

func seen(r queue.Reach, counted bool, actual, off float64, stood int) queue.Reach {
	if r.N == 0 {
		r.Below, r.Above = reachLow, reachHigh
	}
	if len(r.Off) >= fewReach {
		low, high := ends(r)
		r.Below = aimed(r.Below, reachLow, off < low)
		r.Above = 1 - aimed(1-r.Above, 1-reachHigh, off > high && !counted)
	}
	r.N = min(r.N+1, tookMemory)
	r.Took += (actual - r.Took) / r.N
	from := max(0, len(r.Off)+1-reachWindow)
	r.Off = append(slices.Clone(r.Off[from:]), int(math.Round(100*off)))
	r.Stood = append(slices.Clone(r.Stood[from:]), stood)
	return r
}

// Overrun folds in that the interval of a promise of a group is over without a verdict: the
// miss is counted now, and not again when the verdict comes (queue.Promise.Late).
func Overrun(reaches []queue.Reach, group int) []queue.Reach {
	out := slices.Clone(reaches)
	for _, g := range [2]int{group, 0} {
		if g < len(out) && len(out[g].Off) >= fewReach {
			out[g].Above = min(out[g].Above+reachStep, 1-(1-reachHigh)/5)
		}
	}
	return out
}

// aimed moves the level of an end that should be missed with chance want.
func aimed(level, want float64, missed bool) float64 {
	if level += reachStep * want; missed {
		level -= reachStep
	}
	return min(max(level, want/5), want*2)
}
