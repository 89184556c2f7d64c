package sim

import "context"

// submitQueue2019 is SubmitQueue of "Keeping Master Green at Scale" (EuroSys'19,
// sections 4 to 7): paths of all pending changes are built, the most needed
// first, as many as there are workers; what is not among them any more is
// aborted. Changes are decided in order of arrival among those they may conflict
// with. Settings: `learn` (0: results change no probability), `epoch` (minutes
// between plans, 0.25), `informed` (0: it believes of each change and of each pair what
// a new server does, and is not told by the world's predictor).
type submitQueue2019 struct{}

// submitQueue2024 adds what "CI at Scale: Lean, Green, and Fast" (2025) does
// since 2024, by the paper's own formulas: a change may be decided before others ahead
// of it when it has the same result for each of their outcomes (BLRD); of one ahead that it
// probably ends before (by the normal distributions of both build times, `first`, 0.9),
// both outcomes are needed as much as that is likely; and a build with needed below
// `threshold` (0.1) is not run. The paper gives no value of either threshold. Nor does it
// bound how many one change may bypass, and each doubles its paths: without a bound a few
// fill all workers. Here it is `bypass` (1): with it the builds are as many fewer than those
// of 2019 as the paper says.
type submitQueue2024 struct{}

// speculateAll builds all paths (EuroSys'19, section 4.1): every change lands
// with 1/2, so those with the fewest assumptions come first.
type speculateAll struct{}

var (
	_ Strategy = submitQueue2019{}
	_ Strategy = submitQueue2024{}
	_ Strategy = speculateAll{}
)

// Name implements Strategy.
func (submitQueue2019) Name() string { return "submitqueue-2019" }

// Name implements Strategy.
func (submitQueue2024) Name() string { return "submitqueue-2024" }

// Name implements Strategy.
func (speculateAll) Name() string { return "speculate-all" }

// Run implements Strategy.
func (submitQueue2019) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	return speculate(ctx, w, o, rules{predict: true, learn: true})
}

// Run implements Strategy.
func (submitQueue2024) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	return speculate(ctx, w, o, rules{predict: true, learn: true, bypass: true, first: 0.9, most: 1, threshold: 0.1})
}

// Run implements Strategy.
func (speculateAll) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	return speculate(ctx, w, o, rules{})
}

func speculate(ctx context.Context, w *World, o Options, r rules) (*Outcome, error) {
	epoch, err := o.number("epoch", 0.25)
	if err != nil {
		return nil, err
	}
	if r.threshold, err = o.number("threshold", r.threshold); err != nil {
		return nil, err
	}
	learn, err := o.number("learn", 1)
	if err != nil {
		return nil, err
	}
	r.learn = r.learn && learn != 0
	most, err := o.number("bypass", float64(r.most))
	if err != nil {
		return nil, err
	}
	r.most = int(most)
	if r.first, err = o.number("first", r.first); err != nil {
		return nil, err
	}
	informed, err := o.number("informed", 1)
	if err != nil {
		return nil, err
	}
	if informed == 0 {
		w = w.uninformed()
	}
	r.horizon = 3
	e := newEngine(ctx, w, o)
	e.every = epoch
	return runSpeculator(e, r)
}
