package predict

import "math"

// Key names what a duration is of: a target of a step, and the area that the
// target lies in, such as its directory.
type Key struct{ Step, Area, Target string }

// Durations predicts how long targets take, from what was seen of them and, as
// far as that is little, of their area, of their step and of all. The zero value
// has seen nothing. It is a plain value of a few numbers per key.
//
// The logarithm of a duration in seconds is normal with the variance Noise around
// the mean of its target; means of targets lie around the mean of their area with
// the variance Spread[target], those of areas around that of their step, those of
// steps around that of all. A level that has seen n durations with the mean M
// corrects the estimate m with variance p of the level above by
//
//	m += n/(n+k) (M - m), k = s/(p+Spread), p = (p+Spread) k/(n+k)
//
// where s is Noise and the Spreads of the levels below: empirical Bayes (Morris,
// Parametric Empirical Bayes Inference, JASA 1983) level by level. Noise and
// Spreads are learned: Noise from deviations of a target from itself, a Spread
// from the first duration of each key of its level.
//
// It follows shifts: a target remembers about 8 durations. It is robust: a
// duration further than three deviations from what its target leads to expect
// counts as one at that distance; the third in a row on one side starts the
// target anew.
type Durations struct {
	All    Level                `json:"all"`
	Steps  map[string]StepTimes `json:"steps,omitempty"`
	Noise  Level                `json:"noise"`
	Spread [3]Level             `json:"spread"` // of steps, areas, targets
}

// StepTimes is what was seen of one step.
type StepTimes struct {
	Level
	Areas   map[string]Level `json:"areas"`
	Targets map[string]Level `json:"targets"`
}

// Level is a running mean, and what is needed to go on with it.
type Level struct {
	Mean     float64 `json:"mean"`
	Variance float64 `json:"variance,omitempty"` // of one value around Mean
	N        float64 `json:"n"`                  // how many values it stands for
	Far      int     `json:"far,omitempty"`      // how many of the latest were too high, or below 0 too low
}

const (
	levelSteps = iota
	levelAreas
	levelTargets
)

// What is assumed where nothing was seen, with the weight of assumed values.
var (
	assumedMean   = math.Log(Unseen.Seconds())
	assumedNoise  = 0.1
	assumedSpread = [3]float64{1, 0.5, 1}
)

const (
	assumed     = 8   // values that an assumed variance stands for
	assumedWide = 1.0 // variance of the mean of all before the first value
	farOut      = 3   // deviations
	learned     = 256 // values that variances and the mean of all remember
	ownNoise    = 4   // values of its own at which a target's variance weighs as much as Noise
)

// memoryOf is how many values a level remembers.
var memoryOf = [3]float64{levelSteps: 64, levelAreas: 32, levelTargets: window}

// Estimate returns the distribution of the next duration of a target, in
// seconds. Its variance holds both the noise and the doubt about the mean. Its
// mean is the least-squares estimate, its median the one for relative errors.
func (d *Durations) Estimate(k Key) Dist {
	mean, doubt := d.above(k, levelTargets)
	target := d.Steps[k.Step].Targets[k.Target]
	mean, doubt = target.pull(mean, doubt, d.spread(levelTargets), d.noise())
	return Dist{LogNormal, mean, math.Sqrt(doubt + d.noiseOf(target))}
}

// Observe adds a duration in seconds. One that is not positive and finite is
// ignored. It takes constant time.
func (d *Durations) Observe(k Key, seconds float64) {
	if !(seconds > 0) || math.IsInf(seconds, 1) {
		return
	}
	x := math.Log(seconds)
	step, seen := d.Steps[k.Step]
	if !seen {
		step.Areas, step.Targets = map[string]Level{}, map[string]Level{}
	}
	target, area := step.Targets[k.Target], step.Areas[k.Area]
	x = d.near(k, target, x, &target.Far)
	if far := target.Far; far >= farOut || far <= -farOut {
		target = Level{}
		x = math.Log(seconds)
	}
	d.learn(k, [3]Level{step.Level, area, target}, x)
	target.add(x, memoryOf[levelTargets])
	area.add(x, memoryOf[levelAreas])
	step.add(x, memoryOf[levelSteps])
	d.All.add(x, learned)
	step.Targets[k.Target], step.Areas[k.Area] = target, area
	if d.Steps == nil {
		d.Steps = map[string]StepTimes{}
	}
	d.Steps[k.Step] = step
}

// near returns the value next to x that lies within farOut deviations of what
// is expected, and counts in far how many in a row did not.
func (d *Durations) near(k Key, target Level, x float64, far *int) float64 {
	e := d.Estimate(k)
	if target.N > 0 {
		e = Dist{LogNormal, target.Mean, math.Sqrt(d.noiseOf(target) * (1 + 1/target.N))}
	}
	switch z := (x - e.Mu) / e.Sigma; {
	case z > farOut:
		*far = max(*far, 0) + 1
		return e.Mu + farOut*e.Sigma
	case z < -farOut:
		*far = min(*far, 0) - 1
		return e.Mu - farOut*e.Sigma
	}
	*far = 0
	return x
}

// learn takes from a value what it says of the variances. A key of a level that
// is seen for the first time, below one that has been seen, shows the spread of
// its level, besides the doubt about the mean above and the spreads below.
func (d *Durations) learn(k Key, levels [3]Level, x float64) {
	if t := levels[levelTargets]; t.N > 0 {
		d.Noise.variance(d.noise(), (x-t.Mean)*(x-t.Mean)*t.N/(t.N+1))
		return
	}
	for l := levelSteps; l <= levelTargets; l++ {
		if levels[l].N > 0 || d.All.N == 0 {
			continue
		}
		mean, doubt := d.above(k, l)
		d.Spread[l].variance(d.spread(l), (x-mean)*(x-mean)-doubt-d.below(l))
		return
	}
}

// above returns the mean that the levels above one expect of a key, and the
// variance of this estimate.
func (d *Durations) above(k Key, level int) (mean, doubt float64) {
	step := d.Steps[k.Step]
	mean, doubt = d.All.pull(assumedMean, 0, assumedWide, d.below(levelSteps)+d.spread(levelSteps))
	if level > levelSteps {
		mean, doubt = step.pull(mean, doubt, d.spread(levelSteps), d.below(levelSteps))
	}
	if level > levelAreas {
		mean, doubt = step.Areas[k.Area].pull(mean, doubt, d.spread(levelAreas), d.below(levelAreas))
	}
	return mean, doubt
}

// below returns the variance of one value around the mean of a key of a level.
func (d *Durations) below(level int) float64 {
	v := d.noise()
	for l := level + 1; l <= levelTargets; l++ {
		v += d.spread(l)
	}
	return v
}

func (d *Durations) spread(level int) float64 {
	if s := d.Spread[level]; s.N > 0 {
		return min(max(s.Variance, 0.01), 4)
	}
	return assumedSpread[level]
}

func (d *Durations) noise() float64 {
	if d.Noise.N > 0 {
		return min(max(d.Noise.Variance, 0.0025), 1)
	}
	return assumedNoise
}

// noiseOf returns the variance of one value of a target around its mean.
func (d *Durations) noiseOf(target Level) float64 {
	return (ownNoise*d.noise() + target.N*target.Variance) / (ownNoise + target.N)
}

// pull returns the estimate of a level's mean from that of the level above and
// from what the level has seen.
func (l Level) pull(mean, doubt, spread, one float64) (float64, float64) {
	wide := doubt + spread
	k := one / wide
	return mean + l.N/(l.N+k)*(l.Mean-mean), wide * k / (l.N + k)
}

// add takes one more value into the mean, and its deviation into the variance.
func (l *Level) add(x, memory float64) {
	n := l.N
	l.N = min(n+1, memory)
	r := x - l.Mean
	l.Mean += r / l.N
	if n > 0 {
		l.Variance += (r*r*n/(n+1) - l.Variance) / min(n, memory)
	}
}

// variance takes one more square into a learned variance that began at an
// assumed one.
func (l *Level) variance(now, square float64) {
	if l.N == 0 {
		l.Variance, l.N = now, assumed
	}
	l.N = min(l.N+1, learned)
	l.Variance += (square - l.Variance) / l.N
}
