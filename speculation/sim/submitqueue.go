package sim

import "context"

// submitQueue2019 is SubmitQueue of "Keeping Master Green at Scale" (EuroSys'19,
// sections 4 to 7): paths of all pending changes are built, the most needed
// first, as many as there are workers. A build is aborted when its path is no longer
// among them. Changes are decided in order of arrival among those they may conflict
// with. Settings: `learn` (0: results change no probability), `epoch` (minutes between
// plans, 0.25), `informed` (0: its beliefs about changes and pairs are those of a new
// server, and not the world's predictor's).
type submitQueue2019 struct{}

// submitQueue2024 adds the methods that "CI at Scale: Lean, Green, and Fast" (2025)
// describes, in use since 2024, by the paper's own formulas. A change may be decided before
// others ahead of it when it has the same result for each of their outcomes (BLRD). If a
// change probably ends before one ahead (by the normal distributions of both build times,
// `first`, 0.9), both outcomes of that one are needed with that chance. A build with needed
// below `threshold` (0.1) is not run. The paper gives no value of either threshold. Nor does
// it bound how many changes one may bypass, and each doubles its paths: without a bound a
// few changes fill all workers. Here the bound is `bypass` (1). With it the number of builds
// falls below that of 2019 by as much as the paper says.
type submitQueue2024 struct{}

// speculateAll builds all paths (EuroSys'19, section 4.1): every change lands
// with chance 1/2, so paths with the fewest assumptions come first.
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
