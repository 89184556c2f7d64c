package plan

// ProbablyBreaks is the chance of a pair above which neither overtakes the
// other (planner.md 6.1).
const ProbablyBreaks = 0.1
