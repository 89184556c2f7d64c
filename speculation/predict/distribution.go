package predict

import (
	"fmt"
	"math"
)

// Family says which shape a Dist has.
type Family uint8

// The families of durations. LogNormal is the zero value: build times are
// positive and have a long upper tail.
const (
	LogNormal Family = iota
	Normal
)

var familyNames = [...]string{"lognormal", "normal"}

// String implements fmt.Stringer: "lognormal" or "normal".
func (f Family) String() string {
	if int(f) < len(familyNames) {
		return familyNames[f]
	}
	return fmt.Sprintf("family(%d)", uint8(f))
}

// MarshalText implements encoding.TextMarshaler.
func (f Family) MarshalText() ([]byte, error) {
	if int(f) >= len(familyNames) {
		return nil, fmt.Errorf("predict: no distribution has number %d", uint8(f))
	}
	return []byte(familyNames[f]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (f *Family) UnmarshalText(text []byte) error {
	for i, name := range familyNames {
		if name == string(text) {
			*f = Family(i)
			return nil
		}
	}
	return fmt.Errorf("predict: no distribution has the name %q", text)
}

// Of returns the distribution of a family with a mean and a standard deviation.
// The mean of a LogNormal is positive; any other is replaced by the smallest positive
// number. A deviation that is not positive makes a point.
func (f Family) Of(mean, sd float64) Dist {
	if !(sd > 0) {
		sd = 0
	}
	if f == Normal {
		return Dist{f, mean, sd}
	}
	if !(mean > 0) {
		mean = math.SmallestNonzeroFloat64
	}
	v := math.Log1p((sd / mean) * (sd / mean))
	return Dist{f, math.Log(mean) - v/2, math.Sqrt(v)}
}

// Dist is the distribution of one duration T. T, or log T for a LogNormal, is
// normal with mean Mu and standard deviation Sigma; Sigma 0 is a point. The
// unit of T is the caller's. The zero value is the point 1.
type Dist struct {
	Family Family  `json:"family"`
	Mu     float64 `json:"mu"`
	Sigma  float64 `json:"sigma"`
}

// Mean returns the mean of T, at most the largest finite number.
func (d Dist) Mean() float64 {
	if d.Family == Normal {
		return d.Mu
	}
	return min(math.Exp(d.Mu+d.Sigma*d.Sigma/2), math.MaxFloat64)
}

// SD returns the standard deviation of T, at most the largest finite number.
func (d Dist) SD() float64 {
	if d.Family == Normal {
		return d.Sigma
	}
	mean := d.Mean()
	if mean == 0 {
		return 0
	}
	return min(mean*math.Sqrt(math.Expm1(d.Sigma*d.Sigma)), math.MaxFloat64)
}

// CDF returns P(T <= t).
func (d Dist) CDF(t float64) float64 { return upper(-d.z(t)) }

// Quantile returns the t with P(T <= t) = p, for p in (0,1).
func (d Dist) Quantile(p float64) float64 {
	if p < 0.5 {
		return d.at(-upperZ(math.Log(p)))
	}
	return d.at(upperZ(math.Log1p(-p)))
}

// RemainingCDF returns P(T - elapsed <= t | T > elapsed), which is
// (F(elapsed+t) - F(elapsed)) / (1 - F(elapsed)). It is exact to rounding
// also where 1 - F(elapsed) underflows. A point that should have ended counts
// as about to end.
func (d Dist) RemainingCDF(t, elapsed float64) float64 {
	switch {
	case t < 0:
		return 0
	case d.Sigma == 0 && d.z(elapsed) > 0:
		return 1
	}
	return -math.Expm1(logUpper(d.z(elapsed+t)) - logUpper(d.z(elapsed)))
}

// RemainingQuantile returns the t with RemainingCDF(t, elapsed) = p, for p in
// (0,1).
func (d Dist) RemainingQuantile(p, elapsed float64) float64 {
	from := d.z(elapsed)
	if d.Sigma == 0 {
		return max(d.at(0)-elapsed, 0)
	}
	tail := math.Log1p(-p) + logUpper(from)
	z := 0.0
	if tail < -math.Ln2 {
		z = upperZ(tail)
	} else {
		z = -upperZ(math.Log(-math.Expm1(tail)))
	}
	return max(d.at(max(z, from))-elapsed, 0)
}

// RemainingMean returns E(T - elapsed | T > elapsed).
func (d Dist) RemainingMean(elapsed float64) float64 {
	from := d.z(elapsed)
	switch {
	case d.Sigma == 0:
		return max(d.at(0)-elapsed, 0)
	case d.Family == Normal:
		return max(d.Mu+d.Sigma*hazard(from)-elapsed, 0)
	}
	grown := logUpper(from-d.Sigma) - logUpper(from)
	return min(max(math.Exp(d.Mu+d.Sigma*d.Sigma/2+grown)-elapsed, 0), math.MaxFloat64)
}

// z returns how many deviations t lies above Mu; it is infinite for points and for a
// LogNormal at t <= 0.
func (d Dist) z(t float64) float64 {
	if d.Family == LogNormal {
		if t <= 0 {
			return math.Inf(-1)
		}
		t = math.Log(t)
	}
	if d.Sigma == 0 {
		if t >= d.Mu {
			return math.Inf(1)
		}
		return math.Inf(-1)
	}
	return (t - d.Mu) / d.Sigma
}

// at returns the value that lies z deviations above Mu.
func (d Dist) at(z float64) float64 {
	v := d.Mu
	if d.Sigma != 0 {
		v += d.Sigma * z
	}
	if d.Family == Normal {
		return v
	}
	return min(math.Exp(v), math.MaxFloat64)
}

// logRoot2Pi is the logarithm of the square root of 2 pi.
const logRoot2Pi = 0.91893853320467274178

// farTail is where the upper tail leaves the numbers that Erfc can give with
// full precision.
const farTail = 30

// upper returns the upper tail 1 - Phi(z) of the standard normal.
func upper(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// logUpper returns the logarithm of upper without underflow.
func logUpper(z float64) float64 {
	switch {
	case z < 0:
		return math.Log1p(-upper(-z))
	case z < farTail:
		return math.Log(upper(z))
	case math.IsInf(z, 1):
		return math.Inf(-1)
	}
	return -z*z/2 - logRoot2Pi - math.Log(hazard(z))
}

// hazard returns phi(z) / (1 - Phi(z)) without underflow; far out by Laplace's
// continued fraction z + 1/(z + 2/(z + 3/(z + ...))).
func hazard(z float64) float64 {
	if z < farTail {
		return math.Exp(-z*z/2-logRoot2Pi) / upper(z)
	}
	h := z
	for k := 8; k >= 1; k-- {
		h = z + float64(k)/h
	}
	return h
}

// upperZ returns the z with logUpper(z) = tail, for tail <= log 1/2.
// logUpper is concave and the start lies above the root, so that Newton's steps
// come down to it without a turn.
func upperZ(tail float64) float64 {
	if math.IsInf(tail, -1) {
		return math.Inf(1)
	}
	z := math.Sqrt(-2 * tail)
	for range 50 {
		step := (tail - logUpper(z)) / hazard(z)
		z -= step
		if math.Abs(step) <= 1e-14*(1+z) {
			break
		}
	}
	return max(z, 0)
}
