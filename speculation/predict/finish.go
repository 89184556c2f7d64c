package predict

import "math"

// Finish is when a build ends, counted from now: at Start + T, where T has the
// distribution Took. One with Start < 0 runs: it has lasted -Start and not
// ended, so that T is conditioned on T > -Start. All in one unit of time.
type Finish struct {
	Start float64
	Took  Dist
}

// from returns the z of the elapsed time.
func (f Finish) from() float64 {
	if f.Start < 0 {
		return f.Took.z(-f.Start)
	}
	return math.Inf(-1)
}

// overdue reports a point that should have ended already: it ends now.
func (f Finish) overdue() bool { return f.Took.Sigma == 0 && f.from() > 0 }

// later returns P(the build ends after t).
func (f Finish) later(t float64) float64 {
	if f.overdue() {
		if t < 0 {
			return 1
		}
		return 0
	}
	from := f.from()
	z := f.Took.z(t - f.Start)
	switch {
	case z <= from:
		return 1
	case from < -reach:
		return upper(z)
	case from < 6:
		return upper(z) / upper(from)
	}
	return math.Exp(logUpper(z) - logUpper(from))
}

// Before returns P(c ends before all of others): the integral over t of
// f_c(t) PROD_j (1-F_j(t)). The events share the end of c, so that it is not
// the product of its pairs: of n+1 equal distributions each is first with
// 1/(n+1). It is exact to 1e-5 (adaptive Gauss-Lobatto quadrature with Kronrod's extension,
// Gander, Gautschi, Adaptive Quadrature - Revisited, BIT 2000, section 4, over the
// normal scale of c); of points, which end together with probability, an end at the same time is not
// before. It does not allocate.
func Before(c Finish, others ...Finish) float64 {
	if len(others) == 0 {
		return 1
	}
	if c.Took.Sigma == 0 {
		t := c.Start + c.Took.at(0)
		if c.overdue() {
			t = 0
		}
		return laterThan(others, t)
	}
	if len(others) == 1 {
		if o := others[0]; c.Start >= 0 && o.Start >= 0 && c.Took.Family == Normal && o.Took.Family == Normal {
			return upper((c.Start + c.Took.Mu - o.Start - o.Took.Mu) / math.Hypot(c.Took.Sigma, o.Took.Sigma))
		}
	}
	from := c.from()
	q := race{c: c, others: others, logTail: logUpper(max(from, -40))}
	low, high := max(from, -reach), math.Hypot(max(from, 0), reach)
	var sum float64
	const panels = 4
	width, v := (high-low)/panels, q.at(low)
	for i := range panels {
		a := low + width*float64(i)
		next := q.at(a + width)
		sum += q.over(a, v, a+width, next, 0)
		v = next
	}
	return min(max(sum, 0), 1)
}

// reach is how many deviations on each side hold all but 1e-10 of a normal; of one
// cut off below at z, all but 1e-9 lies below hypot(z, reach).
const reach = 6.5

func laterThan(others []Finish, t float64) float64 {
	p := 1.0
	for i := range others {
		if p *= others[i].later(t); p == 0 {
			break
		}
	}
	return p
}

// race is the integrand of Before.
type race struct {
	c       Finish
	others  []Finish
	logTail float64 // the logarithm of P(T > elapsed)
}

func (q *race) at(z float64) float64 {
	return math.Exp(-z*z/2-logRoot2Pi-q.logTail) * laterThan(q.others, q.c.Start+q.c.Took.at(z))
}

// over integrates from a to b, where the integrand is va and vb. Halves of what is
// still off are integrated apart; the depth bounds what a jump costs. Both ends
// are nodes of the rule, so that no jump hides between a node and an end.
func (q *race) over(a, va, b, vb float64, depth int) float64 {
	const outer, inner = 0.81649658092772603273, 0.44721359549995793928 // roots of 2/3 and 1/5
	middle, half := (a+b)/2, (b-a)/2
	vm := q.at(middle)
	vo := q.at(middle-outer*half) + q.at(middle+outer*half)
	vi := q.at(middle-inner*half) + q.at(middle+inner*half)
	coarse := half / 6 * (va + vb + 5*vi)
	fine := half / 1470 * (77*(va+vb) + 432*vo + 625*vi + 672*vm)
	if math.Abs(fine-coarse) < 3e-7 || depth == 24 {
		return fine
	}
	return q.over(a, va, middle, vm, depth+1) + q.over(middle, vm, b, vb, depth+1)
}

// Needed returns P_needed of a build of c: the chance that its result will be
// asked for. ahead holds, for each change ahead that c cannot overtake, the
// chance of the outcome that the build assumes; passable the same for those that
// c can overtake; first is P(c ends before all of these), as Before gives it.
// Either c is first and their outcomes do not matter, or they do:
//
//	PROD ahead x (first + (1-first) x PROD passable)
//
// It stands for the general P_needed of CI at Scale (2025), which tends to 0 where
// this tends to its fallback; see PublishedNeeded.
func Needed(ahead, passable []float64, first float64) float64 {
	return product(ahead) * (first + (1-first)*product(passable))
}

func product(chances []float64) float64 {
	p := 1.0
	for _, c := range chances {
		p *= c
	}
	return p
}
