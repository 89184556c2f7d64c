package speculation

// Assumption keys: what a target would be on main with some changes assumed,
// before anybody has merged them. A target's content depends on the changes
// that affect it and on nothing else, so its assumption key is an exclusive or
// over their marks: whatever the order of landing, and whatever else has landed
// (planner.md 6). A link that is resolved tells which keys stand behind the
// assumption keys of its targets. They are derived from footprints, which may
// be wrong: they choose what is built, who may go before whom and what is looked
// at, and never suffice for a verdict. What lands has passed the gate, and who is
// rejected has failed on main as it is, both by real links.
