package speculation

// A run that names no target says something of the step on the commit it ran on, and
// nothing of any key: where CI runs everything on each push, what has failed may be
// what was below the change. So its failure is kept under the asked set (an opaque
// entry), and counts against a link only
//
//   - where it ran on the link's own commit, or
//   - where the link has all keys of the set and what the run had below them is below
//     the link, too, or on main by now;
//
// and never where main itself was not proven in the step meanwhile, unless main still
// is not: then it says that the change waits for main, and no more.
