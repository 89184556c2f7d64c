package predict

import (
	"errors"
	"math"
)

// errNoConvergence says that Newton's method has used up its steps.
var errNoConvergence = errors.New("predict: the fit does not converge")

// newton minimises
//
//	½ Σ_{j≥1} β_j² + Σ_i s_i ln(1 + exp(-m_i)),  m_i = ±(z_i · β), plus where y_i
//
// by Newton's method with step halving (iteratively reweighted least squares).
// z holds rows of k values; the first of each is the constant of the intercept, which
// carries no penalty. beta is the starting point and the result.
type newton struct {
	z    []float64
	k    int
	y    []bool
	s    []float64
	beta []float64

	p, next    []float64 // chances of the rows at beta and at the point tried
	grad, step []float64
	hess, try  []float64
}

// stepLimit bounds a step in every coordinate: if the rows are saturated, the curvature
// is nearly 0 and Newton's own step is unbounded.
const stepLimit = 20

func (m *newton) run(steps int, tol float64) error {
	n, k := len(m.y), m.k
	m.p, m.next = make([]float64, n), make([]float64, n)
	m.grad, m.step, m.try = make([]float64, k), make([]float64, k), make([]float64, k)
	m.hess = make([]float64, k*k)
	loss := m.loss(m.beta, m.p)
	for range steps {
		m.derive()
		m.direction()
		slope, longest := 0.0, 0.0
		for j, v := range m.step {
			slope += v * m.grad[j]
			longest = max(longest, math.Abs(v))
		}
		t := min(1, stepLimit/longest)
		if longest == 0 {
			return nil
		}
		better := math.Inf(1)
		for ; t > 1e-12; t /= 2 {
			for j, v := range m.step {
				m.try[j] = m.beta[j] - t*v
			}
			if better = m.loss(m.try, m.next); better <= loss-1e-4*t*slope {
				break
			}
			// Below the rounding of the loss no decrease can be seen; Newton's
			// own step is then the best one.
			if t == 1 && slope <= 1e-13*(1+loss) && better <= loss+1e-12*(1+loss) {
				break
			}
		}
		if t <= 1e-12 {
			return nil
		}
		copy(m.beta, m.try)
		m.p, m.next, loss = m.next, m.p, better
		size := 0.0
		for _, v := range m.beta {
			size = max(size, math.Abs(v))
		}
		if t*longest <= tol*(1+size) {
			return nil
		}
	}
	return errNoConvergence
}

// loss returns the objective at beta and leaves the chance of each row in p.
func (m *newton) loss(beta, p []float64) float64 {
	sum := 0.0
	for _, b := range beta[1:] {
		sum += b * b / 2
	}
	k := m.k
	for i, y := range m.y {
		row := m.z[i*k : i*k+k]
		eta := 0.0
		for j, b := range beta[:len(row)] {
			eta += b * row[j]
		}
		e := math.Exp(-math.Abs(eta))
		l := math.Log1p(e)
		if (eta < 0) == y {
			l += math.Abs(eta)
		}
		if p[i] = 1 / (1 + e); eta < 0 {
			p[i] = e / (1 + e)
		}
		sum += m.s[i] * l
	}
	return sum
}

// derive sets the gradient and the lower half of the Hessian at beta.
func (m *newton) derive() {
	k := m.k
	clear(m.hess)
	copy(m.grad, m.beta)
	m.grad[0] = 0
	for j := 1; j < k; j++ {
		m.hess[j*k+j] = 1
	}
	for i, p := range m.p {
		row := m.z[i*k : i*k+k]
		r := p
		if m.y[i] {
			r = p - 1
		}
		r *= m.s[i]
		curve := m.s[i] * p * (1 - p)
		for a, v := range row {
			m.grad[a] += r * v
			c := curve * v
			line := m.hess[a*k : a*k+a+1]
			other := row[:len(line)]
			for b := range line {
				line[b] += c * other[b]
			}
		}
	}
}

// direction sets step to H⁻¹·gradient by Cholesky. If H is singular in rounding, a
// growing ridge is added: the step is then shorter, and still goes downhill.
func (m *newton) direction() {
	k := m.k
	largest := 0.0
	for j := range k {
		largest = max(largest, m.hess[j*k+j])
	}
	l := make([]float64, k*k)
	for ridge := 0.0; ; ridge = max(ridge*100, largest*1e-14, math.SmallestNonzeroFloat64*1e20) {
		copy(l, m.hess)
		for j := range k {
			l[j*k+j] += ridge
		}
		if cholesky(l, k) {
			break
		}
	}
	copy(m.step, m.grad)
	substitute(l, k, m.step)
}

// substitute replaces v by the x with L·Lᵀ·x = v.
func substitute(l []float64, k int, v []float64) {
	for i := range k {
		for j := range i {
			v[i] -= l[i*k+j] * v[j]
		}
		v[i] /= l[i*k+i]
	}
	for i := k - 1; i >= 0; i-- {
		for j := i + 1; j < k; j++ {
			v[i] -= l[j*k+i] * v[j]
		}
		v[i] /= l[i*k+i]
	}
}

// cholesky replaces the lower half of a, k × k, by L with L·Lᵀ = a. It reports whether
// a is positive definite.
func cholesky(a []float64, k int) bool {
	for i := range k {
		for j := 0; j <= i; j++ {
			sum := a[i*k+j]
			for c := range j {
				sum -= a[i*k+c] * a[j*k+c]
			}
			if i != j {
				a[i*k+j] = sum / a[j*k+j]
				continue
			}
			if !(sum > 1e-14*a[i*k+i]) {
				return false
			}
			a[i*k+i] = math.Sqrt(sum)
		}
	}
	return true
}
