package predict

import (
	"math"
	"slices"
)

// Finish is when a build ends, counted from now: at Start + T, where T has the
// distribution Took. A build with Start < 0 is running: it has lasted -Start and not
// ended, so T is conditioned on T > -Start. All values are in one unit of time.
type Finish struct {
	Start float64
	Took  Dist
}

// entrant is a Finish prepared for many calls.
type entrant struct {
	Finish
	from  float64 // the z of the elapsed time; -Inf for a build that does not run
	tail  float64 // the logarithm of P(T > elapsed)
	share float64 // 1/P(T > elapsed); 0 far out, where quotients are taken by tail
	late  bool    // a point that should have ended already: it ends now
}

func (f Finish) entrant() entrant {
	e := entrant{Finish: f, from: math.Inf(-1)}
	if f.Start < 0 {
		e.from = f.Took.z(-f.Start)
	}
	e.late = f.Took.Sigma == 0 && e.from > 0
	e.tail = logUpper(max(e.from, -farTail))
	if e.from < 20 {
		e.share = 1 / upper(e.from)
	}
	return e
}

// later returns P(the build ends after t).
func (e *entrant) later(t float64) float64 {
	if e.late {
		if t < 0 {
			return 1
		}
		return 0
	}
	switch z := e.Took.z(t - e.Start); {
	case z <= e.from:
		return 1
	case e.share > 0:
		return upper(z) * e.share
	default:
		return math.Exp(logUpper(z) - e.tail)
	}
}

// Before returns P(c ends before all of others): the integral over t of
// f_c(t) PROD_j (1-F_j(t)). The events share the end of c, so the result is not the
// product over pairs: of n+1 equal distributions each is first with chance 1/(n+1). It
// is exact to 1e-5 (adaptive Gauss-Lobatto quadrature with Kronrod's extension, Gander,
// Gautschi, Adaptive Quadrature - Revisited, BIT 2000, section 4, over the normal scale
// of c). Ending at the same time, as points can, is not before. It does not allocate
// for up to 16 others.
func Before(c Finish, others ...Finish) float64 {
	if len(others) == 1 {
		if o := others[0]; c.Start >= 0 && o.Start >= 0 && c.Took.Family == Normal && o.Took.Family == Normal && c.Took.Sigma > 0 {
			return upper((c.Start + c.Took.Mu - o.Start - o.Took.Mu) / math.Hypot(c.Took.Sigma, o.Took.Sigma))
		}
	}
	var few [16]entrant
	q := race{c: c.entrant(), others: few[:0]}
	for _, o := range others {
		q.others = append(q.others, o.entrant())
	}
	switch {
	case len(others) == 0:
		return 1
	case q.c.late:
		return q.allLater(0)
	case c.Took.Sigma == 0:
		return q.allLater(c.Start + c.Took.at(0))
	}
	var some [32]float64
	edges := q.edges(some[:0])
	var sum float64
	v := q.at(edges[0])
	for i, b := range edges[1:] {
		next := q.at(b)
		sum += q.over(edges[i], v, b, next, 0)
		v = next
	}
	return min(max(sum, 0), 1)
}

// reach is how many deviations on each side hold all but 1e-10 of a normal. Of a normal
// that is cut off below at z, all but 1e-9 lies below hypot(z, reach).
const reach = 6.5

// race is the integrand of Before.
type race struct {
	c      entrant
	others []entrant
}

// edges appends the ends of the panels: four that hold all of c, cut at the points that a
// rule may miss between its nodes. These points are now, since no running build ends
// before it, and the middle of each build with an end that is almost a point on the scale
// of c.
func (q *race) edges(all []float64) []float64 {
	low, high := max(q.c.from, -reach), math.Hypot(max(q.c.from, 0), reach)
	for i := range 5 {
		all = append(all, low+(high-low)*float64(i)/4)
	}
	cut := func(z float64) {
		if z > low && z < high && len(all) < cap(all) && !slices.Contains(all, z) {
			all = append(all, z)
		}
	}
	for i := range q.others {
		o := &q.others[i]
		z := func(at float64) float64 { return q.c.Took.z(o.Start + o.Took.at(at) - q.c.Start) }
		if o.from > math.Inf(-1) {
			cut(q.c.Took.z(-q.c.Start))
		}
		if z(1)-z(-1) < 1 {
			cut(z(0))
		}
	}
	slices.Sort(all)
	return all
}

// at returns the density of c at z times the chance that all others are later.
func (q *race) at(z float64) float64 {
	return math.Exp(-z*z/2-logRoot2Pi-q.c.tail) * q.allLater(q.c.Start+q.c.Took.at(z))
}

// allLater returns P(all others end after t).
func (q *race) allLater(t float64) float64 {
	p := 1.0
	for i := range q.others {
		if p *= q.others[i].later(t); p == 0 {
			break
		}
	}
	return p
}

// over integrates from a to b, where the integrand has the values va and vb. A panel
// that is still inexact is halved and each half integrated separately; the depth bounds
// the cost of a jump. Both ends are nodes of the rule, so that no jump hides between a
// node and an end.
func (q *race) over(a, va, b, vb float64, depth int) float64 {
	const outer, inner = 0.81649658092772603273, 0.44721359549995793928 // roots of 2/3 and 1/5
	middle, half := (a+b)/2, (b-a)/2
	vm := q.at(middle)
	vo := q.at(middle-outer*half) + q.at(middle+outer*half)
	vi := q.at(middle-inner*half) + q.at(middle+inner*half)
	coarse := half / 6 * (va + vb + 5*vi)
	fine := half / 1470 * (77*(va+vb) + 432*vo + 625*vi + 672*vm)
	other := half / 15 * (9*vo + 14*vm - va - vb) // of the nodes that coarse leaves out
	if math.Abs(fine-coarse) < 3e-7 && math.Abs(fine-other) < 1e-5 || depth == 24 {
		return fine
	}
	return q.over(a, va, middle, vm, depth+1) + q.over(middle, vm, b, vb, depth+1)
}

// Needed returns P_needed of a build of c: the chance that its result will be
// needed. ahead holds, for each change ahead that c cannot overtake, the chance of the
// outcome that the build assumes. passable holds the same for changes that c can
// overtake. first is P(c ends before all of these), as Before gives it. Either c is
// first and their outcomes do not matter, or their outcomes matter:
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
