package sim

import "context"

// optimistic is Zuul's dependent pipeline ("Gating", Zuul's documentation), with
// the conflict analysis of EuroSys'19 in place of Zuul's shared queues: each
// change is built on the assumption that all changes ahead of it land, except those
// that fail at the moment ("nearest non-failing item"). When that assumption changes,
// its build starts again. A change is reported when no change is ahead.
type optimistic struct{}

// window is the same with Zuul's flow control over one queue: changes are built
// while they are among the first 20. A landing makes this window one larger, a failure
// halves it, down to 3 (`window`, `window-floor`, `window-increase-factor`,
// `window-decrease-factor` in Zuul's documentation, section "Pipeline"). Builds outside
// a smaller window are stopped.
type window struct{}

// github is GitHub's merge queue ("Managing a merge queue", GitHub Docs) with a
// build concurrency of 100, the most that can be set. There is one queue, and each
// entry is built on all entries ahead. An entry that fails leaves the queue, and groups
// behind it are made again without it. Here an entry reports only when no entry is
// ahead of it, which is kinder than removing it at once.
type github struct{}

// gitlab is GitLab's merge train ("Merge trains", GitLab Docs): one queue, at
// most 20 pipelines in parallel. A merge request leaves the train as soon as its
// pipeline fails, before those ahead of it are decided, and all pipelines behind it
// start again.
type gitlab struct{}

var (
	_ Strategy = optimistic{}
	_ Strategy = window{}
	_ Strategy = github{}
	_ Strategy = gitlab{}
)

// Name implements Strategy.
func (optimistic) Name() string { return "optimistic" }

// Name implements Strategy.
func (window) Name() string { return "optimistic-window" }

// Name implements Strategy.
func (github) Name() string { return "github" }

// Name implements Strategy.
func (gitlab) Name() string { return "gitlab" }

// Run implements Strategy.
func (optimistic) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	return runGate(newEngine(ctx, w, o), NewGraph(w), gate{window: len(w.Changes)})
}

// Run implements Strategy.
func (window) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	return runGate(newEngine(ctx, w, o), NewGraph(w), gate{window: 20, floor: 3})
}

// Run implements Strategy.
func (github) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	return runGate(newEngine(ctx, w, o), newLine(w), gate{window: 100})
}

// Run implements Strategy.
func (gitlab) Run(ctx context.Context, w *World, o Options) (*Outcome, error) {
	return runGate(newEngine(ctx, w, o), newLine(w), gate{window: 20, eager: true})
}
