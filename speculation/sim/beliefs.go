package sim

// beliefs are the speculator's chances of changes: it begins with the predictor's
// numbers and applies Bayes' rule on each result of the change's own builds. EuroSys'19
// (section 5) feeds the counts of a change's succeeded and failed builds into its
// regression; this is the same information, used as well as possible without a training
// set.
type beliefs struct {
	w    *World
	good []float64   // by change: sound on its own
	pair [][]float64 // by change: conflict with Predicted.Conflicts of the same place
}

func newBeliefs(w *World) *beliefs {
	b := &beliefs{w: w}
	for i := range w.Changes {
		p := &w.Changes[i].Predicted
		b.good = append(b.good, p.Success)
		pair := make([]float64, len(p.Conflicts))
		for j, x := range p.Conflicts {
			pair[j] = x.P
		}
		b.pair = append(b.pair, pair)
	}
	return b
}

// result learns from a build of a change on a path that assumed others to land.
// A pass proves the change sound, alone and with the assumed ones. A failure is its own
// fault, or a conflict with an assumed change, or an assumed change is broken on a
// common target.
func (b *beliefs) result(c int, assumed []int, failed bool) {
	if !failed {
		b.good[c] = 1
	}
	none := b.good[c]
	for _, k := range assumed {
		none *= 1 - (1-b.good[k])*b.covered(k, c)
		if q := b.of(c, k); q != nil {
			if !failed {
				*q = 0
			}
			none *= 1 - *q
		}
	}
	if !failed {
		return
	}
	some := max(1e-6, 1-none)
	b.good[c] = 1 - min(1, (1-b.good[c])/some)
	for _, k := range assumed {
		if q := b.of(c, k); q != nil {
			*q = min(1, *q/some)
		}
	}
}

// of returns the belief in a conflict, or nil if none was predicted.
func (b *beliefs) of(c, with int) *float64 {
	for j, x := range b.w.Changes[c].Predicted.Conflicts {
		if x.With == with {
			return &b.pair[c][j]
		}
	}
	return nil
}

// covered is the share of a change's targets that a build of another covers.
func (b *beliefs) covered(k, by int) float64 {
	mine := b.w.Changes[k].Targets
	return float64(len(common(mine, b.w.Changes[by].Targets))) / float64(len(mine))
}
