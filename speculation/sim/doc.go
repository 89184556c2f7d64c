// Package sim replays a part of a merge queue's life, many times, each time with
// another strategy, and says what each would have cost.
//
// # A world and its truth
//
// A World holds changes, their arrival times and targets, which of them are broken or
// break with others, and what a predictor believed. Every strategy gets the same one,
// so ratios between them compare like with like. Time is in minutes from the start of
// the world; no decision here reads a clock, and all random numbers are seeded, so the
// same world, strategy and options give the same outcome.
//
// # An example
//
// Two changes arrive at minutes 0 and 1, both affect target 7, each builds in 30
// minutes, and change 1 breaks with change 0 there (Change.Conflicts).
//
//   - The in-order oracle knows everything: it builds 0 and 1 as soon as there
//     are workers, lands 0 at minute 30 and rejects 1 at 31: their turnaround is
//     30 minutes each, and every ratio is against that.
//   - The single queue (strategy single) starts 1 when 0 is decided: 30 and 59.
//   - SubmitQueue'19 asks the predictor: if it thinks that 0 lands, the first
//     path of 1 is "on main with 0", which is the one that counts, and 1 is
//     rejected at minute 31 too.
//   - The Checker follows each landing. Had a strategy landed 1 on top of 0, it
//     would count a red commit; it knows that from the world's truth alone.
//
// # Which file does what
//
//	world.go       World and its rules; worldfile.go reads and writes it
//	generate.go    worlds of one's own; predict.go: what a predictor of a quality believes
//	features.go    what can be seen of a change before it is built
//	trace.go       worlds from a repository's history; history.go: from a queue's own
//	truth.go       which targets fail on which state; graph.go: which changes may conflict
//	duration.go    how long a build takes
//	checker.go     what a strategy did wrong, from the truth alone
//	strategy.go    Strategy, Options, Outcome, and the list of strategies;
//	               settings.go: which settings each has
//	engine.go      virtual time, workers and builds for the peers
//	oracle.go      the in-order oracle, against which all are measured
//	single.go      the single queue; bors.go: batches and bisection
//	optimistic.go  Zuul, GitHub and GitLab, which are gate.go with different limits
//	submitqueue.go SubmitQueue'19 and '24, and speculate-all: speculator.go builds
//	               the best of the paths that paths.go enumerates, by beliefs.go
//	ours.go        the queue itself: the speculation.Step that the server runs, its
//	               actions answered from the world; forest.go: the world as a repository.
//	               "ours" is a new server; "ours-informed" has the world's predictor
//	metrics.go     figures of a run; stats.go: figures of a world
//	svg.go         both as a picture
//
// # Questions
//
// A further strategy is a file with a type that has Name and Run, and a line in
// Strategies. A change of the queue's own planner needs nothing here: strategy
// "ours" drives the code that the server runs.
package sim
