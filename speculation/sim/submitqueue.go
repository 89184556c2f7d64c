package sim

import "context"

// submitQueue2019 is SubmitQueue of "Keeping Master Green at Scale" (EuroSys'19,
// sections 4 to 7): paths of all pending changes are built, the most needed
// first, as many as there are workers; what is not among them any more is
// aborted. Changes are decided in order of arrival among those they may conflict
// with. Settings: `learn` (0: results change no probability), `epoch` (minutes
// between plans, 0.25).
type submitQueue2019 struct{}

// submitQueue2024 adds what "CI at Scale: Lean, Green, and Fast" (2025) does
// since 2024: a change may be decided before larger ones ahead of it when it has
// the same result whatever becomes of them (BLRD), both outcomes of such a
// change ahead are needed (the unlikelier one at least 0.2, setting `boost`), and
// a build with needed below 0.1 (`threshold`) is not run.
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
	return speculate(ctx, w, o, rules{predict: true, learn: true, bypass: true, boost: 0.2, threshold: 0.1})
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
	if r.boost, err = o.number("boost", r.boost); err != nil {
		return nil, err
	}
	r.horizon = 3
	e := newEngine(ctx, w, o)
	e.every = epoch
	return runSpeculator(e, r)
}
