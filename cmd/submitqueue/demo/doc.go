// Package demo is `submitqueue demo`: it makes a repository and pull requests
// whose right outcome is known beforehand, lets the whole product work on them,
// and then judges what came of it without asking the product.
//
// The parts, in the order in which Run uses them:
//
//   - Generate writes a Plan: the files of a Go monorepo (_shop) and pull
//     requests (_changes), each with the outcome that it must have. Import makes
//     a Plan of somebody's own repository, whose outcomes nobody knows.
//   - Stack is the running product beside a simulated forge, as far as the demo
//     needs it: publish, open, comment /land, read rows. The wiring is not here.
//   - Screen shows the rows while there are any without a verdict.
//   - Verify clones the repository afresh, runs the tests on each first-parent
//     commit of main, and finds out from git alone what landed.
//   - Judge compares this and the verdicts with the plan; Report says it all.
//
// With --play a person takes the place of the driver and the judge: see play.go.
//
// A row is what the product claims; what landed is taken from git, what is green
// from the tests, and what is right from the plan.
package demo
