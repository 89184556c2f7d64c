package speculation

// Of the value of a build (planner.md 9, "Recommended defaults").
const ()
