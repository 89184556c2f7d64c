// Package demo is `submitqueue demo`: it makes a repository and pull requests with
// a right outcome that is known beforehand, and lets the whole product work on them. Then it
// judges the result without asking the product.
//
// The parts, in the order in which Run uses them:
//
//   - Generate writes a Plan: the files of a Go monorepo (_shop) and pull requests
//     (_changes), each with the outcome that it must have. Import makes a Plan from a
//     user's own repository; there, the right outcomes are not known.
//   - Stack is the running product beside a simulated forge, as far as the demo
//     needs it: publish, open, comment /land, read rows. The wiring is not here.
//   - Screen shows the rows while some have no verdict.
//   - Verify clones the repository afresh, runs the tests on each first-parent
//     commit of main, and finds out from git alone what landed.
//   - Judge compares these results and the verdicts with the plan; Report prints everything.
//
// With --play a person takes the place of the driver and the judge: see play.go.
//
// A row is a claim of the product. Which changes landed is read from git, which commits
// are green is found by the tests, and which outcomes are right is in the plan.
package demo
