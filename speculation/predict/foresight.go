package predict

import (
	"math"
	"slices"
	"time"

	"github.com/submitqueue/submitqueue/queue"
)

// The interval that Foresight.Ends returns: four of five verdicts lie in it, and some come
// before it.
const (
	held     = 0.8
	earliest = 0.03
	latest   = 0.1
)

const (
	leads          = 5    // values that a forecast rests on, with the constant
	leadPrior      = 10   // forecasts that the prior counts as: the plain forecast is right
	leadMemory     = 6000 // forecasts that the coefficients remember
	endMemory      = 4000 // forecasts that the ends remember
	fewEnds        = 12   // forecasts before which the ends are wide
	coldEnd        = 1.9  // deviations to either side until then
	openShare      = 0.2  // of the weight of a promise with a verdict that an open one has
	farthest       = 3    // from the plain forecast, as a logarithm
	endBin         = 0.05 // width of a bin of errors, as a logarithm
	endBins        = 161  // the errors from -4 to 4; the outermost hold all beyond
	firstEnd       = -endBin * endBins / 2
	leadResolution = 1000 // of what is kept: parts of one
)

// Lead returns what a forecast of the time until a verdict rests on: the plain forecast, which
// adds up builds; how many changes ahead are neither decided nor proven; the place in the
// order; and how long the change has waited so far. The values are for Foresight alone.
func Lead(plain time.Duration, open, place int, waited time.Duration) []float64 {
	lead := []float64{logOf(plain), math.Log2(1 + float64(open)), math.Log2(1 + float64(place)), logOf(waited)}
	for i, v := range lead {
		lead[i] = math.Round(v*leadResolution) / leadResolution
	}
	return lead
}

// logOf is the logarithm of a duration in seconds, at least one.
func logOf(d time.Duration) float64 { return math.Log(max(d.Seconds(), 1)) }

// Foresight corrects plain forecasts of the time until a verdict by the queue's own record of
// forecasts and verdicts. A forecast that adds up builds knows little of how many of them are
// overtaken, are not needed, or have to be made again. The median is a linear regression
// of the logarithm of the actual time on what the forecast rests on, by ridge towards the
// plain forecast. The ends are quantiles of the errors that the medians had when they were
// given, as in split conformal prediction (Lei et al., "Distribution-Free Predictive Inference
// for Regression", 2018, section 2.2). Both count a forecast for as long as it stood, so that
// four of five intervals that people see at any moment hold; and later ones more than earlier
// ones.
type Foresight struct {
	coef      [leads]float64 // besides the plain forecast
	low, high float64
	warm      bool
}

// NewForesight returns the correction that follows from a record, and from the errors that open
// promises have at least (Waiting; nil: none).
func NewForesight(r queue.Foresight, waiting []float64) *Foresight {
	f := &Foresight{}
	if r.N <= 0 || len(r.Sums) != leadSums {
		return f
	}
	var a [leads * leads]float64
	at := 0
	for i := range leads {
		for j := range i + 1 {
			a[i*leads+j] = r.Sums[at]
			at++
		}
		a[i*leads+i] += leadPrior * r.Stood / r.N
	}
	coef := slices.Clone(r.Sums[at:])
	if cholesky(a[:], leads) {
		substitute(a[:], leads, coef)
		f.coef = [leads]float64(coef)
	}
	if f.warm = r.N >= fewEnds && len(r.Off) == endBins; f.warm {
		f.low, f.high = shortest(survival(r.Off, waiting))
	}
	return f
}

// leadSums is the length of queue.Foresight.Sums.
const leadSums = leads*(leads+1)/2 + leads

// survival returns the distribution of errors, by the Kaplan-Meier estimator: of a promise that is
// open, only the least error is known. If errors counted only with the verdict, quick changes would
// count first, and intervals would end too early while a queue grows. Open promises count less
// than others, as those of changes that wait for each other are all late at once: at full weight,
// 85 % of the intervals of eight worlds hold, a third wider than now, when 82 % do.
func survival(off, waiting []float64) []float64 {
	if len(waiting) != len(off) {
		return off
	}
	left := 0.0
	for i, v := range off {
		left += v + openShare*waiting[i]
	}
	out := make([]float64, len(off)+1)
	alive := 1.0
	for i, v := range off {
		if left > 0 {
			out[i] = alive * v / left
		}
		alive -= out[i]
		left -= v + openShare*waiting[i]
	}
	out[len(off)] = max(alive, 0)
	return out
}

// shortest returns the ends of the interval that is the shortest in time, of those with the
// same share of the errors.
func shortest(bins []float64) (low, high float64) {
	for level := earliest; level <= latest; level += 0.01 {
		a, b := binQuantile(bins, level), binQuantile(bins, level+held)
		if level == earliest || math.Exp(b)-math.Exp(a) < math.Exp(high)-math.Exp(low) {
			low, high = a, b
		}
	}
	return low, high
}

// binQuantile is a quantile of a histogram of errors.
func binQuantile(bins []float64, level float64) float64 {
	total := 0.0
	for _, w := range bins {
		total += w
	}
	sum := 0.0
	for i, w := range bins {
		if sum+w >= level*total && w > 0 {
			return firstEnd + endBin*(float64(i)+(level*total-sum)/w)
		}
		sum += w
	}
	return 0
}

// Median returns the time until the verdict that as many verdicts come before as after, of a
// forecast that rests on lead.
func (f *Foresight) Median(lead []float64) time.Duration {
	off := f.coef[0]
	for i, v := range lead {
		off += f.coef[i+1] * v
	}
	off = min(max(off, -farthest), farthest)
	seconds := min(math.Exp(lead[0]+off), Longest.Seconds())
	return time.Duration(max(seconds, 1) * float64(time.Second))
}

// Ends returns the interval, of logarithms of the ratio of the actual time to the median, in
// which four of five verdicts come. If few forecasts have had a verdict, it is wide, by the
// deviation sigma of the plain forecast.
func (f *Foresight) Ends(sigma float64) (low, high float64) {
	if !f.warm {
		return -coldEnd * sigma, coldEnd * sigma
	}
	return f.low, f.high
}

// SeeForecast folds in how long a verdict took after a promise that stood for some time until
// the next one. A promise of another version, which rests on other values, is left out.
func SeeForecast(r queue.Foresight, p queue.Promise, took, stood time.Duration) queue.Foresight {
	if len(p.Lead) != leads-1 || stood <= 0 {
		return r
	}
	weight, actual := stood.Seconds(), logOf(took)
	keep := 1 - 1.0/leadMemory
	x := append([]float64{1}, p.Lead...)
	sums := make([]float64, 0, leadSums)
	for i := range leads {
		for j := range i + 1 {
			sums = append(sums, weight*x[i]*x[j])
		}
	}
	for i := range leads {
		sums = append(sums, weight*x[i]*(actual-p.Lead[0]))
	}
	if len(r.Sums) == leadSums {
		for i, v := range r.Sums {
			sums[i] += keep * v
		}
	}
	return queue.Foresight{N: r.N*keep + 1, Stood: r.Stood*keep + weight, Sums: sums, Off: seeOff(r.Off, p.Median, took, stood)}
}

// Waiting returns the errors that open promises of so many changes have at least: a histogram as in
// queue.Foresight.Off.
func Waiting(promises []queue.Promises, now queue.Instant) []float64 {
	out := make([]float64, endBins)
	for _, p := range promises {
		for i, x := range p.Given {
			next := now
			if i+1 < len(p.Given) {
				next = p.Given[i+1].At
			}
			// As for SeeForecast, one that has not stood at all tells nothing: a clock that ran ahead
			// wrote it down, and it has been moved behind those that came after it.
			if stood := next.Sub(x.At); stood > 0 {
				out[endBinOf(x.Median, now.Sub(x.At))] += stood.Seconds()
			}
		}
	}
	return out
}

// seeOff folds an error into a histogram of errors.
func seeOff(was []float64, median, took, stood time.Duration) []float64 {
	out := make([]float64, endBins)
	if len(was) == endBins {
		for i, v := range was {
			out[i] = math.Round(v*(1-1.0/endMemory)*leadResolution) / leadResolution
		}
	}
	out[endBinOf(median, took)] += stood.Seconds()
	return out
}

// endBinOf is the bin of the error of a median.
func endBinOf(median, took time.Duration) int {
	return min(max(int((logOf(took)-logOf(median)-firstEnd)/endBin), 0), endBins-1)
}
