package predict

import (
	"math"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// Unseen is the assumed duration of a target before any target has been run.
const Unseen = 5 * time.Second

// The weight of a level of the hierarchy in the level below it, in observations. Runs
// of one target are alike: a single run says more of the target than all other runs
// together.
const (
	pullTarget = 0.5  // of the area, on a target
	pullLevel  = 3    // of the step on an area, of all on a step
	pullUnseen = 0.05 // of Unseen, a guess, on all
)

// window is how many observations the running mean of a target remembers: it follows a
// shift within about eight builds. The levels above a target remember levelWindow.
const (
	window      = 8
	levelWindow = 64
)

// Observe returns the history of a target with one more observation; d is nil for the first.
func Observe(d *queue.Duration, id string, took time.Duration) *queue.Duration {
	return observe(d, id, took, window)
}

// ObserveLevel is Observe for a level above targets: an area, a step, or all.
func ObserveLevel(d *queue.Duration, id string, took time.Duration) *queue.Duration {
	return observe(d, id, took, levelWindow)
}

func observe(d *queue.Duration, id string, took time.Duration, window int) *queue.Duration {
	if d == nil {
		return &queue.Duration{ID: id, Mean: took, N: 1}
	}
	next := *d
	next.Mean += (took - d.Mean) / time.Duration(min(d.N+1, window))
	next.N++
	return &next
}

// Memory is how many results the shares of failures and of flakes remember: both are rare.
const Memory = 32

// Fail returns the history with the outcome of its latest observation: 1 if the target
// failed, 0 if it passed, a part if it failed together with others.
func Fail(d *queue.Duration, failed float64) *queue.Duration {
	if d == nil || d.N < 1 {
		return d
	}
	next := *d
	next.Failed += (failed - d.Failed) / float64(min(d.N, Memory))
	return &next
}

// Duration returns how long a target takes, by the observations of it and of the levels
// above it: its area, its step, and all (each may be nil). From the top down, each level
// is the mean of its own observations and of the level above, which counts for a few
// observations (Efron and Morris, "Stein's estimation rule and its competitors", 1973).
// Without any observation, it is Unseen.
func Duration(target, area, step, all *queue.Duration) time.Duration {
	est := float64(Unseen)
	pull := pullUnseen
	for _, level := range [3]*queue.Duration{all, step, area} {
		if l := LevelOf(level); l.n > 0 {
			est = shrink(l.n, l.mean, pull, est)
		}
		pull = pullLevel
	}
	if target != nil && target.N > 0 {
		est = shrink(float64(min(target.N, window)), float64(target.Mean), pullTarget, est)
	}
	return time.Duration(est)
}

// Level is the part of the history of a level above targets that Duration uses. It is
// coarse, in steps of a tenth, so that one more observation seldom changes the
// predictions for all targets below it.
type Level struct{ n, mean float64 }

// LevelOf returns the Level of a history, which may be nil.
func LevelOf(d *queue.Duration) Level {
	if d == nil || d.N < 1 {
		return Level{}
	}
	n := math.Exp2(math.Floor(math.Log2(float64(min(d.N, levelWindow)))))
	if d.Mean < time.Millisecond {
		return Level{n: n} // some targets take no time at all
	}
	return Level{n, math.Round(math.Exp(math.Round(math.Log(float64(d.Mean))*10) / 10))}
}

func shrink(n, mean, pull, above float64) float64 { return (n*mean + pull*above) / (n + pull) }

// Area is the part of the repository that a target is in, as far as its name tells: the
// part before its last slash or colon. "//a/b:c" is in "//a/b", and so is "//a/b/c". A
// target without either is in no area.
func Area(target string) string {
	for i := len(target) - 1; i > 0; i-- {
		if target[i] == '/' || target[i] == ':' {
			return target[:i]
		}
	}
	return ""
}

// paceBins is the number of sizes that builds are divided into: powers of two, from a
// second up.
const paceBins = 24

// pacePrior is the weight, in builds, of the assumption that a build takes the sum of
// its targets.
const pacePrior = 0.5

// widest bounds how far one build moves the pace of builds of its size.
const widest = 6 // a factor of e^6

// ObservePace returns the record of how long builds take, by the size of their work,
// with one more build: it took took, and the durations of its targets add up to work. A
// build is shorter than its work if targets are built side by side, and longer by the
// time to set up and to fetch.
func ObservePace(paces []queue.Pace, work, took time.Duration) []queue.Pace {
	if work <= 0 || took <= 0 {
		return paces
	}
	out := make([]queue.Pace, paceBins)
	copy(out, paces)
	b := &out[paceBin(work)]
	x := max(-widest, min(widest, math.Log(took.Seconds()/work.Seconds())))
	b.N = min(b.N+1, levelWindow)
	d := x - b.Mean
	b.Mean += d / b.N
	b.Var += (d*(x-b.Mean) - b.Var) / b.N
	return out
}

// Pace returns how long a build of so much work takes, and the deviation of its
// logarithm. Builds of the same size count most; builds of half and of twice the size
// count a twelfth as much, and so on.
func Pace(paces []queue.Pace, work time.Duration) (took time.Duration, sigma float64) {
	if work <= 0 {
		return 0, unknownSigma
	}
	at := paceAt(work)
	n, mean := pacePrior, 0.0 // of all sizes: used as far as a size has no observations
	for i := range paces {
		n, mean = n+paces[i].N, mean+paces[i].N*paces[i].Mean
	}
	mean = mean / n * pacePrior
	n, spread := pacePrior, pacePrior*unknownSigma*unknownSigma
	for i := range paces {
		p := &paces[i]
		if p.N == 0 {
			continue
		}
		w := p.N * math.Exp(-2.5*math.Abs(float64(i)+0.5-at))
		n += w
		mean += w * p.Mean
		spread += w * p.Var
	}
	return time.Duration(min(float64(Longest), float64(work)*math.Exp(mean/n))), math.Sqrt(spread / n)
}

// unknownSigma is the deviation of the logarithm of a duration without any observation.
const unknownSigma = 0.8

// Longest bounds predicted durations, so that sums of them are valid durations, too.
const Longest = 30 * 24 * time.Hour

func paceAt(work time.Duration) float64 {
	return max(0, min(paceBins-1e-9, math.Log2(max(work.Seconds(), 1))))
}

func paceBin(work time.Duration) int { return int(paceAt(work)) }
