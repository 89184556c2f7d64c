package predict

import (
	"fmt"
	"math"
	"slices"
)

// EliminationOptions says how Eliminate works. The zero value is usable.
type EliminationOptions struct {
	Logistic LogisticOptions
	// Validation is the share of the rows, the latest, that choose; the others are
	// fitted to. 0 is 0.3.
	Validation float64
}

// EliminationStep is one model of an elimination.
type EliminationStep struct {
	Columns []int   `json:"columns"` // ascending
	LogLoss float64 `json:"logLoss"` // on the rows that choose
}

// Eliminate returns the columns that are worth keeping, by recursive feature elimination:
// fit, drop the tenth of the columns (one at least) with the smallest |weight|, and
// again, down to none; of all those models the one with the least log loss on the
// latest rows wins, and of equal ones the smallest. Columns are standardised, so that weights
// compare. x is in time order; rows are as in FitLogistic. The path has every model, the largest
// first.
//
// Guyon, Weston, Barnhill, Vapnik, Gene Selection for Cancer Classification, 2002;
// used for the success model in Keeping Master Green at Scale, section 7.2.
func Eliminate(x [][]float64, y []bool, w []float64, opt EliminationOptions) (kept []int, path []EliminationStep, err error) {
	if opt.Validation == 0 {
		opt.Validation = 0.3
	}
	h, err := hold(x, y, w, opt.Validation)
	if err != nil {
		return nil, nil, err
	}
	return h.eliminate(opt.Logistic)
}

// held is rows in time order, the earlier to fit to and the later to judge by.
type held struct {
	fit *design
	x   [][]float64
	y   []bool
}

// hold sets the latest share of the rows that have a weight aside.
func hold(x [][]float64, y []bool, w []float64, share float64) (*held, error) {
	if !(share > 0 && share < 1) {
		return nil, fmt.Errorf("predict: a share of %g of the rows cannot judge", share)
	}
	all := &design{}
	rows, err := all.rows(x, y, w)
	if err != nil {
		return nil, err
	}
	from := len(rows) - int(math.Ceil(share*float64(len(rows))))
	if from < 1 {
		return nil, fmt.Errorf("predict: %d rows are too few to set %g of them aside", len(rows), share)
	}
	d, err := newDesign(rows[:from], all.y[:from], all.w[:from])
	return &held{d, rows[from:], all.y[from:]}, err
}

func (h *held) say(l *Logistic) []float64 {
	p := make([]float64, len(h.x))
	for i, row := range h.x {
		p[i] = l.Prob(row)
	}
	return p
}

func (h *held) eliminate(opt LogisticOptions) (kept []int, path []EliminationStep, err error) {
	best := math.Inf(1)
	for cols := h.fit.live(); ; {
		l, err := h.fit.fit(cols, opt)
		if err != nil {
			return nil, nil, err
		}
		loss := LogLoss(h.say(l), h.y)
		path = append(path, EliminationStep{slices.Clone(cols), loss})
		if loss <= best {
			best, kept = loss, path[len(path)-1].Columns
		}
		if len(cols) == 0 {
			return kept, path, nil
		}
		slices.SortStableFunc(l.terms, func(a, b term) int {
			if d := math.Abs(b.Weight) - math.Abs(a.Weight); d != 0 {
				return int(math.Copysign(1, d))
			}
			return a.Column - b.Column
		})
		cols = cols[:0]
		for _, t := range l.terms[:len(l.terms)-max(1, len(l.terms)/10)] {
			cols = append(cols, t.Column)
		}
		slices.Sort(cols)
	}
}
