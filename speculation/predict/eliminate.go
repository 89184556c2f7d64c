package predict

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// EliminationOptions says how Eliminate works. The zero value is usable.
type EliminationOptions struct {
	Logistic LogisticOptions
	// Validation is the share of the rows, the latest, by which the model is chosen;
	// the models are fitted to the others. 0 is 0.3.
	Validation float64
}

// EliminationStep is one model of an elimination.
type EliminationStep struct {
	Columns []int   `json:"columns"` // ascending
	LogLoss float64 `json:"logLoss"` // on the choosing rows
}

// Eliminate returns the columns that are worth keeping, by recursive feature elimination:
// it fits, drops the tenth of the columns (at least one) with the smallest |weight|, and
// repeats this until none is left. Of all these models the one with the least log loss on
// the latest rows wins, and of equal ones the smallest. Columns are standardised, so that
// weights can be compared. x is in time order; rows are as in FitLogistic. The path has
// every model, the largest first.
//
// Guyon, Weston, Barnhill, Vapnik, Gene Selection for Cancer Classification using
// Support Vector Machines, 2002; it made the success model of Keeping Master Green at
// Scale, 2019.
func Eliminate(x [][]float64, y []bool, w []float64, opt EliminationOptions) (kept []int, path []EliminationStep, err error) {
	r, err := checked(x, y, w)
	if err != nil {
		return nil, nil, err
	}
	earlier, later, err := r.hold(opt.Validation)
	if err != nil {
		return nil, nil, err
	}
	best, path, err := eliminate(newDesign(earlier), func(l *Logistic) float64 {
		return LogLoss(later.said(l.Prob), later.y)
	}, opt.Logistic)
	if err != nil {
		return nil, nil, err
	}
	return best.columns(), path, nil
}

// hold splits rows by a share that the caller has set; 0 means 0.3.
func (r rows) hold(share float64) (earlier, later rows, err error) {
	if share == 0 {
		share = 0.3
	}
	if !(share > 0 && share < 1) {
		return rows{}, rows{}, fmt.Errorf("predict: a share of %g of the rows cannot judge", share)
	}
	if earlier, later = r.split(share); len(earlier.x) == 0 {
		return rows{}, rows{}, fmt.Errorf("predict: %d rows are too few to set %g of them aside", len(r.x), share)
	}
	return earlier, later, nil
}

// eliminate returns the best model of the path: the one with the least loss by judge.
func eliminate(d *design, judge func(*Logistic) float64, opt LogisticOptions) (best *Logistic, path []EliminationStep, err error) {
	least := math.Inf(1)
	for cols := d.live(); ; {
		l, err := d.fit(cols, opt)
		if err != nil {
			return nil, nil, err
		}
		loss := judge(l)
		path = append(path, EliminationStep{l.columns(), loss})
		if loss <= least {
			least, best = loss, l
		}
		if len(cols) == 0 {
			return best, path, nil
		}
		terms := slices.Clone(l.terms)
		slices.SortStableFunc(terms, func(a, b term) int { return cmp.Compare(math.Abs(b.Weight), math.Abs(a.Weight)) })
		cols = nil
		for _, t := range terms[:len(terms)-max(1, len(terms)/10)] {
			cols = append(cols, t.Column)
		}
		slices.Sort(cols)
	}
}
